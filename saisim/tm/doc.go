// Package tm is the chip's traffic manager. It has a packet memory of cells that all queues share, and the queues of
// each port. It accounts for packets at the ingress, admits them to queues, and schedules the queues. It handles bytes
// and cells, not frames: the type of a queued packet is a type parameter. Its only notion of time is the cycle at which
// shapers get their tokens, and pauses end.
//
// This comment is normative: the packet path runs this package, and the reference chip is written from this text.
//
// # Memory
//
// A packet of n bytes (without FCS, as received) occupies ceil(n/CellBytes) cells, at least one. Cells belong to pools,
// and a queue uses the cells of one pool. A queue has Reserved cells of its pool for itself. In a pool, unused cells
// that queues have reserved are not available to others. The remaining unused cells are free for all queues:
//
//	free = Size - used - sum over its queues of max(0, Reserved - cells of the queue)
//
// # Admission
//
// A packet of n cells and b bytes is to be admitted to a queue that holds c cells and q bytes. It uses own = min(n,
// max(0, Reserved - c)) of the queue's reserved cells, and n - own free cells. The verdict is the first of these that
// holds:
//
//	Buffer  n - own > free
//	Tail    the queue has a limit and n - own > 0 and c + n - Reserved > limit, where
//	        limit is Cells if Static, or if Dynamic floor(free * 2^Alpha); free as it
//	        is before the packet
//	WRED    see below
//
// A queue that trims does not change this verdict. A packet that has it is counted as dropped. The packet path then
// offers a shorter packet to another queue: see package engine.
//
// # Ingress accounts
//
// A pool of ingress priority groups is a second account of the same packets. A packet is charged to the group of
// its port and traffic class, if the group is on, with its cells, once for all copies. A group holds c cells, of
// which h are in the headroom, and has Headroom cells for that. They are taken from Size if they are its Own.
// Otherwise, the pool has Headroom cells beside Size for all groups. Without the headroom, cells are as those of
// queues:
//
//	free = Size - sum over its groups of (max(Reserved, c - h) + Headroom if Own)
//
// A packet of n cells uses own = min(n, max(0, Reserved - (c - h))) of the group's reserved cells. The verdict is the
// first of these that holds:
//
//	Shared    n = own, or n - own <= free and max(0, c - h - Reserved) + n - own <= limit, with the limit of queues
//	Headroom  h + n - own <= Headroom, and Own or the sum of h + n - own <= Headroom of the pool; own cells are
//	          reserved ones, the others are in the headroom
//	Refused   the packet is dropped
//
// If the packet is trimmed from n cells to m, the charge of n - m cells ends.
// When the charge of n cells ends, min(n, h) of them leave the headroom. A group with Headroom is paused from a packet
// that is in the headroom, or is refused while c > 0. It resumes at the end of a charge with h = 0 and c <= max(Xon,
// Reserved + limit - XonOffset), and with a change of settings to no Headroom.
//
// # WRED and ECN
//
// Packets are green, yellow or red. Each colour has thresholds Min < Max in bytes and a probability P in percent. The
// verdict on a packet is, by those of its colour,
//
//	q <  Min   admitted
//	q >= Max   hit
//	else       hit if r * 100 * (Max-Min) < P * (q-Min) * 2^32
//
// where r are the upper 32 bits of the queue's next random number, which is drawn in the last case only. A hit packet
// that is ECN-capable (ECT or CE) is marked CE and admitted if ECN is on. Any other hit packet is dropped if Drop is
// on, otherwise admitted. Random numbers are xorshift64*, from [Seed]:
//
//	x ^= x >> 12; x ^= x << 25; x ^= x >> 27; number = x * 2685821657736338717 mod 2^64
//
// # Scheduling
//
// When a port can send, the strict queue with the highest index that holds a packet is served. If there is none, the
// other queues are served by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). When a queue's turn begins, it
// gets Weight times [Quantum] bytes of credit. It is served as long as its credit covers its first packet. Then the
// turn passes to the next higher index, or from the highest to the lowest. A queue that becomes empty loses its credit,
// and the turn if it has it.
//
// A packet costs its bytes with FCS, at least 64. In a queue that counts packets, it costs one byte of credit, and the
// quantum is Weight. A turn that strict queues interrupt continues afterwards with the remaining credit. If the turn
// reaches a queue that has become strict, it passes to the next queue. At the start, the turn is about to begin at
// queue 0.
//
// # Shaping
//
// A shaper with a rate limits a queue or the port by a bucket of tokens: bytes of frames with FCS, at least 64 each, or
// packets. The bucket is full at the beginning, with Burst tokens. It gets the tokens of its rate evenly, a part of a
// token each cycle. A packet that leaves uses its tokens, and may leave a negative number of them. While the number of
// tokens is negative, the shaper holds the queue or the port. So the first packet leaves at once even if Burst is 0.
//
// A port sends when it can, unless its shaper or those of all its queues with packets hold it. A pause holds a queue,
// too, until its cycle. Queues that are held are passed over as if they were empty. A queue that is held after its
// packet has left loses its credit, and the turn if it has it. A new rate or burst applies from the cycle of the
// change; the bucket keeps its tokens, up to its new size. A change between packets and bytes fills it.
package tm
