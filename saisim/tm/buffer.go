package tm

// A Pool is a part of the packet memory, with accounts of queues, or of ingress priority groups.
type Pool struct {
	Size       uint64 // number of cells
	Headroom   uint64 // cells beside Size that the headroom of its groups shares; zero if each group has its own
	used       uint64
	reserved   uint64 // cells that queues or groups have reserved but do not use
	inHeadroom uint64 // cells of groups that are in their headroom

	// High watermarks of Used and InHeadroom.
	MaxUsed, MaxInHeadroom uint64

	Dropped uint64 // packets that its queues or groups did not admit
}

// InHeadroom returns the cells in use as headroom, which are not part of Used.
func (p *Pool) InHeadroom() uint64 { return p.inHeadroom }

// Observe updates the watermarks. It must be called after changes of settings, which may move packets between pools.
func (p *Pool) Observe() {
	p.MaxUsed, p.MaxInHeadroom = max(p.MaxUsed, p.used), max(p.MaxInHeadroom, p.inHeadroom)
}

// free returns the number of cells that any queue of the pool may use. It is negative while reservations made after
// packets were admitted are not covered.
func (p *Pool) free() int64 { return int64(p.Size) - int64(p.used) - int64(p.reserved) }

// Used returns the cells in use.
func (p *Pool) Used() uint64 { return p.used }

// A Buffer is the packet memory of a chip.
type Buffer struct {
	CellBytes uint64
	Hz        uint64 // cycles in a second, for shapers
	Pools     []Pool
}

// NewBuffer returns a memory with one pool that has all cells.
func NewBuffer(cellBytes, cells uint32) *Buffer {
	return &Buffer{CellBytes: uint64(cellBytes), Pools: []Pool{{Size: uint64(cells)}}}
}

// Cells returns the number of cells that a packet of n bytes occupies.
func (b *Buffer) Cells(n uint64) uint64 {
	if n <= b.CellBytes { // most packets fit into one cell, and a division is slow
		return 1
	}
	return Cells(n, b.CellBytes)
}

// Cells returns the number of cells of cellBytes bytes that n bytes occupy, at least 1.
func Cells(n, cellBytes uint64) uint64 { return max(1, (n+cellBytes-1)/cellBytes) }

// A Verdict is the result of admission.
type Verdict uint8

// The verdicts.
const (
	Admitted Verdict = iota
	Marked           // admitted, to be marked CE
	Full             // dropped: too few free cells
	Tail             // dropped: the queue's limit is reached
	WREDDrop         // dropped by WRED
)

// Seed returns the initial state of a queue's random numbers. It is never 0.
func Seed(port uint16, queue uint8) uint64 {
	return (uint64(port)<<8|uint64(queue))*0x9e3779b97f4a7c15 + 1
}

// next draws a random number (xorshift64*).
func next(x *uint64) uint64 {
	*x ^= *x >> 12
	*x ^= *x << 25
	*x ^= *x >> 27
	return *x * 2685821657736338717
}
