package engine

import "tamtam/saisim/drop"

// Books account for every frame:
//
//	Received + Injected + Copies = Sent + ToCPU + sum(Dropped) + InFlight
//
// at every instant. They start when the chip is made and are never cleared.
type Books struct {
	Received, Injected uint64
	Copies             uint64 // made of a frame beyond the first
	Sent, ToCPU        uint64
	Dropped            [drop.NumReasons]uint64
	InFlight           uint64 // on ingress MACs, in the pipe, queued, on the way to egress MACs
	Queued             uint64 // of those, in queues
	QueuedBytes        uint64
}

// Balanced reports whether the books balance.
func (b *Books) Balanced() bool {
	sum := b.Sent + b.ToCPU + b.InFlight
	for _, n := range b.Dropped {
		sum += n
	}
	return b.Received+b.Injected+b.Copies == sum
}

// PortCounters are the totals of a port since it was created. Bytes are frame
// lengths with FCS. Of the frames that the ingress MAC has received whole,
//
//	Received = Entered + Dropped[drop.PortDown] + Dropped[drop.Runt] + Dropped[drop.Oversize]
type PortCounters struct {
	Received, ReceivedBytes uint64
	Entered                 uint64 // the ingress pipe, or waiting to
	Sent, SentBytes         uint64
	Dropped                 [drop.NumReasons]uint64
	// PolicedCopies are those of Dropped[drop.Policer] that were copies of frames that went elsewhere, too.
	PolicedCopies uint64
}

// RecordCounts are what a session of a plan has counted: packets that matched, those of them that sampling left out,
// record copies made, and those of them that were lost on their way.
type RecordCounts struct{ Matched, Unsampled, Made, Lost uint64 }
