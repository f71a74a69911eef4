package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/parquet"
	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

// A collector that reads a capture is killed at random, and restarted, until it has read it to its end. The store then
// equals, row for row, that of a collector that was not killed.
func TestChaosOfCapture(t *testing.T) {
	if os.Getenv("TAMTAM_COLLECTD_CHAOS") == "" {
		t.Skip("TAMTAM_COLLECTD_CHAOS is not set: want the number of minutes")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2}, func(t *testing.T, seed uint64) {
		const frames = 400_000
		c := &chaos{t: t, r: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir()}
		c.program = filepath.Join(c.dir, "tamtam-collectd")
		if out, err := exec.Command("go", "build", "-o", c.program, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		path := filepath.Join(c.dir, "stamped.pcap")
		writeStamped(t, c.r, path, frames)
		read := func(name string, kills int) string {
			store := filepath.Join(c.dir, name+"-store")
			args := []string{"run", "--http=none", "--role=ingest,join", "--log=" + filepath.Join(c.dir, name+"-log"),
				"--store=" + store, "--pcap=" + path, "--partitions=3"}
			p := c.start(args...)
			for range kills {
				<-time.After(time.Duration(c.r.Int64N(int64(1500 * time.Millisecond))))
				c.again(&p, args)
			}
			for range 300 { // the rows of all frames exist once the source has reported its end
				if packetsOf(t, store) == frames {
					break
				}
				<-time.After(100 * time.Millisecond)
			}
			_ = p.cmd.Process.Kill()
			<-p.ended
			if n := packetsOf(t, store); n != frames {
				t.Errorf("%s: %d packets in the store, want %d\n%s", name, n, frames, p.err.String())
			}
			return store
		}
		compareStores(t, read("killed", 1+c.r.IntN(6)), read("calm", 0))
	})
}

// writeStamped writes a capture of frames of random flows with one or two stamps.
func writeStamped(t *testing.T, r *rand.Rand, path string, frames int) {
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	for range frames {
		at = at.Add(5*time.Microsecond + time.Duration(r.Int64N(int64(time.Millisecond)))) // frames keep their order
		f := make([]byte, 14+28, 200)
		f[12], f[14], f[23] = 8, 0x45, 17
		binary.BigEndian.PutUint16(f[16:], 28)
		binary.BigEndian.PutUint16(f[34:], uint16(r.IntN(50)))
		f = append(f, make([]byte, 60-len(f))...)
		hops := 1 + r.IntN(2)
		for hop := range hops { // no path is the beginning of another
			f = tailstamp.V1{}.Append(f, tailstamp.Record{SwitchID: uint32(10*hops + hop), Ingress: tailstamp.At(at),
				Egress: tailstamp.At(at.Add(time.Duration(r.IntN(5000))))})
		}
		if err := w.Write(at, f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// packetsOf returns the number of packets in the rows of a store.
func packetsOf(t *testing.T, dir string) (n int64) {
	store, err := parquet.Open(parquet.Options{Dir: dir, Bytes: 1 << 40})
	if err == nil {
		err = store.Each(t.Context(), 0, math.MaxInt64, func(b *result.Batch) bool {
			for _, h := range b.Hops {
				if h.Index == 0 {
					n += h.Packets
				}
			}
			return true
		})
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", dir, err))
	}
	return n
}
