// Package hostifd configures the switch's interfaces in Linux by APPL_DB, like SONiC's host interfaces. Each port,
// PortChannel, routed VLAN and loopback has a TAP device of the same name, with MAC address, MTU and addresses. The
// devices and their traffic are syncd's (package netdev), so that a restart of hostifd costs no carrier; hostifd
// requests the devices that are not for ports. FRR, lldpd or ping work there as on any host. The neighbours of Linux
// become rows of NEIGH_TABLE, by the rules of SONiC's neighsyncd. Configured neighbours, which are tammgrd's,
// become permanent neighbours of Linux. Routes do not come from Linux, but by fpmsyncd from zebra.
//
// What belongs here: the target state of Linux, and the state of Linux that the switch needs. Not: the packet path, and
// protocols.
package hostifd
