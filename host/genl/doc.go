// Package genl sends messages to a multicast group of generic netlink, as the kernel module of a switch does. SONiC's
// countersyncd receives high-frequency telemetry in this form. Its constants name the family sonic_stel and the group
// ipfix.
//
// A process cannot make a family. Without the kernel module, use a group that is there, such as notify of nlctrl, in a
// network namespace of its own: readers of that group elsewhere receive nothing of it.
//
// What belongs here: the socket and its headers. The payload is the caller's.
package genl
