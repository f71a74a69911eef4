package collector

import (
	"encoding/hex"
	"strings"
	"testing"

	"tamtam/collector/journey"
	"tamtam/tam/record"
)

// Records that cannot be joined are counted by reason, for any times and switch ids. The number of named ids is
// limited.
func TestJourneysLeft(t *testing.T) {
	frame, err := hex.DecodeString("020000000002020000000001" + "0800" + "4500002000010000401100000a0000010a000002" +
		"03e80009000c0000" + "01020304")
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJourneys(nil, map[uint32]string{1: "leaf1"}, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	good := record.Record{Switch: 1, In: record.Time{Seconds: 1, Nanoseconds: 5},
		At: record.Time{Seconds: 1, Nanoseconds: 9}, Length: uint32(len(frame)), OutPort: record.NoPort}
	add := func(r record.Record, frame []byte) { j.add(RecordedPacket{Record: r, Frame: frame}) }
	for id := range uint32(100) {
		bad := good
		bad.Switch = 1000 + id
		add(bad, frame)
	}
	for _, at := range []record.Time{{}, {Seconds: 1<<48 - 1, Nanoseconds: 999_999_999}, {Seconds: 1 << 33}} {
		in, left := good, good
		in.In, left.At = at, at
		add(in, frame)
		add(left, frame)
	}
	add(good, frame[:40])
	for range 3 {
		add(good, frame)
	}
	want := map[string]int64{
		"records of still other switch ids, which the topology does not have":           84,
		"records with times that no clock has: 0, or after the year 2241":               6,
		"records with too little of the frame: `truncate` of the session is to be more": 1,
		"records beyond the first 2": 1,
	}
	if len(j.left) != len(want)+maxUnnamed {
		t.Errorf("%v", j.left)
	}
	for why, n := range want {
		if j.left[why] != n {
			t.Errorf("%s: %d, want %d", why, j.left[why], n)
		}
	}
	all := j.Join(journey.Wiring{}, journey.Options{})
	if len(all) != 1 || !strings.HasSuffix(all[0].Path(), "> leaf1: CPU") {
		t.Errorf("%v", all)
	}
}
