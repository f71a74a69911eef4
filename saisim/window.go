package saisim

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
)

// TailstampWindow is the name of the extension object that reads what became of
// the packets that tail-stamping matched, by label of ACL counter. Its ENTRY is
//
//	{"attributes":[{"labels":{"sai_metadata":{...},"value":["label",...]}}]}
//
// and a get adds an attribute "counters" whose value holds, for each label in
// order, 8 numbers of one instant: stamped, not stamped because not TCP or UDP,
// not Ethernet II, cut, beyond the MTU; what the ACL counter has counted, packets
// and bytes; and one that is 0.
const TailstampWindow = "tamtam.tailstamp.counters"

// Where a window has what the ACL counter has counted.
const (
	windowPackets = 5
	windowBytes   = 6
)

// maxWindowLabels bounds the labels of one window.
const maxWindowLabels = 128

// A window reads registers. It is no configuration.
type window struct {
	entry  map[string]json.RawMessage
	labels []string
}

func (w *window) apply(_ *Chip, text []byte) error {
	next := window{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, "labels", &next.labels); err != nil {
			return err
		}
	}
	if len(next.labels) > maxWindowLabels {
		return fmt.Errorf("labels: %d, want at most %d", len(next.labels), maxWindowLabels)
	}
	*w = next
	return nil
}

func (w *window) leave(*Chip) {}

// read returns the window's entry with the counters as they are now. Counters
// with one label are added up; a label that no counter has counts 0.
func (w *window) read(c *Chip) sai.Value {
	values := make([]uint64, numStampResults*len(w.labels))
	for i, label := range w.labels {
		for _, x := range c.labelled[label] {
			for j, n := range x.stamps {
				values[i*numStampResults+j] += n
			}
			values[i*numStampResults+windowPackets] += x.packets
			values[i*numStampResults+windowBytes] += x.bytes
		}
	}
	return writeExtension(w.entry, []string{"counters"}, [][]uint64{values})
}
