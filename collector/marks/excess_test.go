package marks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// A node between two points sets the mark of all packets to 0. The next point then counts the packets of odd periods in
// even ones. Even periods have an excess, and odd ones have lost everything. Neither is ok.
func TestAltMarkRecoloured(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	var got []Result
	for k := uint64(10); k < 16; k++ {
		add(m, 0, report(k, 400, 0))
		p := report(k, 790, 8*ms)
		if k%2 == 1 {
			p.Packets = 0
		}
		got = append(got, add(m, 1, p)...)
	}
	const excess = "mp3 counted 790 packets, and mp1 400"
	wantLines(t, got,
		"10 mp1>mp3 flagged: split-or-duplicated: "+excess,
		"11 mp1>mp3 flagged: colour-changed: in period 10 "+excess+"; colour-changed: in period 12 "+excess,
		"12 mp1>mp3 flagged: split-or-duplicated: "+excess,
		"13 mp1>mp3 flagged: colour-changed: in period 12 "+excess+"; colour-changed: in period 14 "+excess)
}

// If as many packets are lost as are re-marked, there is no excess, but packets of the wrong colour arrive out of
// window.
func TestAltMarkRecolouredFew(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	var got []Result
	for k := uint64(10); k < 16; k++ {
		add(m, 0, report(k, 400, 0))
		p := report(k, 399, 8*ms)
		if k == 12 {
			p.Flags, p.OutOfWindow = altmark.OutOfWindow, 1
		}
		got = append(got, add(m, 1, p)...)
	}
	const out = "mp3 counted packets out of window in period 12"
	const same = ": mp3: out-of-window in period 12"
	wantLines(t, got, "10 mp1>mp3 flagged"+same, "11 mp1>mp3 flagged: colour-changed: "+out,
		"12 mp1>mp3 flagged: mp3: out-of-window", "13 mp1>mp3 flagged: colour-changed: "+out)
}

// A recoloured is a flow that a node between two stages re-marks. Each period has this number of packets, one at a
// time. The later stage counts by mark and reads a colour in the middle of the next period.
type recoloured struct {
	points  int
	at      int // stage before which packets are re-marked
	share   int // percentage of packets that are re-marked
	colour  uint64
	lose    int // percentage of packets that are lost
	packets int // number of packets per period
	guard   int // number of packets within the guard at an edge, by the point's settings
	rnd     *rand.Rand
}

// reports returns the reports of the points, by point and period from 2 on, and the number of lost packets of each
// period, by point.
func (c *recoloured) reports(periods int) (all [][]altmark.Period, lost []map[uint64]int64) {
	for range c.points {
		var list []altmark.Period
		for k := range uint64(periods) {
			p := report(k, 0, 0)
			p.Bytes, p.Captures = 0, 0
			list = append(list, p)
		}
		all, lost = append(all, list), append(lost, map[uint64]int64{})
	}
	for k := range uint64(periods) {
		for n := range c.packets {
			colour, there := k&1, true
			changed := c.rnd.IntN(100) < c.share
			for i := range c.points {
				if there = there && (i == 0 || c.rnd.IntN(100) >= c.lose); !there {
					lost[i][k]++
					continue
				}
				if i == c.at && changed {
					colour = c.colour
				}
				c.count(all[i], k, n, colour)
			}
		}
	}
	return all, lost
}

// count counts packet n of period k at a point.
func (c *recoloured) count(list []altmark.Period, k uint64, n int, colour uint64) {
	of, out := k, false
	if colour != k&1 {
		if of, out = k+1, n < c.packets-c.guard; n < c.packets/2 {
			of, out = k-1, n >= c.guard
		}
	}
	if of >= uint64(len(list)) {
		return
	}
	list[of].Packets++
	if out {
		list[of].OutOfWindow++
		list[of].Flags |= altmark.OutOfWindow
	}
}

