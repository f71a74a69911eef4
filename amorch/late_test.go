package amorch

import (
	"slices"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// If the chip reports late packets, the last period is flagged, and the earlier periods that they may belong to. The
// flags are set again after a restart. After a missed reading, all earlier periods are flagged.
func TestLatePackets(t *testing.T) {
	s := initiator()
	s.Role = altmark.Transit
	for _, tt := range []struct {
		name    string
		missed  time.Duration
		restart bool
		want    int // number of flagged periods before the last period with late packets
	}{
		{"read in time", 0, false, 2},
		{"after a restart", 0, true, 5},
		{"readings are missed", 3 * time.Second, false, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := withSession(t, s)
			b.Pass(5 * time.Second)
			last := s.Interval.Period(altmark.At(b.chip.now()))
			b.chip.late = []uint64{last - 2, last}
			switch {
			case tt.restart:
				b.run()
			case tt.missed > 0:
				b.Now = b.Now.Add(tt.missed)
				b.Step()
			}
			b.Pass(2 * time.Second)
			var got []uint64
			for field, value := range b.Row(swss.CountersDB, schema.CountersAltMarkPast, "s1") {
				p, err := schema.ParseAltMarkPeriod("s1", field, value)
				if err != nil {
					t.Fatal(err)
				}
				if p.Flags&altmark.LateFrames != 0 && p.Number < last {
					got = append(got, p.Number)
				}
				if p.Number > last && p.Flags&altmark.LateFrames != 0 {
					t.Errorf("period %d is flagged %v, the last late packet counts in %d", p.Number, p.Flags, last)
				}
			}
			if slices.Sort(got); len(got) != tt.want {
				t.Errorf("flagged are %v, want %d before %d", got, tt.want, last)
			}
		})
	}
}
