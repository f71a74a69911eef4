package saisim

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/tailstamp"
)

// A window reads registers. It is no configuration.
type window struct {
	entry  map[string]json.RawMessage
	labels []string
}

func (w *window) apply(_ *store, text []byte) error {
	next := window{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, tailstamp.AttrLabels, &next.labels); err != nil {
			return err
		}
	}
	if len(next.labels) > tailstamp.MaxLabels {
		return fmt.Errorf("labels: %d, want at most %d", len(next.labels), tailstamp.MaxLabels)
	}
	*w = next
	return nil
}

func (w *window) leave(*store) {}

// read returns the window's entry with the counters as they are now. Counters
// with one label are added up; a label that no counter has counts 0.
func (w *window) read(c *store) sai.Value {
	values := make([]uint64, numStampResults*len(w.labels))
	for i, label := range w.labels {
		for _, x := range c.labelled[label] {
			for j, n := range x.stamps {
				values[i*numStampResults+j] += n
			}
			values[i*numStampResults+tailstamp.WordMatched] += x.packets
			values[i*numStampResults+tailstamp.WordMatched+1] += x.bytes
		}
	}
	return writeExtension(w.entry, []string{tailstamp.AttrCounters}, [][]uint64{values})
}
