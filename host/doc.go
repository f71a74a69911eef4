// Package host is the switch as a host among those at its router interfaces: it asks and answers ARP and
// neighbour discovery, keeps neighbours, answers pings, and says by ICMP and ICMPv6 what became of packets that the
// chip could not forward. It is a value that is stepped: frames and time go in, frames and events come out. It starts
// no goroutines, asks no clock, and knows no database and no chip.
//
// A user of a [Stack] tells it the interfaces ([Stack.Configure]), what others have said of neighbours
// ([Stack.SetStatic]) and where prefixes lead ([Stack.SetRoute]); gives it the frames that the chip punts
// ([Stack.Receive]) and the time ([Stack.Advance], at the latest when [Stack.Next] says); and takes what it sends and
// has learned (its methods Frames and Events).
//
// # Neighbours
//
// IPv4 and IPv6 share the states of RFC 4861, section 7.3.2, as in the Linux kernel. A neighbour is asked for when a
// packet for it comes to the CPU, when the stack itself has a packet for it, and while a route leads to it
// ([Stack.Want]): [Timers].Attempts times, [Timers].Retransmit apart. One that has been confirmed is REACHABLE for
// [Timers].Reachable and then STALE. What the chip forwards the stack does not see, so that a STALE neighbour is not
// forgotten because nobody uses it: [Timers].Refresh after it was last confirmed it is asked, by unicast, and
// forgotten only when it does not answer. Neighbours are learned from ARP requests and neighbour solicitations for the
// stack's own addresses; other messages change only those that are known (RFC 826; Linux's arp_accept=0).
//
// Up to three packets wait for a neighbour that is asked for. When it answers they are forwarded; when it does not,
// their senders are told that the host is unreachable.
//
// # Addresses
//
// An IPv4 address is announced twice (RFC 5227, section 2.3) and defended at most once in ten seconds (section 2.4).
// An IPv6 address is tentative for one second, during which one solicitation asks whether it is somebody's (RFC 4862,
// section 5.4), and is not used if it is. Each interface with an IPv6 address has a link-local one, by its MAC address
// in modified EUI-64 form (RFC 4291, appendix A). A conflict is an event.
//
// # Errors
//
// Errors follow RFC 1812, section 4.3.2, and RFC 4443, section 2.4: none about errors, groups, broadcasts, fragments
// other than the first, or packets whose sender is no single host; they quote as much as fits into 576 or 1280 bytes;
// their source is the address of the interface that the packet came in at; and a token bucket limits them.
//
// # Not here
//
// No TCP and no UDP service: a UDP port is unreachable, a TCP segment is dropped and counted. No router advertisements,
// redirects, MLD and IGMP. Nobody is told of packets whose parts have not all come.
//
// What belongs here: protocols between a router and its neighbours that need no configuration beyond addresses.
package host
