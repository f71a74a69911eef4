package saisim_test

import (
	"strings"
	"testing"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// Every shipped profile makes a chip.
func TestShippedProfilesMakeChips(t *testing.T) {
	for _, name := range profile.Names() {
		p := need(profile.Load(name))(t)
		if _, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A chip refuses an invalid profile that was made in Go.
func TestProfileOfAChip(t *testing.T) {
	p := profile.Small()
	p.ClockHz = 9e9
	if _, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)}); err == nil ||
		!strings.Contains(err.Error(), `profile "small": clock_hz is 9000000000, want 1 to 8000000000`) {
		t.Error(err)
	}
	if _, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(-1, 0)}); err == nil {
		t.Error("a start before 1970 is accepted")
	}
}

// Some shipped profiles have capacity for a count-min sketch, of 5-tuples in three rows or of source addresses in one.
// The others refuse it with the missing resources.
func TestProfilesAndPrograms(t *testing.T) {
	wide := pipe.CountMinSketch{Key: pipe.FiveTupleIPv4(), Rows: 3, Depth: 64, Width: 32}
	narrow := pipe.CountMinSketch{Key: []pipe.Input{{Field: "ipv4.src"}}, Rows: 1, Depth: 64, Width: 32}
	for _, tt := range []struct {
		profile string
		sketch  pipe.CountMinSketch
		want    []string // the missing resources
	}{
		{"rmt12", wide, nil},
		{"rmt20", wide, nil},
		{"access48", wide, []string{"stateful ALUs: need 3, have 2"}},
		{"access48", narrow, nil},
		{"small", wide, []string{"hash units: need 6, have 2", "stateful ALUs: need 3, have 2"}},
		{"small", narrow, nil},
		{"fixed", narrow, []string{"hash units: the chip has none", "stateful ALUs: need 1, have 0",
			"SRAM blocks: the chip has none",
			"VLIW slots: need 1, have 0", "tables: need 1, have 0"}},
	} {
		p := need(profile.Load(tt.profile))(t)
		program := need(pipe.CountMin(tt.sketch))(t)
		c, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Control(0, saisim.Batch{Batch: pipe.Batch{Program: program}})
		if (err != nil) != (tt.want != nil) {
			t.Errorf("%s: %v", tt.profile, err)
		}
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.profile, err, want)
			}
		}
	}
}
