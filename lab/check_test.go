package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/lab/figure"
)

// numbers is the report of a study that has only numbers, in millionths.
type numbers map[string]int64

func (n numbers) Metric(name string) (Metric, bool) {
	v, ok := n[name]
	return Metric{v, Millionths}, ok
}
func (n numbers) Metrics() string                 { return "CURVE.AT.METRIC" }
func (n numbers) Notices() []string               { return nil }
func (n numbers) CSV() map[string][]byte          { return nil }
func (n numbers) Figures(string) []*figure.Figure { return nil }
func (n numbers) WriteTable(io.Writer) error      { return nil }

// A check without want, min and max is reported: it neither passes nor fails. For a median, the tables for pages also
// contain theory and the other seeds.
func TestChecksAreJudgedOrReported(t *testing.T) {
	top := &Topology{Checks: []Check{
		{Name: "sent", Measured: "flow.web.sent", Want: "10"},
		{Name: "lost|gone", Measured: "flow.web.lost", Paper: "about 4"},
		{Name: "F1", Measured: "flymon.cms.96KiB.f1.median", Min: "0.9", Paper: "over 0.99"},
		{Name: "error", Measured: "flymon.cms.96KiB.are.median"},
	}}
	r := &Result{Flows: map[string]Flow{"web": {Sent: 10, Lost: 3}}, Reports: map[string]Report{"flymon": numbers{
		"cms.96KiB.f1.median": 987654, "cms.96KiB.f1.min": 950000, "cms.96KiB.f1.max": 990000, "cms.96KiB.f1.theory": 980000,
		"cms.96KiB.are.median": 12345678000, "cms.96KiB.are.min": 12345678000, "cms.96KiB.are.max": 12345678000,
	}}}
	if err := r.checkAll(top); err != nil {
		t.Fatal(err)
	}
	if !r.Passed() {
		t.Error("something failed")
	}
	for i, want := range []string{`"pass":true`, `"pass":null`, `"theory":0.98,"least":0.95,"most":0.99,"pass":true`,
		`"pass":null`} {
		if text, _ := json.Marshal(r.Checks[i]); !strings.Contains(string(text), want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
	var text, markdown bytes.Buffer
	if err := r.WriteChecks(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if want := `
    Check      Want                      Measured
ok  sent       10                        10 frames
    lost|gone  (paper: about 4)          3 frames
ok  F1         ≥ 0.9 (paper: over 0.99)  0.987654
    error                                12345.678
`; text.String() != want[1:] {
		t.Errorf("%s", text.String())
	}
	if want := `
| | the paper | want | measured |
| --- | --- | --- | --- |
| sent |  | 10 | 10 frames |
| lost\|gone | about 4 |  | 3 frames |
| F1 | over 0.99 | ≥ 0.9, theory 0.98 | 0.9877 (0.95 to 0.99) |
| error |  |  | 12346 |
`; markdown.String() != want[1:] {
		t.Errorf("%s", markdown.String())
	}

	top.Checks[0].Want = "11"
	r.Checks = nil
	if err := r.checkAll(top); err != nil || r.Passed() {
		t.Errorf("10 of 11 passes: %v", err)
	}
	markdown.Reset()
	if err := r.WriteMarkdown(&markdown); err != nil || !strings.Contains(markdown.String(),
		"| sent |  | 11 | 10 frames FAILED |") {
		t.Errorf("%v\n%s", err, &markdown)
	}
}

// A metric without a measurement is not 0. It is reported as not measured, a sum with it is unmeasured too, and no
// check of it passes.
func TestChecksOfNothing(t *testing.T) {
	delayed := Flow{Sent: 2, Received: 2, Delay: Delay{Min: 3, Max: 5}}
	r := &Result{Flows: map[string]Flow{"none": {Sent: 10, Lost: 10}, "some": delayed},
		Switches: map[string]*Node{"s": nil}}
	top := &Topology{Checks: []Check{
		{Name: "at most", Measured: "flow.none.delay.max", Max: "1us"},
		{Name: "just", Measured: "flow.none.delay.min", Want: "0us"},
		{Name: "less", Measured: "flow.some.delay.min - flow.none.delay.min", Max: "1us"},
		{Name: "as that", Measured: "flow.some.delay.min", Max: "flow.none.delay.min"},
		{Name: "about that", Measured: "flow.some.delay.min", Want: "3ps", Tolerance: "flow.none.delay.min"},
		{Name: "stamps", Measured: "flow.none.stamps.rest_min", Max: "1us"},
		{Name: "told", Measured: "flow.none.delay.min"},
	}}
	if err := r.checkAll(top); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks[:6] {
		if c.Pass == nil || *c.Pass {
			t.Errorf("%+v: want that it fails", c)
		}
	}
	if text, err := json.Marshal(r.Checks[6]); err != nil || strings.Contains(string(text), "measured") {
		t.Errorf("%s, %v: want no number that was measured", text, err)
	}
	var text bytes.Buffer
	if err := errors.Join(r.WriteChecks(&text), r.WriteMarkdown(&text), r.WriteFlows(&text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FAILED  just        0                     not measured\n", "3 ± not measured",
		"| at most | ≤ 1000 | not measured FAILED |",
		"none        10    0         10    -          -     -    -    \n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s\nwant %q", text.String(), want)
		}
	}
	if m, ok := r.Metric("flows.delay.min"); !ok || m.Value != 3 {
		t.Errorf("of all flows: %+v, %v: want that of those that have one", m, ok)
	}
	r.Flows["some"] = r.Flows["none"]
	if m, ok := r.Metric("flows.delay.max"); !ok || m.Known() {
		t.Errorf("of flows without any: %+v, %v: want that it is not measured", m, ok)
	}
}

// Numbers of different scales cannot be added, except counts to millionths. A sum that overflows is an error, not
// another number.
func TestChecksOfUnits(t *testing.T) {
	const most = "9223372036854775807"
	r := &Result{Flows: map[string]Flow{"web": {Sent: 10, Lost: 3, Copies: -1, Received: 7,
		Delay: Delay{Min: 5000, Max: 9000}}},
		Reports: map[string]Report{"x": numbers{"share": 500_000, "ten": 10_000_000, "far": math.MaxInt64 - 1}},
		Series:  map[string]*Series{"q": {Unit: "frames", Values: []int64{0, 1}}, "c": {Unit: "ns", Values: []int64{-1, -2}}}}
	for _, c := range []struct {
		measured, want, err string
		number              json.Number
	}{
		{"flow.web.delay.max + flow.web.lost", "", `the unit of "flow.web.lost" is frames, and others have ps`, ""},
		{"flow.web.lost - flow.web.delay.max", "", `the unit of "flow.web.delay.max" is ps, and others have frames`, ""},
		{"1 - x.share", "", `the unit of "x.share" is millionths, and others have none`, ""},
		{"x.share - flow.web.delay.min", "", `the unit of "flow.web.delay.min" is ps, and others have millionths`, ""},
		{"flow.web.sent", "x.ten", `want: "x.ten": the unit of "x.ten" is millionths, and others have frames`, ""},
		{"flow.web.sent", "flow.web.delay.max", `the unit of "flow.web.delay.max" is ps`, ""},
		{"x.share + flow.web.sent - 1", "9.5", "", "9.5"},
		{"x.ten", "flow.web.sent", "", "10"},
		{"series.q.mean", "0.5", "", "0.5"},
		{"series.c.mean", "-1.5ns", "", "-1.5"},
		{"flow.web.sent - flow.web.lost", "7", "", "7"},
		{"flow.web.copies - " + most + " - 2", "", "beyond 2^63", ""},
		{"x.far + flow.web.sent", "", "beyond 2^63", ""},
		{"flow.web.sent * 2", "", `want + or - between values, not "*"`, ""},
	} {
		got, err := r.check(&Check{Name: "n", Measured: c.measured, Want: c.want})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.measured, err, c.err)
			}
			continue
		}
		if err != nil || got.Failed() || got.Measured != c.number {
			t.Errorf("%s: %+v, %v: want %s", c.measured, got, err, c.number)
		}
	}
	if got, err := r.check(&Check{Measured: "flow.web.copies", Want: most}); err != nil || !got.Failed() {
		t.Errorf("-1 is %s: %+v, %v", most, got, err)
	}
}

