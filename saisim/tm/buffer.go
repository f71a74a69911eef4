package tm

// A Pool is a part of the packet memory.
type Pool struct {
	Size     uint64 // cells
	used     uint64
	reserved uint64 // cells that queues have reserved and do not use
}

// free is the number of cells that any queue of the pool may take. It is negative
// while reservations made later than packets were admitted are not covered.
func (p *Pool) free() int64 { return int64(p.Size) - int64(p.used) - int64(p.reserved) }

// Used returns the cells in use.
func (p *Pool) Used() uint64 { return p.used }

// A Buffer is the packet memory of a chip.
type Buffer struct {
	CellBytes uint64
	Pools     []Pool
}

// NewBuffer returns a memory with one pool that has all cells.
func NewBuffer(cellBytes, cells uint32) *Buffer {
	return &Buffer{CellBytes: uint64(cellBytes), Pools: []Pool{{Size: uint64(cells)}}}
}

// Cells returns how many cells a packet of n bytes takes.
func (b *Buffer) Cells(n uint64) uint64 {
	if n <= b.CellBytes { // most are: a division is long
		return 1
	}
	return Cells(n, b.CellBytes)
}

// Cells returns how many cells of a size n bytes take.
func Cells(n, cellBytes uint64) uint64 { return max(1, (n+cellBytes-1)/cellBytes) }

// A Verdict is the result of admission.
type Verdict uint8

// The verdicts.
const (
	Admitted Verdict = iota
	Marked           // admitted, to be marked CE
	Full             // dropped: no cells are free for it
	Tail             // dropped: the queue's limit
	WREDDrop         // dropped by WRED
)

// Seed returns the first state of a queue's random numbers: that of no queue is 0.
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
