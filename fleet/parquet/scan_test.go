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
	"time"

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
		if s.Unknown > 0 {
			s.Low = min(0, s.Low)
		}
	case strings.HasSuffix(column, ".max"):
		s.Range = query.Exactly(numbers[len(numbers)-1])
		if s.Unknown > 0 {
			s.High = math.MaxInt64
		}
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
	shows := []string{"packets", "delay", "delay.p50", "delay.p99", "link.p999", "delay.max", "delay.max.p99",
		"packets.p50",
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

// ask scans all hops by switch.
func ask(t *testing.T, s *Store, shape fleetShape, where string) *result.Answer {
	t.Helper()
	a, err := s.Scan(t.Context(), &result.Ask{Kind: "hops", From: shape.from, To: shape.to, Where: where, By: "switch-id",
		Show: "packets,delay.p99,delay.max.p99"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// groupTexts returns the groups of an answer as text.
func groupTexts(a *result.Answer) (lines []string) {
	for _, g := range a.Groups {
		lines = append(lines, fmt.Sprintf("%v %d %+v", g.Keys, g.Rows, g.Totals))
	}
	return lines
}

// Only the files and row groups of the time are read, and only those row groups that may have rows that the filter
// selects.
func TestScanReadsLittle(t *testing.T) {
	shape := tenDays(20_000, 2_000)
	s := open(t, Options{Dir: t.TempDir()})
	generated(t, s, shape, 200)
	for _, c := range []struct {
		from, to           int64
		where              string
		files, read        int
		groups, groupsRead int
	}{
		{shape.from, shape.to, "", 10, 10, 100, 100},
		{shape.from + testDay, shape.from + 2*testDay - 2*testWindow, "", 1, 1, 10, 10},
		{shape.from + testDay + testDay/2, shape.from + testDay + testDay/2 + 1, "", 1, 1, 10, 1},
		{shape.from, shape.to, "packets > 1000k", 10, 0, 100, 0},
		{shape.from, shape.to, "packets > 0", 10, 10, 100, 100},
		{shape.from, shape.to, "time < 2026-03-02T00:00:00Z and hop = 1", 10, 1, 100, 10},
		{shape.to + testDay, shape.to + 2*testDay, "", 0, 0, 0, 0},
	} {
		a, err := s.Scan(t.Context(), &result.Ask{Kind: "hops", From: c.from, To: c.to, Where: c.where})
		if err != nil {
			t.Fatal(err)
		}
		if a.Files != c.files || a.FilesRead != c.read || a.RowGroups != c.groups || a.RowGroupsRead != c.groupsRead {
			t.Errorf("%d to %d, %q: %d of %d files, %d of %d row groups read: want %d of %d, %d of %d", c.from, c.to, c.where,
				a.FilesRead, a.Files, a.RowGroupsRead, a.RowGroups, c.read, c.files, c.groupsRead, c.groups)
		}
	}
}

// A damaged or truncated file is counted as a whole, or left out as a whole and named.
func TestScanOfDamagedFiles(t *testing.T) {
	t.Parallel()
	shape := tenDays(3_000, 1_000)
	s := open(t, Options{Dir: t.TempDir()})
	all := generated(t, s, shape, 300)
	path := filepath.Join(s.dir, "hops", nameOf(all[1]))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	without := groupTexts(ask(t, s, shape, "hop < 2"))
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	with := groupTexts(ask(t, s, shape, "hop < 2"))
	footer := len(whole) - 8 - int(whole[len(whole)-8]) - int(whole[len(whole)-7])<<8
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 150}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		damaged := slices.Clone(whole)
		switch r.IntN(3) {
		case 0:
			damaged = damaged[:r.IntN(len(damaged))]
		case 1:
			damaged[r.IntN(footer)] ^= 1 << r.IntN(8)
		default:
			at := r.IntN(footer - 8)
			for i := range 8 {
				damaged[at+i] = byte(r.Uint32())
			}
		}
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		a := ask(t, s, shape, "hop < 2")
		want := with
		if len(a.Lacks) > 0 {
			want = without
			if !strings.Contains(a.Lacks[0], path) {
				t.Errorf("%q: want that %s is named", a.Lacks, path)
			}
		}
		if got := groupTexts(a); !slices.Equal(got, want) {
			t.Errorf("%d groups with %q: want the groups with the whole file, or without it", len(got), a.Lacks)
		}
	})
}

// FuzzScan reads arbitrary bytes as a file: the answer has its rows or names it, and nothing panics.
func FuzzScan(f *testing.F) {
	shape := tenDays(30, 30)
	dir := f.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	b := shape.make(0)
	if _, err := s.Put(f.Context(), b); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(dir, "hops", nameOf(b))
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		if a := ask(t, s, shape, "hop < 2 and src-ip in 10.0.0.0/8"); len(a.Lacks) == 0 && a.Rows == 0 {
			t.Errorf("no row, and no reason")
		}
	})
}

