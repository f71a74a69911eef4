package engine

import "math/bits"

// portStats holds a port's counts for SAI besides its [PortCounters].
type portStats struct{ in, out Direction }

// A Direction holds the counts of frames in one direction.
type Direction struct {
	Octets                        uint64
	Unicast, Multicast, Broadcast uint64
	Sizes                         [NumSizes]uint64
}

// NumSizes is the number of size classes of frames with FCS, in bytes: up to 64, 65-127, 128-255, 256-511, 512-1023,
// 1024-1518, 1519-2047, 2048-4095, 4096-9216, 9217 and more. Shorter frames are padded to 64 on the wire.
const NumSizes = 10

func sizeClass(n int) int {
	switch {
	case n <= 64:
		return 0
	case n <= 1023:
		return bits.Len(uint(n)) - 6 // 1 for 65 to 127, ... 4 for 512 to 1023
	case n > 9216:
		return 9
	case n > 4095:
		return 8
	case n > 2047:
		return 7
	case n > 1518:
		return 6
	}
	return 5
}

// countShort does count for a unicast frame of at most 64 bytes with FCS.
func (d *Direction) countShort(n int) {
	d.Octets += uint64(n)
	d.Sizes[0]++
	d.Unicast++
}

// count counts a frame of n bytes with FCS. data holds at least the Ethernet header.
func (d *Direction) count(data []byte, n int) {
	d.Octets += uint64(n)
	d.Sizes[sizeClass(n)]++
	switch {
	case data[0]&1 == 0:
		d.Unicast++
	case mac48(data) == broadcast:
		d.Broadcast++
	default:
		d.Multicast++
	}
}

// Packets returns the number of frames of all kinds.
func (d *Direction) Packets() uint64 { return d.Unicast + d.Multicast + d.Broadcast }