// Packets are re-marked between any points of a path or clusters of a graph, in any proportion, and any are lost. A
// loss with status ok is correct. The exception is a loss in each period that hides all packets of other periods in the
// windows at its edges.
func TestAltMarkRecolouredRandom(t *testing.T) {
	wrongs, oks, flagged := 0, 0, 0
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 400, Short: 40}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		const periods = 12
		c := &recoloured{rnd: rnd, points: 3, at: 1 + rnd.IntN(2), share: []int{1, 5, 30, 100}[rnd.IntN(4)],
			colour: rnd.Uint64N(2),
			lose:   []int{0, 1, 10}[rnd.IntN(3)], packets: 20 + rnd.IntN(200), guard: 4}
		var feed func(i int, p altmark.Period) []Result
		var flush func() []Result
		names := map[string]int{"mp1": 0, "mp2": 1, "mp3": 2}
		if rnd.IntN(2) == 0 {
			m := newTestJoiner(t, threePoints(altmark.Step))
			feed, flush = func(i int, p altmark.Period) []Result { return add(m, i, p) }, m.Flush
		} else { // two spines, each of which gets half of the packets
			m := newMesh(t, graphOf(altmark.Step, "l1>s1", "l1>s2", "s1>l2", "s2>l2"))
			names = map[string]int{"l1": 0, "s1+s2": 1, "l2": 2}
			flush = m.Flush
			feed = func(i int, p altmark.Period) (out []Result) {
				if i != 1 {
					return m.Add(max(i, 3*i/2), p, p.ReadAt.Std())
				}
				half := p
				half.Packets, half.OutOfWindow = p.Packets/2, p.OutOfWindow/2
				if half.OutOfWindow == 0 {
					half.Flags = 0
				}
				p.Packets, p.OutOfWindow = p.Packets-half.Packets, p.OutOfWindow-half.OutOfWindow
				return append(m.Add(1, half, p.ReadAt.Std()), m.Add(2, p, p.ReadAt.Std())...)
			}
		}
		all, lost := c.reports(periods)
		last := map[string]Result{}
		collect := func(results []Result) {
			for _, r := range results {
				last[fmt.Sprint(r.From, r.To, r.Period)] = r
			}
		}
		for k := range uint64(periods) {
			points := []int{0, 1, 2}
			rnd.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
			for _, i := range points {
				collect(feed(i, all[i][k]))
			}
		}
		collect(flush())
		for _, r := range last {
			from, to := names[r.From], names[r.To]
			want := lost[to][r.Period] - lost[from][r.Period]
			sent := int64(c.packets) - lost[from][r.Period]
			switch {
			case r.Period == 0 || r.Period+3 > periods: // the neighbours of the period are not reported
			case r.Status != OK:
				flagged++
			case r.Lost == want && int64(r.Sent) == sent:
				oks++
			case c.hidden(all, r.Period):
				wrongs++
			default:
				t.Errorf("%+v: %s, truly %d of %d lost", *c, line(r), want, sent)
			}
		}
	})
	t.Logf("%d ok and right, %d ok and wrong where nothing shows it, %d flagged", oks, wrongs, flagged)
}

// hidden reports whether nothing in the counts of a period and its neighbours shows that packets were re-marked.
func (c *recoloured) hidden(all [][]altmark.Period, k uint64) bool {
	for i := 1; i < c.points; i++ {
		for _, q := range []uint64{k - 1, k, k + 1} {
			if all[i][q].OutOfWindow > 0 || all[i][q].Packets > all[i-1][q].Packets {
				return false
			}
		}
	}
	return true
}

// An excess in one cluster of a graph makes the losses of all its clusters uncertain in the adjacent periods. This
// includes results that were returned before the report with the excess.
func TestAltMarkRecolouredGraph(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "a>b", "b>c"))
	last := map[string]Result{}
	collect := func(results []Result) {
		for _, r := range results {
			last[fmt.Sprint(r.From, r.To, r.Period)] = r
		}
	}
	var late []altmark.Period
	for k := uint64(10); k < 16; k++ {
		for i, packets := range []uint64{100, 99, 98} {
			p := report(k, packets, time.Duration(i)*8*ms)
			if i == 2 {
				if k == 12 {
					p.Packets = 150
				}
				late = append(late, p)
				continue
			}
			collect(m.Add(i, p, p.ReadAt.Std()))
		}
	}
	if r := last["ab11"]; r.Status != OK || r.Lost != 1 {
		t.Errorf("before the last point reports: %s", line(r))
	}
	for _, p := range late {
		collect(m.Add(2, p, p.ReadAt.Std()))
	}
	collect(m.Flush())
	for k := uint64(10); k < 14; k++ {
		for _, ends := range []string{"ab", "bc", "ac"} {
			r := last[fmt.Sprint(ends, k)]
			if flagged := r.Status != OK; flagged != slices.Contains([]uint64{11, 12, 13}, k) {
				t.Errorf("%s", line(r))
			}
		}
	}
}

// The third of four points counts more packets than were sent, and the point before it restarted its counters in that
// period. The count of the first point reveals that, on a path and on a graph. The loss after that point is not ok.
func TestExcessBehindUnsoundCount(t *testing.T) {
	g := graphOf(altmark.Step, "a>b", "b>c", "c>d")
	path := Path{Name: "g", Points: g.Points}
	m, mesh := newTestJoiner(t, path), newMesh(t, g)
	var ofPath, ofGraph []Result
	for k := uint64(10); k < 16; k++ {
		for i, packets := range []uint64{200, 200, 200, 200} {
			p := report(k, packets, time.Duration(i)*4*ms)
			if i == 1 && k == 12 {
				p.Flags = altmark.CounterReset
			}
			if i == 2 && k == 12 {
				p.Packets = 201
			}
			ofPath = append(ofPath, add(m, i, p)...)
			ofGraph = append(ofGraph, mesh.Add(i, p, p.ReadAt.Std())...)
		}
	}
	for _, list := range [][]Result{ofPath, ofGraph} {
		last := map[string]string{}
		for _, r := range list {
			last[fmt.Sprint(r.From, r.To, r.Period)] = line(r)
		}
		const want = "12 c>d flagged: split-or-duplicated: c counted 201 packets, and a 200"
		if got := last["cd12"]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
