package parquet

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
	"tamtam/tam/query"
)

// A condition is a comparison of a filter, and its outcome for a row by Go's own operators.
type condition struct {
	text  string
	holds func(h *result.Hop) query.Verdict
}

func is(b bool) query.Verdict {
	if b {
		return query.Yes
	}
	return query.No
}

// randomCondition returns a filter of a few comparisons.
func randomCondition(r *rand.Rand, s fleetShape, depth int) condition {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := randomCondition(r, s, depth-1), randomCondition(r, s, depth-1)
		switch r.IntN(3) {
		case 0:
			return condition{"(" + a.text + " or " + b.text + ")",
				func(h *result.Hop) query.Verdict { return max(a.holds(h), b.holds(h)) }}
		case 1:
			return condition{"not (" + a.text + ")", func(h *result.Hop) query.Verdict { return query.Yes - a.holds(h) }}
		}
		return condition{a.text + " and " + b.text,
			func(h *result.Hop) query.Verdict { return min(a.holds(h), b.holds(h)) }}
	}
	n := r.Int64N(3000)
	sw := uint32(1 + r.IntN(s.switches))
	flow, _ := s.flow(r.IntN(s.flows))
	prefix := netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/26", r.IntN(3)))
	at := s.from + r.Int64N(s.to-s.from)
	return []condition{
		{"flow = " + query.Quote(flow), func(h *result.Hop) query.Verdict { return is(h.Flow == flow) }},
		{"flow ~ '0[.]7'", func(h *result.Hop) query.Verdict { return is(strings.Contains(h.Flow, "0.7")) }},
		{"flow = elsewhere", func(*result.Hop) query.Verdict { return query.No }},
		{"src-ip in " + prefix.String(), func(h *result.Hop) query.Verdict {
			from, _, _ := strings.Cut(h.Flow[len("TCP "):], ":")
			return is(prefix.Contains(netip.MustParseAddr(from)))
		}},
		{fmt.Sprintf("switch-id in (%d, 7..9)", sw),
			func(h *result.Hop) query.Verdict { return is(h.Switch == sw || h.Switch >= 7 && h.Switch <= 9) }},
		{fmt.Sprintf("hop != %d", sw%3), func(h *result.Hop) query.Verdict { return is(h.Index != int(sw%3)) }},
		{"packets < 20", func(h *result.Hop) query.Verdict { return is(h.Packets < 20) }},
		{fmt.Sprintf("delay.max > %dns", n), func(h *result.Hop) query.Verdict {
			if h.Resident.Count == 0 {
				return query.Unknown
			}
			return is(h.Resident.Max > n)
		}},
		{"delay.min is known", func(h *result.Hop) query.Verdict { return is(h.Resident.Count > 0) }},
		{"link.max is unknown", func(h *result.Hop) query.Verdict { return is(h.Link.Count == 0) }},
		{"time >= " + query.Time.Literal(at), func(h *result.Hop) query.Verdict { return is(h.Window.Start >= at) }},
		{"packets > 1000k", func(*result.Hop) query.Verdict { return query.No }},
		{"packets > 0", func(*result.Hop) query.Verdict { return query.Yes }},
	}[r.IntN(13)]
}

// keysOf holds the fields of groups, with a row's key by Go's own means.
var keysOf = map[string]func(h *result.Hop) string{
	"flow":      func(h *result.Hop) string { return h.Flow },
	"path":      func(h *result.Hop) string { return h.Path },
	"switch-id": func(h *result.Hop) string { return strconv.Itoa(int(h.Switch)) },
	"hop":       func(h *result.Hop) string { return strconv.Itoa(h.Index) },
	"dst-ip":    func(h *result.Hop) string { _, to, _ := strings.Cut(h.Flow, " > "); return to[:len(to)-len(":443")] },
	"out-port":  func(h *result.Hop) string { return strconv.Itoa(int(h.Out)) },
}

// expected computes the totals of a group's rows by sorting.
func expected(rows []*result.Hop, name string, late result.Flags) (s query.Sums) {
	s.Range = query.Range{Low: 0, High: math.MaxInt64}
	flags := late
	var numbers []int64
	var spread []result.Distribution
	column, share, _ := strings.Cut(name, ".p")
	for _, h := range rows {
		flags |= h.Flags
		d := &h.Resident
		if strings.HasPrefix(name, "link") {
			d = &h.Link
		}
		switch {
		case strings.HasPrefix(column, "packets"):
			numbers = append(numbers, h.Packets)
		case d.Count == 0:
			s.Unknown++
		case column == "delay" || column == "link":
			spread = append(spread, *d)
		case strings.HasSuffix(column, ".min"):
			numbers = append(numbers, d.Min)
		default:
			numbers = append(numbers, d.Max)
		}
	}
	if s.Known = len(numbers)+len(spread) > 0; !s.Known {
		return s
	}
	slices.Sort(numbers)
	of := map[string]float64{"50": 0.5, "90": 0.9, "99": 0.99, "999": 0.999}[share]
	switch {
	case len(spread) > 0:
		all := result.Distribution{Min: math.MaxInt64, Max: math.MinInt64, Buckets: make([]uint32, 248)}
		for _, d := range spread {
			all.Count, all.Sum, all.Min, all.Max = all.Count+d.Count, all.Sum+d.Sum, min(all.Min, d.Min), max(all.Max, d.Max)
			for i, n := range d.Buckets {
				all.Buckets[int(d.First)+i] += n
			}
		}
		if share == "" {
			s.Range = query.Exactly(all.Sum / all.Count)
			return s
		}
		s.Low, s.High, _ = all.Quantile(of)
	case share != "":
		s.Range = query.Exactly(numbers[int(math.Ceil(of*float64(len(numbers))))-1])
	case strings.HasSuffix(column, ".min"):
		s.Range = query.Exactly(numbers[0])
	case strings.HasSuffix(column, ".max"):
		s.Range = query.Exactly(numbers[len(numbers)-1])
	default:
		var total int64
		for _, n := range numbers {
			total += n
		}
		s.Range = query.Exactly(total)
		if flags&result.Gap != 0 {
			s.High = math.MaxInt64
		}
	}
	return s
}

