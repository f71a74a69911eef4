package forward

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/swsstest"
)

// The output owns the descriptive fields of a status row, whatever process is the author of the outcome, and whatever
// output was there before. Other fields stay unchanged.
func TestDescribe(t *testing.T) {
	k, s := Row{"T", "k"}, Row{"S", "k"}
	r := swsstest.Start(t)
	d := orch.NewDaemon("tammgrd", r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	out := func() *Output { return New(d, r, Table{Appl: "T", State: "S", Says: []string{"of", "to"}}) }
	table := swss.NewTable(r.DB(swss.StateDB), "S")
	is := func(what string, want swss.FieldValues) {
		t.Helper()
		got, _, err := table.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"status", "reason", "since", "by"} {
			delete(got, f)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	put := func(fields swss.FieldValues) {
		t.Helper()
		if err := table.Set(t.Context(), "k", fields); err != nil {
			t.Fatal(err)
		}
	}
	b := out()
	b.Forward(k, swss.FieldValues{"a": "1"}, s)
	b.Describe(s, swss.FieldValues{"of": "x", "to": "y"})
	flush(t, b)
	put(swss.FieldValues{"other": "z"})
	is("orchagent's", swss.FieldValues{"of": "x", "to": "y", "other": "z"})
	b.Describe(s, swss.FieldValues{"of": "x2", "to": ""})
	flush(t, b)
	is("a field less", swss.FieldValues{"of": "x2", "other": "z"})
	b = out()
	b.Drop(k)
	b.Report(s, "failed", "no")
	b.Describe(s, swss.FieldValues{"to": "w"})
	flush(t, b)
	is("another output, and its own", swss.FieldValues{"to": "w", "other": "z"})
	for _, garbage := range []swss.FieldValues{{"to": "not this"}, {"of": "nobody"}} {
		put(garbage)
		found, err := b.lookState(t.Context(), []string{"S|k"})
		if err != nil || len(found) != 1 || found[0].What != "does not say what it is" {
			t.Errorf("%v: found %v, %v", garbage, found, err)
		}
		if err := b.healState(t.Context(), []drift.Finding{{Key: "S|k"}}); err != nil {
			t.Fatal(err)
		}
		is("healed", swss.FieldValues{"to": "w", "other": "z"})
	}
	b.Describe(s, nil)
	flush(t, b)
	is("nothing", swss.FieldValues{"other": "z"})
	b.Describe(s, swss.FieldValues{"to": "w"})
	flush(t, b)
	b.Unreport(s)
	flush(t, b)
	is("gone", swss.FieldValues{})
	b.Describe(s, swss.FieldValues{"to": "w"}) // without an outcome there is nothing to describe
	flush(t, b)
	is("never there", swss.FieldValues{})
	b.Report(s, "failed", "no")
	b.Describe(s, swss.FieldValues{"to": "w"})
	flush(t, b)
	is("there again", swss.FieldValues{"to": "w"})
	b.Unreport(s)
	flush(t, b)
	if len(b.said) > 0 {
		t.Errorf("rows that are gone are remembered: %v", b.said)
	}
}
