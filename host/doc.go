// Package host is the switch as a host on its router interfaces. It sends and answers ARP and neighbour discovery,
// keeps neighbours, answers pings and sends its own, and reports by ICMP and ICMPv6 why packets that the chip could
// not forward were dropped. It is a value that is stepped: frames and time go in, frames and events come out. It
// starts no goroutines, reads no clock, and uses no database and no chip.
//
// A user of a [Stack] sets the interfaces ([Stack.Configure]), the neighbours that are known otherwise
// ([Stack.SetStatic]) and the routes ([Stack.SetRoute]). It passes in the frames that the chip punts ([Stack.Receive])
// and the time ([Stack.Advance], at the latest at the time of [Stack.Next]). It collects the frames to send and the
// events (methods Frames and Events).
//
// # Neighbours
//
// IPv4 and IPv6 share the states of RFC 4861, section 7.3.2, as in the Linux kernel. A neighbour is solicited when a
// packet for it comes to the CPU, or the stack itself has one, and while a route leads to it ([Stack.Want]). It is
// solicited [Timers].Attempts times, [Timers].Retransmit apart. A confirmed neighbour is REACHABLE for
// [Timers].Reachable and then STALE. The stack does not see what the chip forwards, so it does not remove a STALE
// neighbour for lack of use. [Timers].Refresh after its last confirmation it is probed, by unicast, and removed only if
// it does not answer. Neighbours are learned from ARP requests and neighbour solicitations for the stack's own
// addresses; other messages only change known neighbours (RFC 826; Linux's arp_accept=0).
//
// Up to three packets wait for a neighbour that is being resolved. When it answers they are forwarded; when it does
// not, their senders receive a host-unreachable error.
//
// # Addresses
//
// An IPv4 address is announced twice (RFC 5227, section 2.3) and defended at most once in ten seconds (section 2.4). An
// IPv6 address is tentative for one second, during which one solicitation checks for a duplicate (RFC 4862, section
// 5.4); a duplicate address is not used. Each interface with an IPv6 address has a link-local one, derived from its MAC
// address in modified EUI-64 form (RFC 4291, appendix A). A conflict is an event.
//
// # Errors
//
// Errors follow RFC 1812, section 4.3.2, and RFC 4443, section 2.4. None is sent about errors, groups, broadcasts,
// fragments other than the first, or packets whose source is not a single host. They quote as much as fits into 576 or
// 1280 bytes. Their source is the address of the ingress interface. A token bucket limits them.
//
// # Echo requests of its own
//
// [Stack.SendEcho] sends an echo request. Replies and errors are messages ([Stack.Messages]) while [Stack.Hear] is on.
// Whether they answer a request is for the caller to decide. A neighbour that does not answer makes a message, too.
//
// # Not here
//
// There is no TCP and no UDP service: a UDP port is unreachable, a TCP segment is dropped and counted. There are no
// router advertisements, redirects, MLD and IGMP. No error is sent about packets whose fragments do not all arrive.
//
// What belongs here: protocols between a router and its neighbours that need no configuration beyond addresses.
package host
