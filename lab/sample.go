package lab

import (
	"context"
	"fmt"

	"tamtam/saisim"
)

// maxSamples bounds one series.
const maxSamples = 1_000_000

// A Series is a number at regular times.
type Series struct {
	Name   string  `json:"-"`
	Unit   string  `json:"unit"`
	Start  Time    `json:"start_ps"`
	Every  Time    `json:"every_ps"`
	Values []int64 `json:"values"`
}

// PortCounters are the counters of a port at regular times.
type PortCounters struct {
	Every  Time // also the time of the first values
	Values []PortCount
}

// A PortCount is what a port has counted since its chip started, and the number of bytes in its queues.
type PortCount struct {
	Received, ReceivedBytes, Sent, SentBytes, Queued uint64
}

// A sampler records a series, or the counters of a port.
type sampler struct {
	m        Measurement
	port     saisim.PortID
	at       Time // time of the next sample
	series   *Series
	counters *PortCounters // nil for a series
	where    string        // port with counters, as SWITCH:PORT
}

// quantities maps what can be measured to its unit.
var quantities = map[string]string{
	"queue-bytes": "bytes", "queue-packets": "frames", "queue-cells": "cells", "buffer-bytes": "bytes",
	"received": "frames", "sent": "frames", "dropped": "frames", "clock-error": "ns",
}

func (m *Measurement) name() string {
	switch {
	case m.Name != "":
		return m.Name
	case m.Object != "":
		return m.Switch + "." + m.Object + "." + m.What
	case m.Port != "":
		return m.Switch + "." + m.Port + "." + m.What
	}
	return m.Switch + "." + m.What
}

func (l *Lab) makeSamplers(context.Context) error {
	for i := range l.t.Measure {
		m := l.t.Measure[i]
		if m.Object != "" {
			continue // streamed
		}
		n := l.byName[m.Switch]
		s := &sampler{m: m, at: m.Every, series: &Series{Name: m.name(), Unit: quantities[m.What], Start: m.Every,
			Every: m.Every}}
		if m.Port != "" {
			e, err := l.endOf(m.Switch + ":" + m.Port)
			if err != nil {
				return fmt.Errorf("%smeasure: %w", l.t.Where(fmt.Sprintf("measure[%d]", i)), err)
			}
			s.port = e.port.id
		}
		n.samplers = append(n.samplers, s)
	}
	if every := l.opts.Counters; every > 0 {
		for _, k := range l.links {
			for _, w := range k.wires {
				if e := w.from; e.host == nil {
					e.node.samplers = append(e.node.samplers, &sampler{m: Measurement{What: "queue-bytes", Every: every},
						port: e.port.id, at: every, counters: &PortCounters{Every: every}, where: e.text})
				}
			}
		}
	}
	return nil
}

// sample records a value if it is due. All events before now are included.
func (s *sampler) sample(n *node) {
	if n.now < s.at {
		return
	}
	if s.counters != nil {
		c, _ := n.sim.Chip.PortCounters(s.port)
		s.counters.Values = append(s.counters.Values, PortCount{c.Received, c.ReceivedBytes, c.Sent, c.SentBytes,
			uint64(s.queue(n.sim.Chip))})
		s.at += s.m.Every
		return
	}
	if s.at += s.m.Every; len(s.series.Values) >= maxSamples {
		s.at = forever
		return
	}
	s.series.Values = append(s.series.Values, s.value(n))
}

func (s *sampler) value(n *node) int64 {
	chip := n.sim.Chip
	switch s.m.What {
	case "buffer-bytes":
		b := chip.FrameCounts()
		return int64(b.QueuedBytes)
	case "clock-error":
		return int64(chip.ClockError(chip.Now()))
	case "queue-bytes", "queue-packets", "queue-cells":
		return s.queue(chip)
	}
	c, _ := chip.PortCounters(s.port)
	switch s.m.What {
	case "received":
		return int64(c.Received)
	case "sent":
		return int64(c.Sent)
	}
	var sum uint64
	for _, d := range c.Dropped {
		sum += d
	}
	return int64(sum)
}

// queue returns the selected queue's value, or the sum over all queues of the port.
func (s *sampler) queue(chip *saisim.Chip) int64 {
	first, last := 0, 15
	if s.m.Queue != nil {
		first, last = *s.m.Queue, *s.m.Queue
	}
	var sum uint64
	for i := first; i <= last; i++ {
		q, ok := chip.QueueState(s.port, i)
		if !ok {
			break
		}
		switch s.m.What {
		case "queue-packets":
			sum += q.Packets
		case "queue-bytes":
			sum += q.Bytes
		case "queue-cells":
			sum += q.Cells
		}
	}
	return int64(sum)
}
