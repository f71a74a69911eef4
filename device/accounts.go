package device

import (
	"strconv"

	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// An AccountsReport accounts for every frame that was in the chip:
//
//	received + injected + copies = sent + to_cpu + dropped + in_flight
type AccountsReport struct {
	Received   uint64            `json:"received"`
	Injected   uint64            `json:"injected"`
	Copies     uint64            `json:"copies"` // copies beyond the first of each frame
	Sent       uint64            `json:"sent"`
	ToCPU      uint64            `json:"to_cpu"`
	Dropped    map[string]uint64 `json:"dropped"`
	DroppedAll uint64            `json:"dropped_all"`
	InFlight   uint64            `json:"in_flight"`
	Queued     uint64            `json:"queued"` // frames in flight that wait in queues
	Balanced   bool              `json:"balanced"`
}

func accountsReport(b saisim.FrameCounts) AccountsReport {
	r := AccountsReport{
		Received: b.Received, Injected: b.Injected, Copies: b.Copies, Sent: b.Sent, ToCPU: b.ToCPU,
		Dropped: map[string]uint64{}, InFlight: b.InFlight, Queued: b.Queued, Balanced: b.Balanced(),
	}
	for i, n := range b.Dropped {
		r.DroppedAll += n
		if n > 0 {
			r.Dropped[drop.Reason(i).String()] = n
		}
	}
	return r
}

// A QueueReport accounts for every copy that was enqueued:
//
//	enqueued = dequeued + purged + queued
//
// Bytes are without FCS.
type QueueReport struct {
	Enqueued uint64            `json:"enqueued"`
	Dequeued uint64            `json:"dequeued"`
	Purged   uint64            `json:"purged"` // removed because the port ended
	Queued   uint64            `json:"queued"`
	Marked   uint64            `json:"marked"`    // ECN-marked
	NoRoom   map[string]uint64 `json:"no_room"`   // not enqueued: buffer, tail-drop, wred
	MaxBytes uint64            `json:"max_bytes"` // the largest depth
	MaxCells uint64            `json:"max_cells"`
	Balanced bool              `json:"balanced"`
}

// queueReports returns the queues of a port that saw a packet, by number.
func queueReports(c *saisim.Chip, id saisim.PortID) map[string]QueueReport {
	all := map[string]QueueReport{}
	for i := 0; ; i++ {
		q, ok := c.QueueState(id, i)
		if !ok {
			return all
		}
		if q.Enqueued+q.DroppedFull+q.DroppedTail+q.DroppedWRED == 0 {
			continue
		}
		r := QueueReport{
			Enqueued: q.Enqueued, Dequeued: q.Dequeued, Purged: q.Purged, Queued: q.Packets, Marked: q.Marked,
			NoRoom: map[string]uint64{}, Balanced: q.Enqueued == q.Dequeued+q.Purged+q.Packets,
		}
		r.MaxBytes, r.MaxCells = c.QueueDeepest(id, i)
		for why, n := range map[string]uint64{"buffer": q.DroppedFull, "tail-drop": q.DroppedTail, "wred": q.DroppedWRED} {
			if n > 0 {
				r.NoRoom[why] = n
			}
		}
		all[strconv.Itoa(i)] = r
	}
}
