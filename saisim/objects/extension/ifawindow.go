package extension

import (
	"encoding/json"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/tam/ifa"
)

// An ifaWindow reads the results for packets with IFA, by label of the ACL counters of entries. The label "" is for
// transit. It is not configuration.
type ifaWindow struct {
	of     *Chip
	acls   ACLs
	entry  map[string]json.RawMessage
	labels []string
}

func (w *ifaWindow) Apply(text []byte) error {
	entry, labels, err := readLabels(text)
	if err == nil {
		w.entry, w.labels = entry, labels
	}
	return err
}

func (w *ifaWindow) Leave() {}

// Read returns the object's entry with the current counters. Counters with the same label are added up.
func (w *ifaWindow) Read() sai.Value {
	values := make([]uint64, int(ifa.NumCounts)*len(w.labels))
	for i, label := range w.labels {
		sum := values[i*int(ifa.NumCounts):][:ifa.NumCounts]
		if label == "" {
			counts := engine.TransitOf(w.of.Engine)
			copy(sum, counts[:])
			continue
		}
		for _, id := range w.acls.Labelled(label) {
			for j, n := range engine.IFAOf(w.of.Engine, id) {
				sum[j] += n
			}
		}
	}
	return writeExtension(w.entry, []string{ifa.AttrCounters}, [][]uint64{values})
}
