package collector

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"tamtam/tam/ifa"
)

// queueSeen summarises the queues in a switch's IFA hops, in constant memory.
type queueSeen struct {
	queues     uint64 // bit set of queues
	frames     int64  // frames whose hop contains the queue depth
	least, max uint32
	sum        float64 // sum of the depths in bytes; exact below 2^53
}

// known returns the queue depth in bytes. It returns false for layouts other than [ifa.LNS], which do not contain it.
func known(h *ifa.Hop) (bytes uint32, ok bool) { return h.QueueBytes, h.LNS == ifa.LNS }

func (q *queueSeen) add(h *ifa.Hop) {
	q.queues |= 1 << (h.Queue & 63)
	n, ok := known(h)
	if !ok {
		return
	}
	if q.frames == 0 || n < q.least {
		q.least = n
	}
	q.max = max(q.max, n)
	q.sum += float64(n)
	q.frames++
}

// QueueReport summarises the bytes in a queue when frames arrived.
type QueueReport struct {
	Frames int64  `json:"frames"` // frames with a known depth
	Min    uint32 `json:"min"`
	Avg    uint32 `json:"avg"`
	Max    uint32 `json:"max"`
}

func (q *queueSeen) report() (queues []int, depth *QueueReport) {
	for rest := q.queues; rest != 0; rest &= rest - 1 {
		queues = append(queues, bits.TrailingZeros64(rest))
	}
	if q.frames > 0 {
		depth = &QueueReport{q.frames, q.least, uint32(q.sum / float64(q.frames)), q.max}
	}
	return queues, depth
}

// queueText describes a hop's queues, or returns "" if none is known.
func (h *HopReport) queueText(frames int64) string {
	if len(h.Queues) == 0 {
		return ""
	}
	var names []string
	for _, q := range h.Queues {
		names = append(names, strconv.Itoa(q))
	}
	text := cond(len(names) == 1, "queue ") + cond(len(names) > 1, "queues ") + strings.Join(names, ", ")
	d := h.QueueBytes
	if d == nil {
		return text + ", what was in it is not known"
	}
	text += fmt.Sprintf(", %d to %d bytes in it, %d on average", d.Min, d.Max, d.Avg)
	if d.Frames < frames {
		text += fmt.Sprintf("; not reported by %s", plural(frames-d.Frames, "frame"))
	}
	return text
}
