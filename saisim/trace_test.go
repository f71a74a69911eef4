package saisim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A packet may be dropped on the wire, in the pipe or behind it, flooded, punted or injected. docs/internals/timing.md
// has a packet that is forwarded, with every place.
func TestTraceEnds(t *testing.T) {
	lldp := udpFrame(1, 2, 60)
	copy(lldp, []byte{1, 0x80, 0xc2, 0, 0, 0xe})
	for _, tt := range []struct {
		name string
		do   func(r *rig)
		want []string // number and last step of each copy
	}{
		{"known", func(r *rig) { r.send(0, udpFrame(1, 2, 60)) }, []string{"0 copies made", "1 Ethernet1 last byte out"}},
		{"flooded, one egress port down", func(r *rig) { r.send(0, udpFrame(1, 9, 60)) },
			[]string{"0 copies made", "1 Ethernet1 last byte out", "2 Ethernet2 last byte out",
				"3 port 3 dropped: egress-port-down", "4 Ethernet4 last byte out",
				"5 Ethernet5 last byte out", "6 Ethernet6 last byte out", "7 Ethernet7 last byte out"}},
		{"runt", func(r *rig) { r.send(0, make([]byte, 9)) }, []string{"0 dropped: runt"}},
		{"from a group address", func(r *rig) { f := udpFrame(1, 2, 60); f[6] = 3; r.send(0, f) },
			[]string{"0 dropped: source-address"}},
		{"punted", func(r *rig) { r.send(0, lldp) }, []string{"0 copies made", "1 CPU to the CPU (lldp)"}},
		{"injected", func(r *rig) {
			noError(t, r.Inject(1, saisim.Frame{Data: udpFrame(9, 2, 60)}))
			r.drain()
		}, []string{"0 copies made", "1 Ethernet1 last byte out"}},
		{"its port is removed", func(r *rig) {
			noError(t, r.Receive(3, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 1000)}))
			r.Advance(r.Now() + 10)
			r.clearVLAN1()
			r.remove(sai.ObjectTypePort, r.oid(3))
		}, []string{"0 dropped: port-removed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bareRig(t, profile.Small())
			for _, id := range r.Ports() {
				if id != 3 { // port 3 is down, and has no host interface
					r.up(id)
				}
			}
			r.send(1, udpFrame(2, 1, 60))
			var out bytes.Buffer
			trace := saisim.NewTrace(r.Chip, &out, true)
			r.SetObserver(trace.See)
			tt.do(r)
			noError(t, trace.Flush())
			var p struct {
				Packet int
				Steps  []struct{ Place string }
				Copies []struct {
					Copy  int
					Out   string
					Steps []struct{ Place string }
				}
			}
			if err := json.Unmarshal(out.Bytes(), &p); err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
			got := []string{fmt.Sprintf("0 %s", p.Steps[len(p.Steps)-1].Place)}
			for _, c := range p.Copies {
				got = append(got, fmt.Sprintf("%d %s %s", c.Copy, c.Out, c.Steps[len(c.Steps)-1].Place))
			}
			if g, w := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); g != w || p.Packet != 2 {
				t.Errorf("packet %d:\n%s\nwant packet 2:\n%s", p.Packet, g, w)
			}
		})
	}
}

// At 25 Gb/s a byte takes 2/5 of a cycle of 0.8 ns: frame after frame keeps its
// exact time.
func TestTraceFractions(t *testing.T) {
	r := newRig(t, profile.Small())
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrSpeed, sai.Uint(25_000))
	var out bytes.Buffer
	trace := saisim.NewTrace(r.Chip, &out, false)
	r.SetObserver(trace.See)
	for range 3 {
		noError(t, r.Receive(0, 1000, saisim.Frame{Data: udpFrame(1, 2, 60)}))
	}
	r.drain()
	noError(t, trace.Flush())
	for _, want := range []string{ // 84 bytes are 33 3/5 cycles, 64 are 25 3/5
		"ingress SFD              1000\n  last byte in             1026  1025+3/5\n",
		"ingress SFD              1034  1033+3/5\n  last byte in             1060  1059+1/5\n",
		"ingress SFD              1068  1067+1/5\n  last byte in             1093  1092+4/5\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Whatever happens to frames, a trace has their places in the order of time, and the same timestamp points as the
// chip's output.
func TestTraceIsInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 8}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, profile.Small())
		r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrSpeed, sai.Uint(25_000))
		r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrSpeed, sai.Uint(1_000))
		var out bytes.Buffer
		trace := saisim.NewTrace(r.Chip, &out, true)
		r.SetObserver(trace.See)
		left := map[string]int{}
		r.SetOutput(func(o *saisim.Out) {
			if o.Port != saisim.CPUPort {
				left[fmt.Sprintf("%d at Ethernet%d at %d", o.ID, o.Port, o.At)]++
			}
		})
		for i := range uint64(2000) {
			from := byte(rnd.IntN(8))
			f := udpFrame(from+1, byte(1+rnd.IntN(12)), 60+rnd.IntN(400))
			noError(t, r.Receive(saisim.PortID(from), r.Now(), saisim.Frame{Data: f, ID: i + 1}))
			r.Advance(r.Now() + saisim.Cycle(rnd.IntN(150)))
		}
		r.drain()
		noError(t, trace.Flush())
		type steps []struct {
			Place string
			Cycle saisim.Cycle
		}
		inOrder := func(s steps, what string) {
			for i := range s[1:] {
				if s[i+1].Cycle < s[i].Cycle {
					t.Errorf("%s: %s at %d, then %s at %d", what, s[i].Place, s[i].Cycle, s[i+1].Place, s[i+1].Cycle)
				}
			}
		}
		for d, n := json.NewDecoder(&out), 0; ; n++ {
			var p struct {
				Packet, ID uint64
				Steps      steps
				Copies     []struct {
					Out   string
					Steps steps
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				if n != 2000 {
					t.Errorf("%d packets", n)
				}
				break
			} else if err != nil {
				t.Fatal(err)
			}
			inOrder(p.Steps, fmt.Sprint("packet ", p.Packet))
			for _, c := range p.Copies {
				inOrder(c.Steps, fmt.Sprint("packet ", p.Packet, " at ", c.Out))
				for _, s := range c.Steps {
					if s.Place == "egress SFD" {
						left[fmt.Sprintf("%d at %s at %d", p.ID, c.Out, s.Cycle)]--
					}
				}
			}
		}
		for what, n := range left {
			if n != 0 {
				t.Errorf("%s: %d more in the output than in the trace", what, n)
			}
		}
		if len(left) < 2000 {
			t.Errorf("only %d frames left", len(left))
		}
	})
}
