package device_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// Frames leave the chip in the same cycles, with the same bytes, whether they are handed over many together or each
// alone, and whether an observer watches or not.
func TestTogetherIsExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 4}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		start := time.Unix(1000, 0)
		var captures [2][]devicetest.Packet
		for i := range captures {
			at := start
			for range 100 + rnd.IntN(1500) {
				at = at.Add(time.Duration(rnd.Int64N(1 << rnd.IntN(14))))
				f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(18+rnd.IntN(200)))
				captures[i] = append(captures[i], devicetest.PacketAt(at, f))
			}
		}
		dir := t.TempDir()
		var inputs []device.Input
		for i, c := range captures {
			in := device.Input{Port: fmt.Sprint("Ethernet", i), Path: filepath.Join(dir, fmt.Sprint(i))}
			devicetest.WriteCapture(t, in.Path, c...)
			inputs = append(inputs, in)
		}
		run := func(feed func(*device.Sim)) string {
			s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts(), Start: start})
			devicetest.RunUntilIdle(t, s)
			var out strings.Builder
			s.Chip.SetOutput(func(o *saisim.Out) { fmt.Fprintf(&out, "%d %d %d %x\n", o.Port, o.At, o.Len, o.Data) })
			feed(s)
			devicetest.Drain(t, s)
			return out.String()
		}
		none := func() error { return nil }
		together := run(func(s *device.Sim) { devicetest.NoError(t, s.Feed(t.Context(), inputs, none)) })
		watched := run(func(s *device.Sim) {
			s.Chip.SetObserver(func(saisim.Moment) {})
			devicetest.NoError(t, s.Feed(t.Context(), inputs, none))
		})
		alone := run(func(s *device.Sim) { feedAlone(t, s, slices.Clone(captures[:])) })
		if strings.Count(alone, "\n") < 200 || together != alone || watched != alone {
			t.Errorf("%d frames left, %d with an observer; want %d, and the same", strings.Count(together, "\n"),
				strings.Count(watched, "\n"), strings.Count(alone, "\n"))
		}
	})
}

// feedAlone hands each packet of the captures to Ethernet0, Ethernet1, ... when the chip's time has come.
func feedAlone(t *testing.T, s *device.Sim, captures [][]devicetest.Packet) {
	var origin time.Time
	for {
		first := -1
		for i, c := range captures {
			if len(c) > 0 && (first < 0 || c[0].At.Before(captures[first][0].At)) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		p := captures[first][0]
		if origin.IsZero() {
			origin = p.At
		}
		captures[first] = captures[first][1:]
		port, _ := s.Chip.PortByName(fmt.Sprint("Ethernet", first))
		at := max(s.Chip.CycleAt(p.At.Sub(origin)), s.Chip.Now())
		devicetest.NoError(t, s.Advance(t.Context(), at))
		devicetest.NoError(t, s.Chip.Receive(port, at, saisim.Frame{Data: p.Data, Len: p.Length}))
	}
}

// A capture that is damaged after many packets is rejected with the file and the packet, and leaves nothing behind.
func TestDamageAfterManyPackets(t *testing.T) {
	for _, n := range []uint32{513, 3000} {
		whole, err := io.ReadAll(newStream(t, n, 60))
		in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
		devicetest.NoError(t, errors.Join(err, os.WriteFile(in, whole[:len(whole)-5], 0o600)))
		r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
		r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
		_, err = r.Run(t.Context())
		var damage *capture.Error
		if !errors.As(err, &damage) || damage.Packet != int64(n) || damage.File != in {
			t.Errorf("error %v, want one about packet %d of %s", err, n, in)
		}
		if left, _ := os.ReadDir(out); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A run that is cancelled in the middle of a capture ends, and leaves nothing behind.
func TestReplayCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStream(t, 1<<31, 60) // more than anybody waits for
	s.reached = func(uint32) { cancel() }
	out := t.TempDir()
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", s.pipe(t)), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	if _, err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Frames of any length, cut or not, pass the goroutines of reader and writer whole.
func TestFramesOfAnyLength(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	var sent []devicetest.Packet
	at := time.Unix(1000, 0)
	for i := range 3000 {
		f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(18+i*37%1454))
		p := devicetest.PacketAt(at, f)
		if i%7 == 0 {
			p.Data = p.Data[:20+i%40]
		}
		sent = append(sent, p)
		at = at.Add(2 * time.Microsecond)
	}
	devicetest.WriteCapture(t, in, sent...)
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	delete(r.Config, "TAM_TAILSTAMPING_TABLE")
	_, err := r.Run(t.Context())
	devicetest.NoError(t, err)
	got := readCapture(t, filepath.Join(out, "Ethernet1.pcap"))
	if len(got) != len(sent) {
		t.Fatalf("%d frames left, want %d", len(got), len(sent))
	}
	for i, g := range got {
		if w := sent[i]; !bytes.Equal(g.Data, w.Data) || g.Length != w.Length || !g.At.After(w.At) {
			t.Fatalf("frame %d: %d bytes of %d at %v, want %d of %d after %v", i, len(g.Data), g.Length, g.At, len(w.Data),
				w.Length, w.At)
		}
	}
}