// generated stores generated rows in small row groups, and returns their batches.
func generated(t *testing.T, s *Store, shape fleetShape, each int64) (all []*result.Batch) {
	t.Helper()
	for i := range shape.batches() {
		b := shape.make(i)
		put(t, s, b, true)
		path := filepath.Join(s.dir, "hops", nameOf(b))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		var rows []hopRow
		for i := range b.Hops {
			rows = append(rows, fromHop(&b.Hops[i]))
		}
		if err := writeFile(path, b, rows, each); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// A scan returns the same as a search through all rows, for random filters, groups, numbers and times.
func TestScanOfRandomQuestions(t *testing.T) {
	t.Parallel()
	shape := tenDays(100_000, 9_000)
	s := open(t, Options{Dir: t.TempDir()})
	all := generated(t, s, shape, 2_500)
	shows := []string{"packets", "delay", "delay.p50", "delay.p99", "link.p999", "delay.max", "delay.max.p99", "packets.p50",
		"link.min", "link.max.p90"}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		ask := &result.Ask{Kind: "hops", From: math.MinInt64 / 2, To: math.MaxInt64}
		if r.IntN(3) > 0 {
			ask.From = shape.from + r.Int64N(shape.to-shape.from)
			ask.To = ask.From + r.Int64N(3*testDay)
		}
		c := condition{"", func(*result.Hop) query.Verdict { return query.Yes }}
		if r.IntN(4) > 0 {
			c = randomCondition(r, shape, 3)
		}
		ask.Where = c.text
		names := slices.Sorted(maps.Keys(keysOf))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:r.IntN(4)]
		ask.By = strings.Join(names, ",")
		r.Shuffle(len(shows), func(i, j int) { shows[i], shows[j] = shows[j], shows[i] })
		show := shows[:1+r.IntN(4)]
		ask.Show = strings.Join(show, ", ")
		got, err := s.Scan(t.Context(), ask)
		if err != nil {
			t.Fatalf("%+v: %v", ask, err)
		}
		checkAnswer(t, ask, c, names, show, all, got)
	})
}

// checkAnswer compares an answer with all rows.
func checkAnswer(t *testing.T, ask *result.Ask, c condition, names, show []string, all []*result.Batch,
	got *result.Answer,
) {
	t.Helper()
	var rows, selected, unknown int64
	groups := map[string][]*result.Hop{}
	var late result.Flags
	for _, b := range all {
		for _, a := range b.Amends {
			if a.From <= ask.To && a.To >= ask.From {
				late |= a.Flags
			}
		}
		for i := range b.Hops {
			h := &b.Hops[i]
			if h.Window.Start+h.Window.Length < ask.From || h.Window.Start > ask.To {
				continue
			}
			rows++
			switch c.holds(h) {
			case query.Unknown:
				unknown++
			case query.Yes:
				selected++
				var key []string
				for _, n := range names {
					key = append(key, keysOf[n](h))
				}
				name := strings.Join(key, "|")
				groups[name] = append(groups[name], h)
			}
		}
	}
	if got.Rows != rows || got.Selected != selected || got.Unknown != unknown || len(got.Groups) != len(groups) {
		t.Fatalf("%+v: %d rows, %d selected, %d unknown, %d groups: want %d, %d, %d, %d", ask, got.Rows, got.Selected,
			got.Unknown, len(got.Groups), rows, selected, unknown, len(groups))
	}
	if len(got.Lacks) > 0 {
		t.Errorf("%+v: %v", ask, got.Lacks)
	}
	for _, g := range got.Groups {
		var key []string
		for i := range g.Keys {
			k := &g.Keys[i]
			switch {
			case len(k.Texts) > 0:
				key = append(key, k.Texts[0])
			case len(k.Numbers) > 0:
				key = append(key, strconv.FormatInt(k.Numbers[0].Low, 10))
			}
		}
		rows := groups[strings.Join(key, "|")]
		if g.Rows != int64(len(rows)) {
			t.Fatalf("%+v: group %v has %d rows, want %d", ask, key, g.Rows, len(rows))
		}
		for i, name := range show {
			if want := expected(rows, name, late); g.Totals[i] != want {
				t.Fatalf("%+v: group %v of %d rows, %s: %+v, want %+v", ask, key, len(rows), name, g.Totals[i], want)
			}
		}
	}
}
