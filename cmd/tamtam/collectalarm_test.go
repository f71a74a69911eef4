package main

import (
	"strings"
	"testing"

	"tamtam/collector/marks"
	"tamtam/fleet/dial"
	"tamtam/tam/altmark"
)

// With --alarm the losses of several graphs in one period are compared, in a line after the alarms.
func TestCollectSuspects(t *testing.T) {
	f, err := dial.ReadFile(strings.NewReader(`
graphs:
- name: web
  points: [{switch: l1, target: "l1:1", session: w}, {switch: s1, target: "s1:1", session: w},
    {switch: s2, target: "s2:1", session: w}, {switch: l2, target: "l2:1", session: w}]
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2]]
- name: voice
  points: [{switch: s1, target: "s1:1", session: v}, {switch: l2, target: "l2:1", session: v}]
  links: [[s1, l2]]
`))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	drill, err := (&collect{alarm: 0.01}).drill(f, &out)
	if err != nil {
		t.Fatal(err)
	}
	result := func(path, from, to string, lost int64) marks.Result {
		return marks.Result{Path: path, From: from, To: to, Period: 7, Start: altmark.Time{Seconds: 7},
			Status: marks.OK, Counts: marks.Counts{Sent: 100, Received: uint64(100 - lost)}, Lost: lost, LossValid: true}
	}
	drill([]marks.Result{result("web", "l1", "s1+s2", 0), result("web", "s1+s2", "l2", 9), result("web", "l1", "l2", 9)})
	drill([]marks.Result{result("voice", "s1", "l2", 1)}) // raises no separate alarm
	const want = `tamtam: alarm: web period 7 lost 9 of 100: s1+s2>l2 lost 9, 0 to 9 at each of s1>l2 s2>l2
tamtam: suspects: period 7, by the losses of voice web; lost packets for certain at s1>l2; s1>l2 alone explains all
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	// A late report flags the loss. So there is no alarm, and no suspect.
	out.Reset()
	flagged := result("web", "s1+s2", "l2", 0)
	flagged.Status, flagged.LossValid, flagged.Reasons = marks.Flagged, false, []string{"l2: late-frames"}
	whole := flagged
	whole.From = "l1"
	drill([]marks.Result{flagged, whole})
	const none = `tamtam: no alarm: web period 7 lost 0 or more (l2: late-frames): s1+s2>l2 lost 0 or more (l2: ` +
		`late-frames), ` +
		`0 or more at each of s1>l2 s2>l2
tamtam: suspects: period 7, by the losses of voice; lost packets for certain at s1>l2; s1>l2 alone explains all
`
	if out.String() != none {
		t.Errorf("%s\nwant\n%s", &out, none)
	}
	if _, err := (&collect{alarm: 1}).drill(f, &out); err == nil ||
		!strings.Contains(err.Error(), "--alarm 1: want a fraction") {
		t.Error(err)
	}
}
