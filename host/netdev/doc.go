// Package netdev makes the chip's host interfaces interfaces of Linux: a TAP device for each HOSTIF object of a port,
// with the carrier that the object's operational status says, and one for each interface that hostifd asks for: LAGs,
// routed VLANs and loopbacks. It runs in the process of the chip, so that a device keeps its carrier for as long as
// the chip lives. Frames that the chip punts to the CPU come in at the devices, and what Linux sends there leaves by
// the chip.
//
// The devices have an alias, [Alias]. They last when the process is killed, and the next one takes them over with the
// addresses that they have. Linux takes the carrier of a TAP device that no process has open, so hostifd is handed a
// file of each: a disabled queue, to which no frame comes. An interface of the same name without the alias is left
// alone, and reported.
//
// What belongs here: devices, carriers and frames. Addresses, MTUs and neighbours are hostifd's.
package netdev
