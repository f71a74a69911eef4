package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// scanners is the number of goroutines of a scan. There is one scan at a time in a process.
const scanners = 2

// Kinds implements result.Scanner.
func (s *Store) Kinds() (names []string) {
	for _, t := range scanTables {
		names = append(names, t.kind)
	}
	return names
}

// scanTableOf returns the table of a kind of rows, or nil.
func scanTableOf(kind string) *scanTable {
	i := slices.IndexFunc(scanTables, func(t *scanTable) bool { return t.kind == kind })
	if i < 0 {
		return nil
	}
	return scanTables[i]
}

// Words implements result.Scanner.
func (s *Store) Words(kind string) (fields, numbers []string) {
	t := scanTableOf(kind)
	if t == nil {
		return nil, nil
	}
	for i := range t.fields {
		fields = append(fields, t.fields[i].Name)
	}
	for _, m := range t.measures() {
		numbers = append(numbers, m.name)
	}
	return fields, numbers
}

// Complete implements result.Scanner.
func (s *Store) Complete(kind, where string) query.Completion {
	if t := scanTableOf(kind); t != nil {
		return t.table.Complete(where, nil)
	}
	return query.Completion{Candidates: []query.Candidate{}}
}

// A scan is a compiled question, and its answer so far.
type scan struct {
	*result.Ask
	table    *scanTable
	by       []*query.Field[row]
	columns  []int // the columns of by, each once
	parts    []query.Part[row]
	measures []measure
	tallies  []source // what the measures need
	of       []int    // the tally of each measure
	pool     pool

	mu     sync.Mutex
	answer result.Answer
	groups groups
	late   result.Flags // of amendments
	unread result.Unread
}

// A source is the column or the distribution that a tally is of.
type source struct {
	column int
	spread *spread
	keep   bool // the numbers are kept for quantiles
}

