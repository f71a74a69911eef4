package local

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/saisim/tailstamp"
)

var start = time.Unix(1_700_000_000, 0)

// stamped returns a UDP frame with the stamp of a switch, where it stayed for a microsecond.
func stamped(from byte, at time.Time) []byte {
	frame := make([]byte, 14+20+8, 100)
	frame[12] = 8
	ip := frame[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(ip[2:], 28)
	copy(ip[12:], []byte{10, 0, 0, from, 10, 0, 0, 99})
	binary.BigEndian.PutUint16(ip[24:], 8)
	stamp := func(t time.Time) tailstamp.Timestamp {
		return tailstamp.Timestamp{Seconds: uint64(t.Unix()), Nanoseconds: uint32(t.Nanosecond())}
	}
	return tailstamp.V1{}.Append(frame, tailstamp.Record{SwitchID: 9, InPort: 1, OutPort: 2, Ingress: stamp(at),
		Egress: stamp(at.Add(time.Microsecond))})
}

// captured writes captures of the frames of two hosts: the first sends one each second, the other one every two
// seconds.
func captured(t *testing.T, seconds int) (paths []string) {
	t.Helper()
	for host := range 2 {
		path := filepath.Join(t.TempDir(), "received.pcap")
		w, err := capture.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < seconds; i += host + 1 {
			at := start.Add(time.Duration(i) * time.Second)
			f := stamped(byte(host), at)
			if err := w.Write(at, f, len(f)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func rows(t *testing.T, store result.Store) (all result.Batch) {
	t.Helper()
	err := store.Each(t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		all.Hops, all.Drops = append(all.Hops, b.Hops...), append(all.Drops, b.Drops...)
		all.Sketches, all.Sources = append(all.Sketches, b.Sketches...), append(all.Sources, b.Sources...)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// All frames of simultaneous captures become rows, though one capture is longer than the other. The rows exist when the
// captures have been read.
func TestReadCaptures(t *testing.T) {
	k := Start(Config{})
	if err := k.ReadCaptures(t.Context(), "lab", captured(t, 60)...); err != nil {
		t.Fatal(err)
	}
	packets := map[string]int64{}
	for _, h := range rows(t, k.Store()).Hops {
		packets[h.Flow] += h.Packets
		if h.Flags != 0 || h.Switch != 9 || h.Resident.Sum != 1000*h.Packets {
			t.Errorf("%+v: want 1000 ns at switch 9, and no flags", h)
		}
	}
	if len(packets) != 2 || packets["UDP 10.0.0.0:0 > 10.0.0.99:0"]+packets["UDP 10.0.0.1:0 > 10.0.0.99:0"] != 90 {
		t.Errorf("packets %v: want 60 and 30", packets)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// A damaged capture returns an error with the place. The frames before it have rows, which are flagged as incomplete.
func TestDamagedCapture(t *testing.T) {
	k := Start(Config{})
	path := captured(t, 8)[0]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.ReadCaptures(t.Context(), "lab", path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v: want an error that names %s", err, path)
	}
	hops := rows(t, k.Store()).Hops
	if len(hops) != 1 || hops[0].Packets != 7 || hops[0].Flags != result.Gap {
		t.Errorf("%+v: want a row of 7 packets that is flagged", hops)
	}
	if err := k.ReadCaptures(t.Context(), "lab", path+"x"); err == nil {
		t.Error("a capture that is not there was read")
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// If one of several captures is damaged, all rows from there on are flagged as incomplete, and earlier rows are not.
func TestDamagedAmongOthers(t *testing.T) {
	k := Start(Config{})
	paths := captured(t, 80)
	data, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[1], data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.ReadCaptures(t.Context(), "lab", paths...); err == nil {
		t.Errorf("no error: want one that names %s", paths[1])
	}
	flags := map[int64]result.Flags{}
	for _, h := range rows(t, k.Store()).Hops {
		flags[h.Window.Start/h.Window.Length] |= h.Flags
	}
	first, last := start.Unix()/10, start.Unix()/10+7
	if flags[first] != 0 || flags[last] != result.Gap || flags[last-1] != result.Gap || len(flags) != 8 {
		t.Errorf("flags of the windows %v: want none first, and %v in the last two of 8", flags, result.Gap)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}
