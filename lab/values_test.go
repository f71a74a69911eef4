package lab

import "testing"

func TestTimes(t *testing.T) {
	tests := []struct {
		in   string
		want Time
		out  string // empty means the same as in
	}{
		{"1ps", 1, ""}, {"250ns", 250_000, ""}, {"1.5ms", 1_500_000_000, ""}, {"20µs", 20_000_000, "20us"},
		{"0.001ns", 1, "1ps"},
		{"-20us", -20_000_000, ""}, {"2s", 2 * Second, ""}, {"1000ns", 1_000_000, "1us"}, {"0s", 0, "0ps"},
		{"1.000001s", Second + Microsecond, ""},
	}
	for _, tt := range tests {
		var got Time
		if err := got.Parse(tt.in); err != nil || got != tt.want {
			t.Errorf("%s is %d ps, %v, want %d", tt.in, got, err, tt.want)
		}
		if tt.out == "" {
			tt.out = tt.in
		}
		if got.String() != tt.out {
			t.Errorf("%s prints as %s, want %s", tt.in, got, tt.out)
		}
	}
	for _, bad := range []string{"", "5", "5m", "ns", "1.5ps", "--1s", "1e3s", "999999999s", "1,5s", "+1s", "0x1s",
		"9999999999999999999s"} {
		var got Time
		if got.Parse(bad) == nil {
			t.Errorf("%q was taken as %v", bad, got)
		}
	}
}

func TestRatesAndProbabilities(t *testing.T) {
	for in, want := range map[string]Rate{"10Gbps": 1e10, "2.5G": 25e8, "300kbps": 3e5, "1bps": 1, "11 Gbps": 11e9} {
		var got Rate
		if err := got.Parse(in); err != nil || got != want {
			t.Errorf("%s is %d, %v", in, got, err)
		}
	}
	for in, want := range map[string]Probability{"0.1%": 1_000_000, "0.001": 1_000_000, "1": certain, "100%": certain,
		"0": 0, "0.000000001": 1} {
		var got Probability
		if err := got.Parse(in); err != nil || got != want {
			t.Errorf("%s is %d, %v", in, got, err)
		}
	}
	var r Rate
	var p Probability
	for _, bad := range []string{"", "0G", "10", "-1G", "1Tbps", "0.5bps"} {
		if r.Parse(bad) == nil {
			t.Errorf("rate %q was taken", bad)
		}
	}
	for _, bad := range []string{"", "1.1", "101%", "-0.1", "0.0000000001", "x"} {
		if p.Parse(bad) == nil {
			t.Errorf("probability %q was taken", bad)
		}
	}
}