// If files of the time were removed, the answer describes which messages have none.
func TestScanOfRemovedFiles(t *testing.T) {
	shape := tenDays(8_000, 1_000)
	s := open(t, Options{Dir: t.TempDir()})
	all := generated(t, s, shape, 1_000)
	remove := func(i int) {
		for _, kind := range []string{"hops", "amends"} {
			_ = os.Remove(filepath.Join(s.dir, kind, nameOf(all[i])))
		}
	}
	each := (shape.to - shape.from) / 8
	lacks := func(from, to int64) string {
		a, err := s.Scan(t.Context(), &result.Ask{Kind: "hops", From: from, To: to})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(a.Lacks, "\n")
	}
	if why := lacks(shape.from, shape.to); why != "" {
		t.Errorf("%q: want that nothing is missing", why)
	}
	remove(4) // the third of the first partition
	if why := lacks(shape.from, shape.to); !strings.HasPrefix(why, "partition tailstamp-0 has no files of messages 3 to "+
		"3, between 2026-03-03T12:00:00Z and ") {
		t.Errorf("%q: want the missing message", why)
	}
	if why := lacks(shape.from, shape.from+each); why != "" {
		t.Errorf("%q: want that nothing of the first time is missing", why)
	}
	remove(1)
	remove(7)
	for _, want := range []string{
		"partition tailstamp-1 has no files of messages 1 to 1, before 2026-03-05T23:58:20Z: they were removed, " +
			"or had no rows",
		"partition tailstamp-1 has no files of messages 4 to 4, after 2026-03-07T06:00:00Z: ",
	} {
		if why := lacks(shape.from, shape.to); !strings.Contains(why, want) {
			t.Errorf("%q: want %q", why, want)
		}
	}
}

