// Package hostifd has the switch's interfaces in Linux be as APPL_DB says, as SONiC's host interfaces are: of each
// port, PortChannel, routed VLAN and loopback there is a TAP device of the same name, with MAC address, MTU and
// addresses. The devices and what goes through them are syncd's (package netdev), so that a restart of hostifd costs
// no carrier; hostifd asks it for those that are no port's. FRR, lldpd or ping work there as on any host. Neighbours
// that Linux knows become rows of NEIGH_TABLE, by the rules of SONiC's neighsyncd; those that an operator has
// configured, tammgrd's, become permanent neighbours of Linux. Routes are not taken from Linux, but by fpmsyncd from
// zebra.
//
// What belongs here: what Linux is to have, and what of it the switch is to know. The packet path, and protocols, do
// not.
package hostifd
