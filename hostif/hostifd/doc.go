// Package hostifd makes the switch's interfaces interfaces of Linux, as SONiC's host interfaces are: a TAP device for
// each port, PortChannel, routed VLAN and loopback, of the same name, with MAC address, MTU, addresses and state as
// APPL_DB has them. What the chip punts to the CPU comes in there, and what Linux sends leaves by the chip, so that
// FRR, lldpd or ping work as on any host. Neighbours that Linux knows become rows of NEIGH_TABLE, by the rules of
// SONiC's neighsyncd; those that an operator has configured, tammgrd's, become permanent neighbours of Linux. Routes
// are not taken from Linux, but by fpmsyncd from zebra.
//
// The devices are told by their alias, "tamtam host interface". They outlive a crash, and are taken over by the next
// process; another's interface of the same name is left alone, and told.
//
// What belongs here: what Linux is to have, and what of it the switch is to know. The packet path, and protocols, do
// not.
package hostifd
