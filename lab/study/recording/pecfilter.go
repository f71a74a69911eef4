package recording

// A pecFilter finds packets whose equivalence class is new, as KeySight's queue of Bloom filters does (Zhou et al.,
// ICNP 2018). It has one filter for each of the last windows. A window is a number of packets. The oldest filter is
// emptied when a window begins. A class is known if one of the filters contains it. The filters' bits for an index are
// adjacent, so that one access to each array queries all filters.
type pecFilter struct {
	cells   []uint64 // cells of all arrays; bit w belongs to window w
	arrays  int
	width   int // number of cells of an array
	windows int
	packets int // number of packets per window
	window  int // current window, from 0 on
	left    int // number of packets until the next window
	seed    uint64
}

// maxWindows is the number of bits of a cell.
const maxWindows, maxArrays = 64, 16

// newPECFilter returns a filter with the given memory, which its arrays share. A cell needs a bit for each window.
func newPECFilter(bytes, arrays, windows, packets int, seed uint64) *pecFilter {
	f := &pecFilter{
		arrays: arrays, width: max(1, 8*bytes/arrays/windows), windows: windows, packets: packets, left: packets,
		seed: seed,
	}
	f.cells = make([]uint64, arrays*f.width)
	return f
}

// see reports whether a packet's class is known, and adds it.
func (f *pecFilter) see(class uint64) bool {
	if f.left == 0 {
		f.window++
		f.left = f.packets
		oldest := uint64(1) << (f.window % f.windows)
		for i := range f.cells {
			f.cells[i] &^= oldest
		}
	}
	f.left--
	now := uint64(1) << (f.window % f.windows)
	known := ^uint64(0)
	h := f.seed
	for a := range f.arrays {
		h = mix(h + 0x9e3779b97f4a7c15 + class)
		c := &f.cells[a*f.width+int(h%uint64(f.width))]
		known &= *c
		*c |= now
	}
	return known != 0
}

// mix applies the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