// Drops of sources that may report the same packets are never added, and unknown values make groups of their own.
func TestScanOfDrops(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	w := result.Window{Start: testBegin, Length: testWindow}
	drop := func(source, port string, queue int, packets int64, flags result.Flags) result.Drop {
		return result.Drop{Window: w, Switch: "leaf1", Port: port, Queue: queue, Reason: "acl", Packets: packets,
			Source: source, Flags: flags, First: testBegin, Last: testBegin}
	}
	put(t, s, &result.Batch{Partition: "drop-0", First: 1, Position: result.Position{Last: 1, Low: 2},
		Drops: []result.Drop{
			drop("ipfix", "Ethernet0", 3, 5, 0), drop("ipfix", "Ethernet0", 3, 6, 0), drop("sflow", "Ethernet0", 3, 7, 0),
			drop("ipfix", "", -1, 8, result.Twice), drop("ipfix", "", -1, 9, 0),
			drop("ipfix", "Ethernet4", result.NoQueue, 4, 0),
		}}, true)
	a, err := s.Scan(t.Context(), &result.Ask{Kind: "drops", From: testBegin, To: testBegin + 1, By: "port,queue"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range a.Groups {
		got = append(got, strings.Join(a.Table.Record(g), " "))
	}
	// columns: port, queue, source, rows, packets from, packets to, rows with unknown packets
	want := []string{"Ethernet0 3 ipfix 2 11 11 0", "Ethernet0 3 sflow 1 7 7 0", "Ethernet4 none ipfix 1 4 4 0",
		"none  ipfix 2 0 17 0"}
	if !slices.Equal(got, want) || a.Flags != result.Twice {
		t.Errorf("%q with flags %v, want %q", got, a.Flags, want)
	}
}

// A packet that was dropped before it was for a queue has none: no number of a queue matches it.
func TestScanOfDropsWithoutQueue(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	var list []result.Drop
	for i, queue := range []int{result.NoQueue, 3} {
		list = append(list, result.Drop{Window: result.Window{Start: testBegin, Length: testWindow}, Switch: "leaf1",
			Queue: queue, Reason: "acl", Packets: int64(1 + i), Source: "ipfix", First: testBegin, Last: testBegin})
	}
	put(t, s, &result.Batch{Partition: "drop-0", First: 1, Position: result.Position{Last: 1, Low: 2}, Drops: list}, true)
	put(t, s, &result.Batch{Partition: "drop-0", First: 2, Position: result.Position{Last: 2, Low: 3}, Drops: list[:1]},
		true)
	for where, want := range map[string]int64{"queue < 9": 1, "queue != 3": 2, "queue is none": 2, "queue is known": 1,
		"queue is unknown": 0, "queue in 0..3": 1, "not (queue = 3)": 2} {
		a, err := s.Scan(t.Context(), &result.Ask{Kind: "drops", From: testBegin, To: testBegin + 1, Where: where})
		if err != nil {
			t.Fatal(err)
		}
		if a.Selected != want || a.Unknown != 0 {
			t.Errorf("%s: %d rows, %d unknown, want %d and none", where, a.Selected, a.Unknown, want)
		}
	}
}

// The time of some packets of a row may be unknown: it may be less or greater than all that are known.
func TestScanOfUntimedPackets(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	spread := result.Distribution{Count: 2, Sum: 40, Min: 10, Max: 30, First: result.Bucket(10),
		Buckets: []uint32{1, 0, 0, 0, 0, 0, 1}}
	hop := result.Hop{Window: result.Window{Start: testBegin, Length: testWindow}, Flow: "f", Path: "p", Index: 1,
		Packets: 2, Resident: spread, Link: spread}
	lacks := hop
	lacks.Packets, lacks.Unknown = 3, 1
	put(t, s, &result.Batch{Partition: "tailstamp-0", First: 1, Position: result.Position{Last: 1, Low: 2},
		Hops: []result.Hop{hop, lacks}}, true)
	ask := func(where, by string) *result.Answer {
		a, err := s.Scan(t.Context(), &result.Ask{Kind: "hops", From: testBegin, To: testBegin + 1, Where: where, By: by,
			Show: "delay.min,delay.max,link.max,delay.p99,link"})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for where, want := range map[string][2]int64{ // selected and unknown rows
		"delay.max > 20ns": {2, 0}, "delay.max < 40ns": {1, 1}, "delay.max = 30ns": {1, 1}, "delay.min > 5ns": {1, 1},
		"delay.min <= 10ns": {2, 0}, "link.max < 40ns": {1, 1}, "delay.min is known": {2, 0},
	} {
		if a := ask(where, ""); a.Selected != want[0] || a.Unknown != want[1] {
			t.Errorf("%s: %d rows, %d unknown, want %v", where, a.Selected, a.Unknown, want)
		}
	}
	want := []query.Sums{
		{Range: query.Range{Low: 0, High: 10}, Known: true, Unknown: 1},
		{Range: query.Range{Low: 30, High: math.MaxInt64}, Known: true, Unknown: 1},
		{Range: query.Range{Low: 30, High: math.MaxInt64}, Known: true, Unknown: 1},
		{Range: query.Range{Low: 28, High: 30}, Known: true, Unknown: 1}, {Range: query.Exactly(20), Known: true, Unknown: 1},
	}
	if got := ask("", "").Groups[0].Totals; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ask("", "delay.max").Groups; len(got) != 2 || got[0].Rows != 1 || got[1].Rows != 1 {
		t.Errorf("%d groups, want one of each row", len(got))
	}
}

// If all files of a partition were removed, its marks show that it had rows.
func TestScanOfRemovedPartition(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	put(t, s, batch("tailstamp-0", 1, 9, testBegin), true)
	put(t, s, batch("tailstamp-0", 10, 12, testBegin), true)
	old := open(t, Options{Dir: s.dir, Age: time.Minute})
	if err := old.tidy(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	const want = "partition tailstamp-0 has no files of messages 1 to 12, before 2026-03-01T00:00:00Z: they were " +
		"removed, or had no rows"
	for from, lacks := range map[int64][]string{testBegin: {want}, testBegin + 1: nil} {
		a, err := s.Scan(t.Context(), &result.Ask{Kind: "hops", From: from, To: testBegin + testDay})
		if err != nil || !slices.Equal(a.Lacks, lacks) {
			t.Errorf("from %d: %+v, %v: want %q", from, a, err, lacks)
		}
		if got, err := s.Lacks(from, testBegin+testDay); err != nil || !slices.Equal(got, lacks) {
			t.Errorf("from %d: %q, %v: want %q", from, got, err, lacks)
		}
	}
}

// A quantile has bounds if there are more numbers than a scan may hold. They contain it, and are at most a 32nd of it
// apart.
func TestCoarseQuantiles(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := &pool{most: r.Int64N(100)}
		var all tally
		var numbers []int64
		for range 1 + r.IntN(5) {
			var part tally
			for range r.IntN(50) {
				n := r.Int64()>>r.IntN(63) - int64(r.IntN(3))
				if r.IntN(4) == 0 {
					n = -n
				}
				numbers = append(numbers, n)
				part.add(n, true)
				if part.coarse == nil {
					p.held.Add(1)
				}
			}
			all.merge(&part, p)
		}
		if len(numbers) == 0 {
			return
		}
		slices.Sort(numbers)
		for _, share := range []int64{500, 900, 990, 999} {
			want := numbers[(int64(len(numbers))*share+999)/1000-1]
			q := all.quantile(share, new([]int64))
			if want < q.Low || want > q.High || all.coarse == nil && !q.Exact() ||
				float64(q.High)-float64(q.Low) > math.Abs(float64(want))/32 {
				t.Errorf("%d of %d numbers: %+v, want %d", share, len(numbers), q, want)
			}
		}
	})
}

// Wrong words of a question are errors that name them.
func TestWrongQuestions(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	for want, a := range map[string]result.Ask{
		`kind "losses" of rows: want hops or drops`: {Kind: "losses"},
		`filter, character 1, "swich-id": hops have no such field: perhaps switch-id?`: {
			Kind: "hops", Where: "swich-id = 1"},
		`groups, character 5, "sw": hops have no such field`: {Kind: "hops", By: "hop,sw"},
		`groups, character 1, "delay.p98": groups of hops have no such field: perhaps delay.p90?`: {
			Kind: "hops", Show: "delay.p98"},
	} {
		if _, err := s.Scan(t.Context(), &a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}
