// Package cpuport is the chip's CPU port for those outside syncd: the frames that the chip punts to the CPU come out of
// it, with what the chip knows of them, and frames go in, to leave the chip at a port or in a VLAN. It knows frames and
// names, nothing of the chip, of databases or of protocols.
//
// A [Hub] stands between the chip and one client at a time. In the same process the client has a [Line] of it, from
// another process a [Conn] through a Unix socket (SOCK_SEQPACKET) that [Hub.Serve] listens at. Both have the same
// methods. What goes over the socket is in message.go.
//
// Nothing here grows: [Queue] punted frames wait for a client, [SendQueue] of a client's for the chip, and what does
// not fit is dropped and counted ([Counts]). With no client, punted frames are counted and gone, as in a chip whose CPU
// does not listen.
//
// A client learns from an error of type [*Refusal], which [Line.Receive] returns in its place among the frames, that
// one of its frames was not sent, and why; its line stays as it is.
package cpuport
