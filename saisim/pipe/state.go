package pipe

// An Array is the content of a register. Get and Set are for control operations. The packet path accesses it directly.
type Array struct {
	stage uint8
	width uint8
	depth uint32
	// Only one of the arrays is used: words of up to 32 bits need half the cache.
	w32 []uint32
	w64 []uint64
}

func newArray(r *Register) *Array {
	a := &Array{stage: r.Stage, width: r.Width, depth: r.Depth}
	if r.Width <= 32 {
		a.w32 = make([]uint32, r.Depth)
	} else {
		a.w64 = make([]uint64, r.Depth)
	}
	return a
}

// Depth returns the number of words.
func (a *Array) Depth() uint32 { return a.depth }

// Width returns the number of bits of a word.
func (a *Array) Width() uint8 { return a.width }

// Get returns the word i. i must be below the depth.
func (a *Array) Get(i uint32) uint64 {
	if a.w32 != nil {
		return uint64(a.w32[i])
	}
	return a.w64[i]
}

// Set sets the word i to v modulo 2^width. i must be below the depth.
func (a *Array) Set(i uint32, v uint64) {
	v &= ones(a.width)
	if a.w32 != nil {
		a.w32[i] = uint32(v)
	} else {
		a.w64[i] = v
	}
}

// A Counter holds a table's counts for an entry, or for its default.
type Counter struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}
