// Package netdev connects the chip's host interfaces with Linux. There is a TAP device for each HOSTIF object of a
// port, with the carrier of the object's operational status. There is also one for each interface that hostifd
// requests: LAGs, routed VLANs and loopbacks. It runs in the process of the chip, so that a device keeps its carrier
// for as long as the chip runs. Frames that the chip punts to the CPU come in at the devices, and frames that Linux
// sends there leave by the chip.
//
// The devices have an alias, [Alias]. They persist when the process is killed, and the next one takes them over with
// their addresses. Linux removes the carrier of a TAP device that no process has open, so hostifd receives a file of
// each: a disabled queue, which gets no frames. An interface of the same name without the alias is not touched, and
// reported.
//
// What belongs here: devices, carriers and frames. Addresses, MTUs and neighbours are hostifd's.
package netdev
