package lab

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"tamtam/lab/figure"
)

// numbers are the report of a study that has numbers only, in millionths.
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

// A check without want, min and max is reported: it neither passes nor fails. Of a median the
// tables for pages have theory and the other seeds too.
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
	for i, want := range []string{`"pass":true`, `"pass":null`, `"theory":0.98,"least":0.95,"most":0.99,"pass":true`, `"pass":null`} {
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
	if err := r.WriteMarkdown(&markdown); err != nil || !strings.Contains(markdown.String(), "| sent |  | 11 | 10 frames FAILED |") {
		t.Errorf("%v\n%s", err, &markdown)
	}
}
