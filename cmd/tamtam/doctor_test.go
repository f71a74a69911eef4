package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tamtam/device/doctor"
	"tamtam/internal/command"
	"tamtam/internal/racetest"
)

// The exit code shows whether a check failed. A check that cannot run is not ok.
func TestDoctor(t *testing.T) {
	racetest.Live(t)
	var out, errs bytes.Buffer
	args := []string{"doctor", "--json", "--redis", "127.0.0.1:1", "--gnmi", "127.0.0.1:1", "--data", t.TempDir()}
	if code := run(t.Context(), args, nil, &out, &errs); code != command.ExitFailed ||
		!strings.Contains(errs.String(), "2 of 3") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	var report doctor.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Findings) == 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	sum := 0
	for _, n := range report.Count {
		sum += n
	}
	if sum != len(report.Findings) || report.Count[doctor.Failed] != 2 || report.Findings[0].Verdict != doctor.Failed {
		t.Errorf("%+v", report)
	}
	for _, wrong := range [][]string{{"--timeout", "0s"}, {"--redis", "nowhere"}, {"file"}} {
		errs.Reset()
		if code := run(t.Context(), append([]string{"doctor"}, wrong...), nil, &out, &errs); code != command.ExitUsage {
			t.Errorf("%v: exit %d: %s", wrong, code, errs.String())
		}
	}
}
