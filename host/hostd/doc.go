// Package hostd is the daemon hostd: it runs a [host.Stack] as the host that the switch is at its router interfaces. It
// reads the stack's input from APPL_DB by keyspace events, as any client may: INTF_TABLE with ports, PortChannels and
// VLANs, ROUTE_TABLE, NEIGH_TABLE, NEIGH_RESOLVE_TABLE. Frames come from and go to the chip's CPU port.
//
// # Who owns a row of NEIGH_TABLE
//
// Neighbours that the stack has resolved are rows of APPL_DB NEIGH_TABLE as SONiC's neighsyncd writes them, with the
// fields neigh and family. A row has one of three owners, and no owner touches another's rows:
//
//   - tammgrd's have the field config_key: static neighbours, rows of CONFIG_DB NEIGH;
//   - hostd's do not have it, but a row of the same key in STATE_DB HOST_NEIGH_TABLE, which is written before and
//     removed after;
//   - all others belong to other clients (swssconfig, a routing daemon): like tammgrd's they are static for the stack.
//
// A static row takes over the row that hostd has. When it is deleted, hostd resolves the neighbour again if it is
// wanted. A hostd that starts finds its rows by these marks, does not change them, and probes each neighbour; so a
// restart changes nothing that is in force.
//
// Link-local neighbours get no row, unless a route leads to them or the interface has ipv6_use_link_local_only, as in
// neighsyncd.
//
// # Traps
//
// The traps that the stack needs are rows of COPP_TABLE whose keys begin with "host": traps of SONiC's copp_cfg.json
// that no group of CONFIG_DB has. A group that names one of them takes it over.
package hostd
