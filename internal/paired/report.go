package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"text/tabwriter"

	"tamtam/lab/bench/chipload"
)

// A pair is what a packet costs in each of two programs, in nanoseconds.
type pair struct {
	least  [2]float64
	median float64 // of the quotients, first by second
}

func (p pair) times() float64 { return p.least[0] / p.least[1] }

// pairOf sums up turns.
func pairOf(turns [][2]float64) pair {
	p := pair{least: [2]float64{math.Inf(1), math.Inf(1)}}
	var quotients []float64
	for _, t := range turns {
		for i, ns := range t {
			p.least[i] = min(p.least[i], ns)
		}
		quotients = append(quotients, t[0]/t[1])
	}
	slices.Sort(quotients)
	n := len(quotients)
	p.median = (quotients[n/2] + quotients[(n-1)/2]) / 2
	return p
}

// A bench measures loads in two programs.
type bench struct {
	programs [2]string
	rounds   int
	known    map[string]pair // by what the load is
}

// turn is how long a turn should be, in nanoseconds.
const turn = 20e6

// run measures a load, once.
func (b *bench) run(ctx context.Context, name string) (pair, error) {
	l, err := loadOf(name)
	if err != nil {
		return pair{}, err
	}
	what := fmt.Sprintf("%+v", l)
	if p, ok := b.known[what]; ok {
		return p, nil
	}
	var both [2]*server
	for i, program := range b.programs {
		if both[i], err = start(ctx, program, name); err != nil {
			return pair{}, err
		}
	}
	turns, err := b.turns(both)
	if err := errors.Join(err, both[0].stop(), both[1].stop()); err != nil {
		return pair{}, fmt.Errorf("%s: %w", name, err)
	}
	b.known[what] = pairOf(turns)
	return b.known[what], nil
}

func (b *bench) turns(both [2]*server) (turns [][2]float64, err error) {
	n := 10_000
	for _, s := range both { // how many packets a turn has, and the caches warm
		ns, err := s.send(n)
		if err != nil {
			return nil, err
		}
		n = max(n, int(turn/max(1, ns)))
	}
	for range b.rounds {
		var t [2]float64
		for i, s := range both {
			if t[i], err = s.send(n); err != nil {
				return nil, err
			}
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// A report has a line for each load and for each part.
type report struct {
	before, now string
	gains       bool // the loads' aims are told
	loads       []loadLine
	parts       []partLine
}

type loadLine struct {
	chipload.Named
	pair
}

type partLine struct {
	name string
	ns   [2]float64
}

// measure fills in the report, of what only matches.
func (r *report) measure(ctx context.Context, b *bench, only *regexp.Regexp) error {
	for _, n := range chipload.Chip {
		if !only.MatchString(n.Name) {
			continue
		}
		p, err := b.run(ctx, n.Name)
		if err != nil {
			return err
		}
		r.loads = append(r.loads, loadLine{n, p})
	}
	for _, part := range chipload.Parts {
		if !only.MatchString(part.Name) {
			continue
		}
		p, err := b.run(ctx, part.Name)
		if err != nil {
			return err
		}
		line := partLine{part.Name, p.least}
		if !part.First {
			less, err := b.run(ctx, part.Name+than)
			if err != nil {
				return err
			}
			line.ns[0], line.ns[1] = line.ns[0]-less.least[0], line.ns[1]-less.least[1]
		}
		r.parts = append(r.parts, line)
	}
	return nil
}

func (r *report) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	if len(r.loads) > 0 {
		fmt.Fprintf(w, "a packet\t%s\t%s\ttimes, least\ttimes, median\n", r.before, r.now)
	}
	for _, l := range r.loads {
		fmt.Fprintf(w, "%s\t%.1f ns\t%.1f ns\t%.2f\t%.2f", l.Name, l.least[0], l.least[1], l.times(), l.median)
		if r.gains && l.Gain != 0 {
			fmt.Fprintf(w, "\taim %.1f", l.Gain)
		}
		fmt.Fprintln(w)
	}
	if len(r.loads) > 0 && len(r.parts) > 0 {
		fmt.Fprintln(w)
	}
	if len(r.parts) > 0 {
		fmt.Fprintf(w, "part of a packet\t%s\t%s\n", r.before, r.now)
	}
	for _, p := range r.parts {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.name, nanoseconds(p.ns[0]), nanoseconds(p.ns[1]))
	}
	return w.Flush()
}

// nanoseconds prints what a part costs; a difference below zero is noise.
func nanoseconds(ns float64) string {
	if ns < 0 {
		return "noise"
	}
	return fmt.Sprintf("%.1f ns", ns)
}
