// Package hostd is the daemon hostd: it runs a [host.Stack] as the host that the switch is at its router interfaces. It
// reads the stack's input from APPL_DB by keyspace events, as any client may: INTF_TABLE with ports, PortChannels and
// VLANs, ROUTE_TABLE, NEIGH_TABLE, NEIGH_RESOLVE_TABLE. Frames come from and go to the chip's CPU port.
//
// # Owners of rows in NEIGH_TABLE
//
// Neighbours that the stack has resolved are rows of APPL_DB NEIGH_TABLE as SONiC's neighsyncd writes them, with the
// fields neigh and family. A row has one of three owners, and no owner touches another's rows:
//
//   - A row of tammgrd has the field config_key. It is a static neighbour, from a row of CONFIG_DB NEIGH.
//   - A row of hostd lacks this field, but has a row of the same key in STATE_DB HOST_NEIGH_TABLE. hostd writes that
//     row first and removes it last.
//   - All other rows belong to other clients, such as swssconfig or a routing daemon. Like tammgrd's they are static
//     for the stack.
//
// A static row replaces hostd's row. When it is deleted, hostd resolves the neighbour again if it is still needed. A
// hostd that starts finds its rows by this rule, does not change them, and probes each neighbour. So a restart does not
// affect forwarding.
//
// Link-local neighbours get no row, unless a route leads to them or the interface has ipv6_use_link_local_only, as in
// neighsyncd.
//
// # Traps
//
// The traps that the stack needs are rows of COPP_TABLE whose keys begin with "host": traps of SONiC's copp_cfg.json
// that no group of CONFIG_DB has. A group that names one of them takes it over.
package hostd
