package results

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/collector/marks"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/altmark"
)

// A row contains only the last period. A revised result of an earlier period does not change it.
func TestResultRows(t *testing.T) {
	r := swsstest.Start(t)
	w := New(r)
	result := marks.Result{
		Path: "p", From: "a", To: "b", Period: 10, Start: altmark.Time{Seconds: 10}, Status: marks.OK,
		Counted: true, Counts: marks.Counts{Sent: 5, Received: 6},
		Lost: -1, LossValid: true, Delay: time.Millisecond, DelayValid: true,
	}
	missing := marks.Result{
		Path: "p", From: "a", To: "b", Period: 11, Start: altmark.Time{Seconds: 11},
		Status: marks.Missing, Reasons: []string{"a: no report", "b: no report"},
	}
	revised := result
	revised.Revised = true
	for _, rs := range [][]marks.Result{{result}, {missing}, {revised}} {
		if err := w.Write(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	last := result
	last.Path = "last"
	if err := w.Write(ended, []marks.Result{last}); err != nil {
		t.Error(err)
	}
	table := swss.NewTable(r.DB(swss.CountersDB), schema.CountersAltMarkPath)
	if _, there, err := table.Get(t.Context(), "last:a:b"); !there || err != nil {
		t.Errorf("a result that came with the end is there: %v, %v", there, err)
	}
	fields, _, err := table.Get(t.Context(), "p:a:b")
	if err != nil {
		t.Fatal(err)
	}
	row, err := schema.ParseAltMarkResult("p:a:b", fields)
	if err != nil || row.Period != 11 || row.Status != schema.AltMarkMissing ||
		row.Reasons != "a: no report; b: no report" || row.Lost != nil || row.Sent != nil || row.Delay != nil {
		t.Errorf("%v: %+v, %v", fields, row, err)
	}
}

// The row of the widest possible graph, with a reason for each switch, can be read again.
func TestResultRowOfWideGraph(t *testing.T) {
	r := marks.Result{Path: "web", From: "leaf1", To: strings.Repeat("spine-99+", 255) + "spine-99", Status: marks.Flagged}
	for i := range 256 {
		r.Reasons = append(r.Reasons,
			fmt.Sprintf(
				"spine-%d: period 1234567, which shows late packets, is flagged counter-reset, and more is to be said of it "+
					"than that", i))
	}
	want := resultRow(r)
	got, err := schema.ParseAltMarkResult(want.Key(), want.Fields())
	if err != nil || got.To != r.To || !strings.HasSuffix(got.Reasons, "; and 224 more") {
		t.Errorf("%.200s: %v", got.Reasons, err)
	}
}
