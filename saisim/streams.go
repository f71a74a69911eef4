package saisim

import (
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// StreamMessages encodes the records of streamed statistics, and returns the messages since the last call, in order.
// The packet path goes on meanwhile. Messages for collectors that are not on the host are also sent to these, in
// packets of the chip.
func (c *Chip) StreamMessages() []StreamMessage {
	c.mu.Lock()
	list := c.objects.Streams().Encode(c.mu.Unlock)
	for i := range list {
		if len(list[i].To) > 0 {
			c.sendStream(&list[i])
		}
	}
	return list
}

// sendStream sends a message to its collectors, and counts its records.
func (c *Chip) sendStream(m *StreamMessage) {
	c.mu.Lock()
	defer c.unlock()
	for _, to := range m.To {
		err := c.engine.SendTo(to, c.objects.DefaultRouter(), m.Bytes)
		c.objects.Streams().Delivered(m, err)
	}
}

// StreamInterval returns the least interval of the streams of statistics that run, or 0 if none does.
func (c *Chip) StreamInterval() (least time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.objects.RowsOf(config.ReadoutTable).Tables().Readouts {
		hz := c.profile.ClockHz
		every := time.Duration(r.Every/hz)*time.Second + time.Duration(r.Every%hz*uint64(time.Second)/hz)
		if least == 0 || every < least {
			least = every
		}
	}
	return least
}

// StreamCounts returns the counts of all streams of statistics, by the id of their telemetry type.
func (c *Chip) StreamCounts() map[sai.OID]StreamCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.Streams().Counts()
}
