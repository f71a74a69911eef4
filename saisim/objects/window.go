package objects

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/tailstamp"
)

// A window reads registers. It is not configuration.
type window struct {
	acls   *acls
	entry  map[string]json.RawMessage
	labels []string
}

func (w *window) apply(text []byte) error {
	entry, labels, err := readLabels(text)
	if err == nil {
		w.entry, w.labels = entry, labels
	}
	return err
}

// readLabels reads the labels whose counters a window is to have.
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

func (w *window) leave() {}

// read returns the window's entry with the current counters. Counters with one label are added up; a
// label without counters counts 0.
func (w *window) read() sai.Value {
	values := make([]uint64, engine.NumStampResults*len(w.labels))
	for i, label := range w.labels {
		for _, id := range w.acls.labelled[label] {
			x := w.acls.engine.ACLCount(id)
			for j, n := range x.Stamps {
				values[i*engine.NumStampResults+j] += n
			}
			values[i*engine.NumStampResults+tailstamp.WordMatched] += x.Packets
			values[i*engine.NumStampResults+tailstamp.WordMatched+1] += x.Bytes
		}
	}
	return writeExtension(w.entry, []string{tailstamp.AttrCounters}, [][]uint64{values})
}

// clockNumbers returns the attribute "time" of windows.
func (c *core) clockNumbers() []uint64 {
	clock := c.engine.Clock().Status(c.engine.Now())
	clock.Started = uint64(c.cfg.Start.UnixNano())
	return clock.Words()
}
