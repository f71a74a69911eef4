package device_test

import (
	"bytes"
	"fmt"
	"maps"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/swss"
	"tamtam/tam/ifa"
	"tamtam/tam/ipfix"
)

// newEdges returns an initiator and a terminator, with sessions that begin and end IFA.
func newEdges(t *testing.T) (begin, end *analyst) {
	t.Helper()
	begin, end = newAnalyst(t, "1"), newAnalyst(t, "3")
	begin.Set("TAM_SESSION|begin", "type", "ifa", "role", "initiator", "flow_group@", "FG1")
	end.Set("TAM_SESSION|middle", "type", "ifa", "role", "transit")
	end.Set("TAM_COLLECTOR|C1", "src_ip", "11.22.33.44", "dst_ip", "10.20.30.40", "dst_port", "10000")
	end.Set("TAM_SESSION|end", "type", "ifa", "role", "terminator", "flow_group", "FG1", "collector@", "C1")
	begin.wantStatus("begin", "active", "")
	end.wantStatus("end", "active", "")
	return begin, end
}

// A restart of orchagent or of the managers finds the objects of sessions and leaves them: counters and the sequence of
// reports continue. After a restart of syncd with its chip, the new chip has the sessions. They count from zero, which
// is reported.
func TestIFARestarts(t *testing.T) {
	begin, end := newEdges(t)
	plain := udpFrameFor(8, 80)
	d := ipfix.NewDecoder(0)
	edges := map[*analyst]map[string]bool{}
	for _, a := range []*analyst{begin, end} {
		edges[a] = (&monitored{T: t, Switch: a.Switch}).tams()
	}
	since := map[*analyst]string{}
	step := func(what, inserted, stripped string, anew bool) {
		t.Helper()
		for range 2 {
			out := end.through(begin.through(plain))
			if len(out) != len(plain) || !bytes.Equal(out[34:], plain[34:]) {
				t.Errorf("%s: left as %x", what, out)
			}
		}
		end.Advance(2 * time.Second)
		if n := len(reportsIn(t, d, end.Left("Ethernet1"))); n != 2 || d.Counts().Lost+d.Counts().WithoutTemplate > 0 {
			t.Errorf("%s: %d reports of 2, the decoder counts %+v", what, n, d.Counts())
		}
		begin.wantStatus("begin", "active", "")
		end.wantStatus("middle", "active", "")
		end.wantStatus("end", "active", "")
		begin.counted("TAM_IFA_COUNTERS:begin", inserted)
		end.counted("TAM_IFA_COUNTERS:end", stripped)
		for a, row := range map[*analyst]string{begin: "TAM_IFA_COUNTERS:begin", end: "TAM_IFA_COUNTERS:end"} {
			now := a.Row(swss.CountersDB, row)["COUNTED_SINCE"]
			if now == "" || (now != since[a]) != anew {
				t.Errorf("%s: %s counts since %q, before since %q, want anew: %v", what, row, now, since[a], anew)
			}
			since[a] = now
		}
		for a, want := range edges {
			if got := (&monitored{T: t, Switch: a.Switch}).tams(); !maps.Equal(got, want) {
				t.Errorf("%s: objects %v, want %v", what, got, want)
			}
		}
	}
	both := func(restart func(*analyst) error) {
		t.Helper()
		for _, a := range []*analyst{begin, end} {
			err := restart(a)
			if err == nil {
				err = a.Sim().RunUntilIdle(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	step("at first", "MATCHED 2 INSERTED 2 ", "MATCHED 2 STRIPPED 2 REPORTED 2 MESSAGES 2 ", true)
	both(func(a *analyst) error { return a.Sim().RestartOrchagent(t.Context()) })
	step("orchagent", "MATCHED 4 INSERTED 4 ", "MATCHED 4 STRIPPED 4 REPORTED 4 MESSAGES 4 ", false)
	both(func(a *analyst) error { return a.Sim().RestartManagers(t.Context()) })
	step("managers", "MATCHED 6 INSERTED 6 ", "MATCHED 6 STRIPPED 6 REPORTED 6 MESSAGES 6 ", false)
	both(func(a *analyst) error { return a.Sim().RestartSyncd(t.Context()) })
	d = ipfix.NewDecoder(0) // the new chip is another exporter
	step("syncd", "MATCHED 2 INSERTED 2 ", "MATCHED 2 STRIPPED 2 REPORTED 2 MESSAGES 2 ", true)
}

// Packets that are in the switch while their session is removed leave whole, with a hop or without. Nothing of the
// session is left.
func TestIFALeavesWithPacketsInFlight(t *testing.T) {
	a := newAnalyst(t, "1")
	plain := udpFrameFor(8, 80)
	copy(plain, []byte{2, 0, 0, 0, 7, 0xe4})
	empty := (&monitored{T: t, Switch: a.Switch}).tams()
	hops := 0
	for range 5 {
		a.Set("TAM_SESSION|begin", "type", "ifa", "role", "initiator", "flow_group@", "FG1")
		for range 20 {
			a.Send("Ethernet0", plain)
		}
		a.Advance(700 * time.Nanosecond)
		a.Delete("TAM_SESSION|begin")
		a.Advance(time.Millisecond)
		left := a.Left("Ethernet2")
		if len(left) != 20 {
			t.Fatalf("%d frames of 20 left", len(left))
		}
		for _, f := range left {
			if p, err := ifa.Decode(f[14:]); err == nil {
				hops += len(p.Hops)
				f = append(f[:14:14], p.Strip(bytes.Clone(f[14:]))...)
			}
			if len(f) != len(plain) || !bytes.Equal(f[34:], plain[34:]) {
				t.Errorf("left as %x", f)
			}
		}
	}
	if now := (&monitored{T: t, Switch: a.Switch}).tams(); !maps.Equal(now, empty) {
		t.Errorf("objects %v, want %v", now, empty)
	}
	if row := a.Row(swss.CountersDB, "TAM_IFA_COUNTERS:begin"); row != nil {
		t.Errorf("counters of a session that is gone: %v", row)
	}
	if hops == 0 || hops == 100 {
		t.Errorf("%d of 100 packets have a hop: the session went before or behind all of them", hops)
	}
}

// An edge does not trust neighbours. Malformed IFA leaves as it arrived, or without the IFA that a terminator can
// remove. Each packet is counted by its kind, and nothing else in it is used.
func TestIFAHostileAtTheEdges(t *testing.T) {
	begin, end := newEdges(t)
	plain := udpFrameFor(8, 80)
	good := begin.through(plain)
	const header, meta = 34, 34 + 4 + 8
	with := func(at int, b byte) []byte {
		f := bytes.Clone(good)
		f[at] = b
		return f
	}
	untouched := func(a *analyst, what string, f []byte) {
		t.Helper()
		if out := a.through(f); len(out) != len(f) || !bytes.Equal(out[header:], f[header:]) {
			t.Errorf("%s: left as\n%x, came as\n%x", what, out, f)
		}
	}
	untouched(begin, "already IFA", good)
	begin.counted("TAM_IFA_COUNTERS:begin", "MATCHED 2 ALREADY 1 INSERTED 1 ")
	untouched(end, "a stack longer than the packet", with(meta+3, 255))
	untouched(end, "not version 2", with(header, 1<<4|15))
	untouched(end, "metadata at the tail", with(header+2, byte(ifa.TailStamp)))
	end.counted("TAM_IFA_COUNTERS:end", "")
	for _, c := range []struct {
		what     string
		frame    []byte
		longer   int // number of bytes by which IFA made the packet longer
		reported string
	}{
		{"of another global name space", with(header, 2<<4|3), 0, "0 hops, no hops of name space 15"},
		{"no whole number of hops", with(meta+3, 9), -4, "0 hops, the stack is no whole number of hops"},
		{"an empty stack", with(meta+3, 0), ifa.HopSize, "1 hops, <nil>"},
		{"no hop limit left", with(meta+2, 0), 0, "1 hops, <nil>"},
	} {
		if out := end.through(c.frame); len(out) != len(plain)+c.longer {
			t.Errorf("%s: %d bytes left, want %d:\n%x", c.what, len(out), len(plain)+c.longer, out)
		}
		reported := ""
		for _, f := range end.Left("Ethernet1") {
			if section, ok := collector.Reported(f); ok {
				p, err := ifa.Decode(section[14:])
				reported += fmt.Sprintf("%d hops, %v", len(p.Hops), err)
			}
		}
		if reported != c.reported {
			t.Errorf("%s: the collector is told of %s, want %s", c.what, reported, c.reported)
		}
	}
	end.counted("TAM_IFA_COUNTERS:end", "MATCHED 4 STRIPPED 4 REPORTED 4 MESSAGES 4 ")
	end.counted("TAM_IFA_TRANSIT_COUNTERS:device", "UNSUPPORTED 3 ")
	for _, p := range end.Problems() {
		t.Error(p)
	}
}
