package device

import "tamtam/saisim"

// A BooksReport accounts for every frame that was in the chip:
//
//	received + injected + copies = sent + to_cpu + dropped + in_flight
type BooksReport struct {
	Received   uint64            `json:"received"`
	Injected   uint64            `json:"injected"`
	Copies     uint64            `json:"copies"` // beyond the first of each frame
	Sent       uint64            `json:"sent"`
	ToCPU      uint64            `json:"to_cpu"`
	Dropped    map[string]uint64 `json:"dropped"`
	DroppedAll uint64            `json:"dropped_all"`
	InFlight   uint64            `json:"in_flight"`
	Queued     uint64            `json:"queued"` // of those in flight
	Balanced   bool              `json:"balanced"`
}

func booksReport(b saisim.Books) BooksReport {
	r := BooksReport{
		Received: b.Received, Injected: b.Injected, Copies: b.Copies, Sent: b.Sent, ToCPU: b.ToCPU,
		Dropped: map[string]uint64{}, InFlight: b.InFlight, Queued: b.Queued, Balanced: b.Balanced(),
	}
	for i, n := range b.Dropped {
		r.DroppedAll += n
		if n > 0 {
			r.Dropped[saisim.DropReason(i).String()] = n
		}
	}
	return r
}
