package extension

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/tailstamp"
)

// A window reads registers. It is not configuration.
type window struct {
	of     *Chip
	acls   ACLs
	entry  map[string]json.RawMessage
	labels []string
}

func (w *window) Apply(text []byte) error {
	entry, labels, err := readLabels(text)
	if err == nil {
		w.entry, w.labels = entry, labels
	}
	return err
}

// readLabels parses the labels whose counters are to be read.
func readLabels(text []byte) (entry map[string]json.RawMessage, labels []string, err error) {
	if len(text) > 0 {
		if entry, err = readExtension(text, tailstamp.AttrLabels, &labels); err != nil {
			return nil, nil, err
		}
	}
	if len(labels) > tailstamp.MaxLabels {
		return nil, nil, fmt.Errorf("labels: %d, want at most %d", len(labels), tailstamp.MaxLabels)
	}
	return entry, labels, nil
}

func (w *window) Leave() {}

// Read returns the object's entry with the current counters. Counters with the same label are added up. The counters of
// a label without counters are zero.
func (w *window) Read() sai.Value {
	values := make([]uint64, engine.NumStampResults*len(w.labels))
	for i, label := range w.labels {
		for _, id := range w.acls.Labelled(label) {
			x := w.of.Engine.ACLCount(id)
			for j, n := range x.Stamps {
				values[i*engine.NumStampResults+j] += n
			}
			values[i*engine.NumStampResults+tailstamp.WordMatched] += x.Packets
			values[i*engine.NumStampResults+tailstamp.WordMatched+1] += x.Bytes
		}
	}
	return writeExtension(w.entry, []string{tailstamp.AttrCounters}, [][]uint64{values})
}

// clockNumbers returns the attribute "time" of register reads.
func (c *Chip) clockNumbers() []uint64 {
	clock := c.Engine.Clock().Status(c.Engine.Now())
	clock.Started = uint64(c.Start.UnixNano())
	return clock.Words()
}
