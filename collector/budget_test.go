package collector

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

// hostile adds very many paths of three hops, with distinct latencies of all magnitudes and both signs.
func hostile(c *TailStamp, paths, frames int) {
	state := uint64(7)
	next := func() uint32 {
		state = state*6364136223846793005 + 1442695040888963407
		return uint32(state >> 32)
	}
	when := func() uint32 { return next() % 1e9 >> (next() % 30) }
	for range frames {
		n := uint16(next() % uint32(paths))
		frame := stamped(web, hop(1, n, 4, when(), when(), 0), hop(2, 8, 12, when(), when(), 0),
			hop(3, 8, 12, when(), when(), 0))
		c.Add(frame, time.Unix(1000, 0).UTC(), len(frame))
	}
}

// Distributions never exceed their budget, for any number of paths and latencies. The report shows for each row whether
// its percentiles are known. It is deterministic, and everything else in it is exact.
func TestDistributionsShareABudget(t *testing.T) {
	const paths, frames, memory = 100, 20_000, 1 << 18
	for _, exact := range []bool{false, true} {
		free := NewTailStamp(0, 1<<40, exact)
		hostile(free, paths, frames)
		before := heapInUse()
		c := NewTailStamp(0, memory, exact)
		hostile(c, paths, frames)
		const eachPath = 2048 // memory of a path in bytes, without its distributions
		took := int64(heapInUse() - before)
		if took > memory+paths*eachPath {
			t.Errorf("exact %v: took %d bytes, and %d are allowed", exact, took, memory+paths*eachPath)
		}
		again := NewTailStamp(0, memory, exact)
		hostile(again, paths, frames)
		got, want := c.Report(), free.Report()
		if diff := gocmp.Diff(got, again.Report(), gocmp.AllowUnexported(Report{}),
			gocmp.Comparer(func(a, b Flow) bool { return a == b })); diff != "" {
			t.Errorf("exact %v: the second report of the same frames differs:\n%s", exact, diff)
		}
		var unranked int64
		for i, p := range got.Flows[0].Paths {
			for j, s := range p.summaries() {
				w := want.Flows[0].Paths[i].summaries()[j]
				if s.Count != w.Count || s.Min != w.Min || s.Avg != w.Avg || s.Max != w.Max {
					t.Errorf("exact %v: %+v, without a bound %+v", exact, s, w)
				}
				if s.Unranked {
					unranked++
				} else if exact || w.Within == 0 {
					near(t, s, w)
				}
			}
		}
		if unranked == 0 || unranked == 6*paths || got.Unranked != unranked || want.Unranked != 0 {
			t.Errorf("exact %v: %d rows without percentiles, %d are said; without a bound %d", exact, unranked, got.Unranked,
				want.Unranked)
		}
		runtime.KeepAlive(free)
		runtime.KeepAlive(c)
	}
}

// The reservation of a distribution is never negative, and is returned completely.
func TestBudgetIsKept(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 93_000_000, Count: 100, Short: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		all := r.Int64N(100_000)
		room := budget{left: all}
		list := make([]distribution, 1+r.IntN(20))
		for i := range list {
			list[i] = distribution{room: &room, exact: r.IntN(4) == 0}
			for _, v := range randomDurations(r) {
				list[i].add(v)
			}
			if i > 0 {
				list[r.IntN(i)].merge(&list[i])
			}
			var taken int64
			for _, d := range list[:i+1] {
				taken += d.reserved
				if d.unranked && (d.reserved != 0 || d.values != nil || d.sketch != nil || !d.summary().Unranked) {
					t.Errorf("without percentiles: %+v", d)
				}
			}
			if room.left < 0 || room.left+taken != all {
				t.Fatalf("of %d bytes %d are taken and %d left", all, taken, room.left)
			}
		}
		for i := range list {
			list[i].forget()
		}
		if room.left != all {
			t.Errorf("of %d bytes %d came back", all, room.left)
		}
	})
}

// An unknown percentile is "?" in the text, with the reason below, and null in JSON.
func TestUnknownPercentilesAreNotZero(t *testing.T) {
	c := NewTailStamp(0, 300, false)
	for i := range uint32(20) {
		frame := stamped(web, hop(1, 0, 4, 100, 600+i, 0))
		c.Add(frame, time.Unix(1000, 0).UTC(), len(frame))
	}
	var text, js strings.Builder
	r := c.Report()
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	const want = `20 frames: 20 stamped with 20 records, 0 without a record
1 row of which no percentiles are known, since 300 bytes were spent (--memory)

TCP 192.0.2.1:12345 > 192.0.2.2:80: 20 frames stamped
  hop  switch         in        out  count  min ns  avg  p50  p90  p99  max
    1       1  Ethernet0  Ethernet4     20     500  510    ?    ?    ?  519
  ? not known: there was no room for the different values (--memory)
`
	if diff := gocmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	var got struct {
		Unknown int `json:"percentiles_unknown"`
		Memory  int `json:"memory_bytes"`
		Flows   []struct {
			Paths []struct {
				Hops []struct{ Latency map[string]any }
			}
		}
	}
	if err := json.Unmarshal([]byte(js.String()), &got); err != nil || got.Unknown != 1 || got.Memory != 300 {
		t.Fatalf("%v, %+v", err, got)
	}
	latency := map[string]any{"count": 20.0, "min_ns": 500.0, "avg_ns": 510.0, "p50_ns": nil, "p90_ns": nil, "p99_ns": nil,
		"max_ns": 519.0, "percentiles_unknown": true}
	if diff := gocmp.Diff(latency, got.Flows[0].Paths[0].Hops[0].Latency); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// For a path of one hop the end-to-end figure equals the figure of the hop.
func TestOneHopIsTheWhole(t *testing.T) {
	c := NewTailStamp(0, 0, false)
	for i := range uint32(5) {
		frame := stamped(web, hop(1, 0, 4, 100, 600+i, tailstamp.Flags(0)))
		c.Add(frame, time.Unix(1000, 0).UTC(), len(frame))
	}
	if p := c.Report().Flows[0].Paths[0]; p.EndToEnd != p.Hops[0].Latency || p.EndToEnd.Count != 5 {
		t.Errorf("%+v", p)
	}
}