// Scan implements result.Scanner. It reads only the files of the time by their names, the row groups that may have rows
// by their statistics, and the columns that the question needs. A file is counted as a whole or, if it cannot be read,
// not at all.
func (s *Store) Scan(ctx context.Context, ask *result.Ask) (*result.Answer, error) {
	x, err := newScan(ask)
	if err != nil {
		return nil, err
	}
	select {
	case s.scanning <- struct{}{}:
		defer func() { <-s.scanning }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all, err := s.list()
	if err != nil {
		return nil, err
	}
	x.answer.Newest = newestOf(all, ask.Kind)
	x.answer.Lacks = s.removed(all, ask.From, ask.To)
	var todo []*files
	for _, f := range all {
		if f.to < ask.From || f.from > ask.To {
			continue
		}
		for _, k := range f.kinds {
			if k.name == ask.Kind || k.name == "amends" {
				todo = append(todo, &files{name: f.name, partition: f.partition, first: f.first, from: f.from, to: f.to,
					kinds: []kind{k}})
			}
		}
	}
	var next atomic.Int64
	var running sync.WaitGroup
	failures := make([]error, scanners)
	for i := range failures {
		running.Go(func() { failures[i] = s.work(ctx, x, todo, &next) })
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return x.finish()
}

// newScan compiles a question.
func newScan(ask *result.Ask) (x *scan, err error) {
	x = &scan{Ask: ask, table: scanTableOf(ask.Kind), pool: pool{most: mostHeld}}
	if x.table == nil {
		var kinds []string
		for _, t := range scanTables {
			kinds = append(kinds, t.kind)
		}
		return nil, fmt.Errorf("kind %.40q of rows: want %s", ask.Kind, strings.Join(kinds, " or "))
	}
	if x.parts, err = x.table.table.Parts(ask.Where); err != nil {
		return nil, err
	}
	g, err := x.table.table.Grouping(ask.By)
	if err != nil {
		return nil, err
	}
	if g != nil {
		x.by = g.By
	}
	for i := range x.table.fields {
		if f := x.table.table.Field(x.table.fields[i].Name); f.Key && !slices.Contains(x.by, f) {
			x.by = append(x.by, f)
		}
	}
	for _, f := range x.by {
		for _, c := range x.table.fieldOf(f).columns() {
			if !slices.Contains(x.columns, c) {
				x.columns = append(x.columns, c)
			}
		}
	}
	if x.measures, err = x.table.shown(ask.Show); err != nil {
		return nil, err
	}
	for _, m := range x.measures {
		i := slices.IndexFunc(x.tallies, func(o source) bool { return o.column == m.column && o.spread == m.spread })
		if i < 0 {
			i = len(x.tallies)
			x.tallies = append(x.tallies, source{column: m.column, spread: m.spread})
		}
		x.tallies[i].keep = x.tallies[i].keep || m.how == quantile
		x.of = append(x.of, i)
	}
	return x, nil
}

// Lacks describes the files of a time that are missing, as far as the store's names and marks show it.
func (s *Store) Lacks(from, to int64) ([]string, error) {
	all, err := s.list()
	if err != nil {
		return nil, err
	}
	return s.removed(all, from, to), nil
}

// newestOf returns the end of the newest row of all files with a kind of rows, by their names.
func newestOf(all []*files, name string) (newest int64) {
	for _, f := range all {
		if slices.ContainsFunc(f.kinds, func(k kind) bool { return k.name == name }) {
			newest = max(newest, f.to)
		}
	}
	return newest
}

// removed describes the files of a time that are missing: messages between those of two files, or in front of the first
// one or behind the last one of a partition, have no files. A partition may also have marks only.
func (s *Store) removed(all []*files, from, to int64) (lacks []string) {
	add := func(partition string, first, last uint64, after, before int64) {
		if after > to || before < from {
			return
		}
		when := "before " + timeText(before)
		switch {
		case before == math.MaxInt64:
			when = "after " + timeText(after)
		case after != math.MinInt64:
			when = "between " + timeText(after) + " and " + timeText(before)
		}
		lacks = append(lacks, fmt.Sprintf("partition %s has no files of messages %d to %d, %s: they were removed, or had no "+
			"rows", partition, first, last, when))
	}
	for i, f := range all {
		if i == 0 || all[i-1].partition != f.partition {
			if f.first > 1 {
				add(f.partition, 1, f.first-1, math.MinInt64, f.to) // files of the oldest batch may be removed already
			}
		} else if before := all[i-1]; f.first > before.last+1 {
			add(f.partition, before.last+1, f.first-1, before.from, f.to)
		}
		if i == len(all)-1 || all[i+1].partition != f.partition {
			if firsts, err := s.firsts(f.partition); err != nil {
				lacks = append(lacks, err.Error())
			} else if n := len(firsts); n > 0 && firsts[n-1] > f.last {
				add(f.partition, f.last+1, firsts[n-1], f.from, math.MaxInt64)
			}
		}
	}
	marked, err := os.ReadDir(filepath.Join(s.dir, marks))
	if err != nil {
		lacks = append(lacks, err.Error())
	}
	for _, e := range marked {
		if slices.ContainsFunc(all, func(f *files) bool { return f.partition == e.Name() }) {
			continue
		}
		if m, err := s.last(e.Name()); err != nil {
			lacks = append(lacks, err.Error())
		} else if m.Position.Last > 0 {
			add(e.Name(), 1, m.Position.Last, math.MinInt64, m.Position.Closed)
		}
	}
	return lacks
}

func timeText(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// work scans files until there are none left.
func (s *Store) work(ctx context.Context, x *scan, todo []*files, next *atomic.Int64) error {
	w := &worker{scan: x, summary: newRow(x.table), at: newRow(x.table)}
	var groups groups
	for {
		i := int(next.Add(1)) - 1
		if i >= len(todo) || ctx.Err() != nil {
			break
		}
		f := todo[i]
		k := f.kinds[0]
		path := filepath.Join(s.dir, k.name, f.name)
		var err error
		if k.name == "amends" {
			err = x.amend(k, path, f)
		} else if err = w.scanFile(ctx, k, path, f); err == nil {
			err = groups.merge(&w.groups, &x.pool)
		}
		switch {
		case err == nil:
		case errors.As(err, new(*query.Error)) || ctx.Err() != nil:
			return err
		case errors.Is(err, fs.ErrNotExist):
			x.lack(fmt.Sprintf("%s was removed while the store was read", path))
		default:
			x.mu.Lock()
			x.unread.Add(err)
			x.mu.Unlock()
			s.looks.failed(path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	count(&x.answer, &w.total)
	return x.groups.merge(&groups, &x.pool)
}

func (x *scan) lack(why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answer.Lacks = append(x.answer.Lacks, why)
}

// count adds the counts and flags of other files.
func count(a, b *result.Answer) {
	a.Rows, a.Selected, a.Unknown = a.Rows+b.Rows, a.Selected+b.Selected, a.Unknown+b.Unknown
	a.Files, a.FilesRead, a.BytesRead = a.Files+b.Files, a.FilesRead+b.FilesRead, a.BytesRead+b.BytesRead
	a.RowGroups, a.RowGroupsRead = a.RowGroups+b.RowGroups, a.RowGroupsRead+b.RowGroupsRead
	a.Flags |= b.Flags
}

// amend adds the flags of a batch's amendments that concern the question.
func (x *scan) amend(k kind, path string, f *files) error {
	b := &result.Batch{Partition: f.partition, First: f.first}
	if err := k.read(path, b); err != nil {
		return err
	}
	name, _, _ := strings.Cut(f.partition, "-")
	other := true // a partition of unknown kind
	for kind := result.Stamps; kind < result.Kinds; kind++ {
		other = other && kind.String() != name
	}
	if !other && !slices.ContainsFunc(x.table.amends, func(k result.Kind) bool { return k.String() == name }) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range b.Amends {
		if a.From <= x.To && a.To >= x.From {
			x.late |= a.Flags
		}
	}
	return nil
}

// finish returns the answer: groups by the fields, from those by the columns.
func (x *scan) finish() (*result.Answer, error) {
	a := &x.answer
	a.Flags |= x.late
	if err := x.unread.Err(); err != nil {
		a.Lacks = append(a.Lacks, err.Error())
	}
	totals := make([]*query.Field[row], len(x.measures))
	for i, m := range x.measures {
		totals[i] = &query.Field[row]{Name: m.name, Help: m.help, Kind: m.kind}
	}
	a.Table = (&query.Grouping[row]{By: x.by, Totals: totals}).Table()
	a.Keys = len(x.by)
	type final struct {
		keys []query.Cell
		group
	}
	byKey := map[string]*final{}
	at := newRow(x.table)
	for _, g := range x.groups.list {
		for i, c := range x.columns {
			at.set(c, g.key[i])
		}
		keys := make([]query.Cell, len(x.by))
		for i, f := range x.by {
			keys[i] = f.Cell(at)
		}
		name := keyOf(keys)
		of := byKey[name]
		if of == nil {
			byKey[name] = &final{keys, *g}
			continue
		}
		of.add(g, &x.pool)
	}
	var scratch []int64
	for _, f := range byKey {
		g := &query.Group{Keys: f.keys, Rows: f.rows, Totals: make([]query.Sums, len(x.measures))}
		for i := range x.measures {
			g.Totals[i] = f.tallies[x.of[i]].sums(&x.measures[i], f.flags|x.late, &scratch)
		}
		a.Groups = append(a.Groups, g)
	}
	var names []string
	for _, f := range x.by {
		names = append(names, f.Name)
	}
	order, err := a.Table.Order(strings.Join(names, ","))
	if err == nil && order != nil {
		slices.SortFunc(a.Groups, func(p, q *query.Group) int { return order(p, q) })
	}
	return a, err
}
