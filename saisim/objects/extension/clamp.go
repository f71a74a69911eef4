package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/flymon"
)

// clamps holds the MSS clamps for tail-stamping.
type clamps struct {
	*Chip
	labelled map[string][]config.ID
}

// object implements [Area.Object] for clamps.
func (cs *clamps) object(name string, id config.ID) Object {
	switch {
	case cs.Profile.MSSClamps == 0:
		return nil
	case name == tailstamp.ObjectClamp:
		return &clamp{of: cs, row: config.MSSClamp{ID: id}}
	case name == tailstamp.ObjectSYNs:
		return &synWindow{of: cs}
	}
	return nil
}

// A clamp is the state that the store keeps for a clamp: its row as it was set last.
type clamp struct {
	of  *clamps
	row config.MSSClamp
}

func (x *clamp) Apply(text []byte) error {
	var v tailstamp.Clamp
	given, err := readExtension(text, tailstamp.AttrClamp, &v)
	if err != nil {
		return err
	}
	if given == nil {
		return errors.New("clamp is missing, want label, records and filter")
	}
	next, err := parseClamp(&v)
	if err != nil {
		return err
	}
	next.ID = x.row.ID
	x.unlabel()
	x.row = next
	x.of.labelled[next.Label] = append(x.of.labelled[next.Label], next.ID)
	x.of.Put(next)
	return nil
}

// parseClamp returns the row of a clamp's ENTRY. The error contains everything that is wrong with it.
func parseClamp(v *tailstamp.Clamp) (r config.MSSClamp, err error) {
	var errs []error
	if n := len(v.Label); n == 0 || n > tailstamp.MaxClampLabel {
		errs = append(errs, fmt.Errorf("clamp: label %.80q, want 1 to %d bytes", v.Label, tailstamp.MaxClampLabel))
	}
	if v.Records < 1 || v.Records > tailstamp.MaxRecords {
		errs = append(errs, fmt.Errorf("clamp: records is %d, want 1 to %d", v.Records, tailstamp.MaxRecords))
	}
	r = config.MSSClamp{Label: v.Label, Records: v.Records}
	if r.Filter, err = flymon.ParseFilter(v.Filter); err != nil {
		errs = append(errs, fmt.Errorf("clamp: %w", err))
	}
	return r, errors.Join(errs...)
}

// unlabel removes the clamp from the list of clamps with its label.
func (x *clamp) unlabel() {
	same := func(id config.ID) bool { return id == x.row.ID }
	if left := slices.DeleteFunc(x.of.labelled[x.row.Label], same); len(left) > 0 {
		x.of.labelled[x.row.Label] = left
	} else {
		delete(x.of.labelled, x.row.Label)
	}
}

func (x *clamp) Leave() {
	x.unlabel()
	x.of.Drop(x.row)
}

func (x *clamp) Read() sai.Value { return nil }

// A synWindow reads the counters of clamps. It is not configuration.
type synWindow struct {
	of     *clamps
	entry  map[string]json.RawMessage
	labels []string
}

func (w *synWindow) Apply(text []byte) error {
	entry, labels, err := readLabels(text)
	if err == nil {
		w.entry, w.labels = entry, labels
	}
	return err
}

func (w *synWindow) Leave() {}

// Read returns the object's entry with the current counters. Those of clamps with the same label are added up. The
// counters of a label without a clamp are zero.
func (w *synWindow) Read() sai.Value {
	values := make([]uint64, int(tailstamp.NumSYNCounts)*len(w.labels))
	for i, label := range w.labels {
		for _, id := range w.of.labelled[label] {
			for j, n := range w.of.Engine.SYNCounts(id) {
				values[i*int(tailstamp.NumSYNCounts)+j] += n
			}
		}
	}
	return writeExtension(w.entry, []string{tailstamp.AttrCounters}, [][]uint64{values})
}
