// Package hostd is the daemon hostd: it lets a [host.Stack] be the host that the switch is at its router
// interfaces. What the stack has to know it reads from APPL_DB as anybody may, by keyspace events: INTF_TABLE with
// ports, PortChannels and VLANs, ROUTE_TABLE, NEIGH_TABLE, NEIGH_RESOLVE_TABLE. Frames come from and go to the chip's
// CPU port.
//
// # Who owns a row of NEIGH_TABLE
//
// Neighbours that the stack has resolved are rows of APPL_DB NEIGH_TABLE as SONiC's neighsyncd writes them, with the
// fields neigh and family. A row is of one of three owners, and nobody touches another's:
//
//   - tammgrd's have the field config_key: static neighbours, rows of CONFIG_DB NEIGH;
//   - hostd's have none, and a row of the same key in STATE_DB HOST_NEIGH_TABLE, which is written before and removed
//     after;
//   - all others are somebody else's (swssconfig, a routing daemon): like tammgrd's they are static for the stack.
//
// A static row takes over the one that hostd has, and when it goes hostd asks for the neighbour again if it is wanted.
// A hostd that starts finds its rows by these marks, leaves them as they are, and asks each neighbour whether it is
// still there; so a restart changes nothing that is in force.
//
// Link-local neighbours get no row, unless a route leads to them or the interface has ipv6_use_link_local_only, as in
// neighsyncd.
//
// # Traps
//
// What the stack needs of the chip are rows of COPP_TABLE whose keys begin with "host": traps of SONiC's copp_cfg.json
// that no group of CONFIG_DB has. A group that names one of them takes it over.
package hostd
