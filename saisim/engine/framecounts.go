package engine

import "tamtam/saisim/drop"

// FrameCounts accounts for every frame:
//
//	Received + Injected + Copies = Sent + ToCPU + sum(Dropped) + InFlight
//
// at every instant. The counts start when the chip is made and are never cleared.
type FrameCounts struct {
	Received, Injected uint64
	Copies             uint64 // copies made of a frame beyond the first
	Sent, ToCPU        uint64
	Dropped            [drop.NumReasons]uint64
	InFlight           uint64 // frames at ingress MACs, in the pipes, in queues, or between pipe and egress MAC
	Queued             uint64 // the part of InFlight that is in queues
	QueuedBytes        uint64
}

// Balanced reports whether the equation of [FrameCounts] holds.
func (b *FrameCounts) Balanced() bool {
	sum := b.Sent + b.ToCPU + b.InFlight
	for _, n := range b.Dropped {
		sum += n
	}
	return b.Received+b.Injected+b.Copies == sum
}

// PortCounters holds the totals of a port since it was created. Bytes are frame lengths with FCS. For frames that the
// ingress MAC has received completely,
//
//	Received = Entered + Dropped[drop.PortDown] + Dropped[drop.Runt] + Dropped[drop.Oversize]
type PortCounters struct {
	Received, ReceivedBytes uint64
	Entered                 uint64 // frames that entered the ingress pipe or wait to enter it
	Sent, SentBytes         uint64
	Dropped                 [drop.NumReasons]uint64
	// PolicedCopies counts those frames in Dropped[drop.Policer] that were also forwarded.
	PolicedCopies uint64
}

// RecordCounts holds the counts of a plan's session. Matched counts the packets that matched. Unsampled counts the
// matched packets that sampling skipped. Made counts all record copies, Lost the dropped record copies.
type RecordCounts struct{ Matched, Unsampled, Made, Lost uint64 }
