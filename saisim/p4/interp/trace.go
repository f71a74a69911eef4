package interp

import (
	"fmt"

	"tamtam/saisim/p4"
)

// An Event is one step of a packet, for the trace. Fields that do not belong to its kind are empty.
type Event struct {
	Packet int    `json:"packet"` // number of the received packet, from 1
	Copy   int    `json:"copy"`   // 0 for the packet itself, then 1, 2, ... for clones and multicast copies
	Cycle  uint64 `json:"cycle"`
	// Kind is the step: received, state, parser_error, checksum_error, table, condition, action, log, undefined, clone,
	// digest, resubmit, multicast, enqueued, dequeued, recirculate, sent or dropped.
	Kind     string   `json:"kind"`
	Pipeline string   `json:"pipeline,omitempty"`
	Name     string   `json:"name,omitempty"` // of the state, table, condition, action, checksum or digest
	Hit      bool     `json:"hit,omitempty"`
	Entry    *uint32  `json:"entry,omitempty"` // handle of the entry that hit
	Key      []string `json:"key,omitempty"`   // of the entry that hit
	Action   string   `json:"action,omitempty"`
	Data     []string `json:"data,omitempty"`  // of the action
	Value    *bool    `json:"value,omitempty"` // of a condition
	Port     *uint32  `json:"port,omitempty"`
	Bytes    int      `json:"bytes,omitempty"`
	Reason   string   `json:"reason,omitempty"` // of a drop
	Text     string   `json:"text,omitempty"`
	// Source is the position in the P4 source; for a drop, of the statement that decided it.
	Source *p4.Source `json:"source,omitempty"`
}

// sourceOf returns a source for an event, or nil if it is unknown.
func sourceOf(s p4.Source) *p4.Source {
	if s == (p4.Source{}) {
		return nil
	}
	return &s
}

// event adds an event of a packet to the trace.
func (f *frame) event(e Event) {
	if f.config.Trace == nil {
		return
	}
	e.Packet, e.Copy, e.Cycle, e.Pipeline = f.id, f.copy, f.now, f.pipeline
	f.config.Trace(e)
}

// undefined records that a statement had no defined result. The packet goes on.
func (f *frame) undefined(format string, args ...any) {
	f.accounts.Undefined++
	if f.config.Trace != nil {
		f.event(Event{Kind: "undefined", Text: fmt.Sprintf(format, args...), Source: sourceOf(f.at)})
	}
}
