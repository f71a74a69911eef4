package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// Packets reach spliced groups after the recirculation port has sent them completely and they have passed the pipes
// again.
func TestRecirculation(t *testing.T) {
	s := newSketcher(t)
	s.send(1, udpFrame(2, 9, 60))
	task := s.task(counting(t, "again", "src-ip", 5, 0, 0, 32))
	// 1.25 GHz, 10 Gb/s: a byte a cycle. At the port 11 cycles after entry; 60 bytes, FCS and 16
	// of metadata are 80, with preamble and gap 100; then parser and ingress pipe, 17.
	var entered saisim.Cycle
	s.SetObserver(func(m saisim.Moment) {
		if m.What == saisim.MomentDequeued {
			entered = m.At
		}
	})
	counted := func() uint64 { return s.status("again").Banks[0].Packets }
	noError(t, s.Receive(0, s.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}))
	for entered == 0 {
		s.Advance(s.Now() + 1)
	}
	second := entered + 11 + 100 + 17
	s.Advance(second - 1)
	if n := counted(); n != 0 {
		t.Errorf("%d packets before cycle %d, want 0", n, second)
	}
	s.Advance(second)
	if b := s.status("again").Banks[0]; b.Packets != 1 || b.Bytes != 64 ||
		b.First != uint64(s.TimeOfDay(entered).UnixNano()) {
		t.Errorf("%+v, want a packet of 64 bytes, measured as it entered at %d", b, entered)
	}

	// Of two packets at the same time, the second waits for the first.
	for id := range saisim.PortID(8) {
		if id != 1 {
			noError(t, s.Receive(id, s.Now()+100, saisim.Frame{Data: udpFrame(byte(1+id), 2, 60)}))
		}
	}
	first := saisim.Cycle(0)
	for n := uint64(1); n < 8; {
		at, ok := s.NextEvent()
		if !ok {
			t.Fatalf("%d packets, want 8", n)
		}
		s.Advance(at)
		if c := counted(); c != n {
			if n == 1 {
				first = at
			} else if at != first+saisim.Cycle(100*(n-1)) {
				t.Errorf("packet %d at cycle %d, want %d", n, at, first+saisim.Cycle(100*(n-1)))
			}
			n = c
		}
	}
	s.drain()

	// Copies that are being recirculated count for a task that continues, not for one that was restarted.
	for name, tt := range map[string]struct {
		change func()
		want   uint64
	}{
		"another filter": {func() {
			s.change(task, filtered(t, counting(t, "again", "src-ip", 5, 0, 0, 32),
				"ip=4"))
		}, 1},
		"a filter that it is not in": {func() {
			s.change(task, filtered(t, counting(t, "again", "src-ip", 5, 0, 0, 32),
				"ip=6"))
		}, 0},
		"another place": {func() { s.change(task, counting(t, "again", "src-ip", 5, 0, 32, 32)) }, 0},
		"another task of the name": {func() {
			s.remove(sai.ObjectTypeGenericProgrammable, task)
			task = s.task(counting(t, "again", "src-ip", 5, 0, 0, 32))
		}, 0},
	} {
		s.change(task, counting(t, "again", "src-ip", 5, 0, 0, 32))
		s.extension(flymon.ObjectClear, entryOf(s, "clear", map[string]any{"task": "again", "bank": 0}))
		noError(t, s.Receive(0, s.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}))
		entered = 0
		for entered == 0 {
			s.Advance(s.Now() + 1)
		}
		tt.change()
		s.drain()
		if n := counted(); n != tt.want {
			t.Errorf("%s: %d packets, want %d", name, n, tt.want)
		}
	}
}

// Copies that find the recirculation port's buffer full are counted as lost.
func TestRecirculationIsFull(t *testing.T) {
	p := profile.Small()
	p.FlyMon.RecirculationMbps = 1000 // a tenth of a port's rate
	s := &sketcher{newRigOf(t, saisim.Config{Profile: p, Start: start})}
	s.send(1, udpFrame(2, 9, 60))
	s.task(counting(t, "again", "src-ip", 7, 2, 0, 32))
	const packets, size = 200, 1000
	for i := range packets {
		noError(t, s.Receive(0, s.Now()+saisim.Cycle(i), saisim.Frame{Data: udpFrame(1, 2, size)}))
	}
	s.drain()
	// Each copy occupies the recirculation port for 1040 byte times, but copies arrive every 102.4 byte times.
	free, lost := 0.0, uint64(0)
	for i := range packets {
		a := 102.4 * float64(i)
		if free > a+32768 {
			lost++
			continue
		}
		free = max(free, a) + size + 40
	}
	if b := s.status("again").Banks[0]; b.Lost != lost || b.Packets != packets-lost || lost < 100 {
		t.Errorf("%+v, want %d lost", b, lost)
	}
	noError(t, s.Remove(t.Context(), sai.Obj(sai.ObjectTypeSwitch, s.sw)))
	if _, ok := s.NextEvent(); ok {
		t.Error("something is on its way when the switch is gone")
	}
}