// Byte counters have the unit bytes.
func TestUnitsOfBytes(t *testing.T) {
	r := &Result{Switches: map[string]*Node{"s": {Report: &device.Report{
		Ports: map[string]device.PortReport{"p": {Received: 1, ReceivedBytes: 64}}}}}}
	for name, want := range map[string]Metric{"switch.s.port.p.received": {1, "frames"},
		"switch.s.port.p.received_bytes": {64, "bytes"}} {
		if m, ok := r.Metric(name); !ok || m != want {
			t.Errorf("%s: %+v, want %+v", name, m, want)
		}
	}
}

// If no host reads stamps, or if some receiver of the frames does not, the absence of stamps is unmeasured.
func TestUnreadStamps(t *testing.T) {
	r := &Result{Flows: map[string]Flow{"read": {Received: 3, Stamps: &Stamps{Frames: 3, Records: 6}},
		"none": {Received: 1}}}
	for name, want := range map[string]int64{"flow.read.stamps.records": 6, "flow.none.stamps.records": 0,
		"flows.stamps.records": 6} {
		if m, ok := r.Metric(name); !ok || m.Value != want {
			t.Errorf("%s: %+v, %v: want %d", name, m, ok, want)
		}
	}
	r.Flows["none"] = Flow{Received: 1, Stamps: &Stamps{Frames: 1, Records: 1}, unread: true}
	for _, name := range []string{"flow.none.stamps.records", "flow.none.stamps.frames", "flow.none.stamps.rest_min",
		"flows.stamps.records"} {
		if m, ok := r.Metric(name); !ok || m.Known() {
			t.Errorf("%s: %+v, %v: want that it is not known", name, m, ok)
		}
	}
	// the clock was set meanwhile
	r.Flows["set"] = Flow{Received: 1, Stamps: &Stamps{Frames: 1, Records: 1, Unknown: 1}}
	if m, ok := r.Metric("flow.set.stamps.rest_min"); !ok || m.Known() {
		t.Errorf("%+v, %v: want that it is not known", m, ok)
	}
	if m, ok := r.Metric("flow.none.stamps.packets"); ok {
		t.Errorf("%+v", m)
	}
}
