// Package tm is the chip's traffic manager: a packet memory of cells that all
// queues share, the queues of each port, which of them takes a packet, and which
// of them gives the next one. It knows bytes and cells, not frames: what is
// queued is a type parameter. Time is the caller's.
//
// This comment is normative: the packet path runs this package, the reference
// chip is written from this text.
//
// # Memory
//
// A packet of n bytes (without FCS, as it came in) takes ceil(n/CellBytes) cells,
// at least one. Cells belong to pools; a queue takes its cells from one pool. A
// queue has Reserved cells of its pool for itself. Of a pool's cells that are not
// in use, those that queues have reserved and do not use are spoken for; the rest
// is free for all:
//
//	free = Size - used - sum over its queues of max(0, Reserved - cells of the queue)
//
// # Admission
//
// A packet of n cells and b bytes asks a queue that holds c cells and q bytes. It
// takes own = min(n, max(0, Reserved - c)) of the queue's reserved cells, and n - own
// that are free for all. In this order:
//
//	Buffer  n - own > free
//	Tail    the queue has a limit and n - own > 0 and c + n - Reserved > limit, where
//	        limit is Cells if Static, or if Dynamic floor(free * 2^Alpha); free as it
//	        is before the packet
//	WRED    see below
//
// # WRED and ECN
//
// With thresholds Min < Max in bytes and a probability P in percent, the verdict is
//
//	q <  Min   admitted
//	q >= Max   hit
//	else       hit if r * 100 * (Max-Min) < P * (q-Min) * 2^32
//
// where r are the upper 32 bits of the queue's next random number, drawn in the last
// case only. A hit packet that is ECN-capable (ECT or CE) is marked CE and admitted
// where ECN is on; any other hit packet is dropped where Drop is on, else admitted.
// Random numbers are xorshift64*, from [Seed]:
//
//	x ^= x >> 12; x ^= x << 25; x ^= x >> 27; number = x * 2685821657736338717 mod 2^64
//
// # Scheduling
//
// When a port can send, the strict queue with the highest index that holds a packet
// gives one. If there is none, the others take turns by deficit round robin
// (Shreedhar and Varghese, SIGCOMM 1995): the queue whose turn it is gets Weight
// times [Quantum] bytes of credit when its turn begins, gives packets as long as its
// credit covers the first one, and passes the turn to the next higher index (after
// the highest, to the lowest). An empty queue loses its credit, and its turn if it
// has it. A packet costs its bytes with FCS, at least 64, or, in a queue that counts
// packets, one byte of credit for each, its quantum being Weight. A turn that strict
// queues interrupt goes on afterwards with what credit is left; a turn that comes to
// a queue that is strict by now passes on. At the start the turn is about to begin
// at queue 0.
//
// A port does not shape: what it can send, it sends.
package tm
