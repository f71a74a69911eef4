package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tamtam/collector/result"
)

// A Drop is a report of packets that were dropped: an event of a batch of Drops.
type Drop struct {
	Switch string `json:"switch"`
	Port   string `json:"port,omitempty"` // empty if dropped before or without a port
	// number of the queue, or a value of [tamtam/collector/result.Drop.Queue] that is no number
	Queue   int    `json:"queue"`
	Reason  string `json:"reason"`
	Rule    string `json:"rule,omitempty"`
	Flow    string `json:"flow,omitempty"`
	Packets int64  `json:"packets"`
	// Since is the time from which on the packets may have been dropped, in nanoseconds since 1970. It is zero if they
	// were dropped at the time of the event.
	Since  int64  `json:"since,omitempty"`
	Source string `json:"source"` // ipfix, sflow or record
	// Unsynchronised means that its time is by a clock known to be wrong.
	Unsynchronised bool `json:"unsynchronised,omitempty"`
}

// AddDrop adds a report of drops at a time. It returns false if the batch is full.
func (w *Writer) AddDrop(time int64, d *Drop) (bool, error) {
	if err := d.check(); err != nil {
		return false, err
	}
	data, err := json.Marshal(d)
	if err != nil {
		return false, err
	}
	return w.Add(time, data)
}

// ReadDrop reads an event of a batch of Drops.
func ReadDrop(b Blob) (Drop, error) {
	d := Drop{Queue: -1}
	if err := json.Unmarshal(b.Data, &d); err != nil {
		return Drop{}, fmt.Errorf("a report of drops: %w", err)
	}
	return d, d.check()
}

func (d *Drop) check() error {
	switch {
	case d.Switch == "":
		return errors.New("a report of drops without a switch")
	case d.Reason == "":
		return errors.New("a report of drops without a reason")
	case d.Queue < result.NoQueue || d.Queue > math.MaxInt32:
		return fmt.Errorf("a report of drops for queue %d: want 0 to %d, %d if it is unknown, or %d if there is none",
			d.Queue, math.MaxInt32, result.UnknownQueue, result.NoQueue)
	case d.Packets <= 0:
		return fmt.Errorf("a report of %d dropped packets: want 1 or more", d.Packets)
	case d.Source != "ipfix" && d.Source != "sflow" && d.Source != "record":
		return fmt.Errorf("a report of drops from %.40q: want ipfix, sflow or record", d.Source)
	}
	return nil
}
