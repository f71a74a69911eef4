package collector

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"tamtam/tam/ifa"
)

// queueSeen is what hops of IFA of one switch say of its queues: little, however many frames and queues there are.
type queueSeen struct {
	queues     uint64 // a bit for each
	frames     int64  // whose hop tells what was in the queue
	least, max uint32
	sum        float64 // of 2^32 bytes each: exact below 2^53
}

// known returns what was in the queue; only the layout of [ifa.LNS] tells.
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

// QueueReport is how many bytes were in a queue as frames came to it.
type QueueReport struct {
	Frames int64  `json:"frames"` // that tell it
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

// queueText is what a hop says of its queues; "": nothing.
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
		text += fmt.Sprintf("; not told by %s", plural(frames-d.Frames, "frame"))
	}
	return text
}
