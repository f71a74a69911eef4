package swss_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// If a field is put and removed before a flush, the last call counts.
func TestHash(t *testing.T) {
	table := swss.NewTable(swsstest.Start(t).DB(swss.CountersDB), "COUNTERS_PORT_NAME_MAP")
	h := swss.Hash{Table: table}
	for _, step := range []struct {
		do   func()
		want swss.FieldValues
	}{
		{func() { h.Put("a", "1"); h.Put("b", "2") }, swss.FieldValues{"a": "1", "b": "2"}},
		{func() { h.Remove("a"); h.Put("b", "3") }, swss.FieldValues{"b": "3"}},
		{func() { h.Remove("b"); h.Put("b", "4"); h.Put("c", "5"); h.Remove("c") }, swss.FieldValues{"b": "4"}},
		{func() {}, swss.FieldValues{"b": "4"}},
	} {
		step.do()
		noError(t, h.Flush(t.Context()))
		got, _, err := table.Get(t.Context(), "")
		if d := cmp.Diff(step.want, got); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
}
