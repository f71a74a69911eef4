// Package cpuport is the chip's CPU port for programs outside syncd. Frames that the chip punts to the CPU come out of
// it, with their metadata. Frames that go in leave the chip at a port or in a VLAN. It handles frames and names, and
// depends on no chip, database or protocol.
//
// A [Hub] connects the chip with one client at a time. In the same process the client has a [Line], from another
// process a [Conn] through a Unix socket (SOCK_SEQPACKET) of [Hub.Serve]. Both have the same methods. The messages on
// the socket are in message.go.
//
// All queues are bounded: [Queue] punted frames wait for a client, [SendQueue] of a client's for the chip, and frames
// beyond are dropped and counted ([Counts]). Without a client, punted frames are counted and dropped.
//
// If a frame of a client was not sent, the client receives an error of type [*Refusal] with the reason, which
// [Line.Receive] returns in order with the frames. Its line stays open.
package cpuport
