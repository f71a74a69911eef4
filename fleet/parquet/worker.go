package parquet

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A group is rows with equal values of the columns of a grouping.
type group struct {
	name    string // differs from that of each other group
	key     []entry
	rows    int64
	flags   result.Flags
	tallies []tally
}

// add adds the rows of another group.
func (g *group) add(o *group, p *pool) {
	g.rows, g.flags = g.rows+o.rows, g.flags|o.flags
	for i := range g.tallies {
		g.tallies[i].merge(&o.tallies[i], p)
	}
}

// groups is a set of groups.
type groups struct {
	list   []*group
	byName map[string]*group
}

// mostGroups bounds the groups of a scan.
const mostGroups = 1 << 16

// put adds a group that is new.
func (s *groups) put(g *group) error {
	if len(s.list) == mostGroups {
		return &query.Error{Of: "groups", Column: 1, Word: "", Want: fmt.Sprintf(
			"rows have more than %d different values: want fields with fewer, or a filter that selects fewer", mostGroups)}
	}
	if s.byName == nil {
		s.byName = map[string]*group{}
	}
	s.list, s.byName[g.name] = append(s.list, g), g
	return nil
}

// merge adds other groups, which may not be used afterwards.
func (s *groups) merge(o *groups, p *pool) error {
	for _, g := range o.list {
		if of := s.byName[g.name]; of != nil {
			of.add(g, p)
		} else if err := s.put(g); err != nil {
			return err
		}
	}
	return nil
}

// rowsOfChunk is the number of rows that are read together.
const rowsOfChunk = 1 << 13

// A worker scans files, one after the other.
type worker struct {
	*scan
	words   words
	summary *row // bounds of a row group
	at      *row

	total  result.Answer // counts of all files
	now    result.Answer // counts of the file
	groups groups        // groups of the file

	// the row group
	file    *parquet.File
	chunks  []parquet.ColumnChunk
	meta    *format.RowGroup
	rows    int64
	numbers []*cursor // by column; nil if the column is not read
	codes   []*cursor
	memos   [][]uint8 // by part, the outcome of each code, plus one; 0 if it is not decided yet
	byCodes []*group  // by the codes of all columns of the grouping; nil if there are too many
	radix   []int

	// the chunk
	verdicts []query.Verdict
	selected []int
	of       []*group // the group of each selected row
}

// scanFile scans a file. It sets the counts and groups of the file if there is no error.
func (w *worker) scanFile(ctx context.Context, k kind, path string, f *files) error {
	w.now, w.groups = result.Answer{Files: 1}, groups{}
	err := k.open(path, &result.Batch{Partition: f.partition, First: f.first}, func(file *parquet.File) error {
		w.file = file
		for i, g := range file.RowGroups() {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.chunks, w.meta, w.rows = g.ColumnChunks(), &file.Metadata().RowGroups[i], g.NumRows()
			if err := w.rowGroup(f); err != nil {
				return fmt.Errorf("%s: row group %d: %w", path, i, err)
			}
		}
		return nil
	})
	w.close()
	if err != nil {
		for _, g := range w.groups.list {
			for i := range g.tallies {
				for _, list := range g.tallies[i].values {
					w.pool.held.Add(-int64(len(list)))
				}
			}
		}
		return err
	}
	w.now.FilesRead = min(1, w.now.RowGroupsRead)
	count(&w.total, &w.now)
	return nil
}

// cursor returns the cursor of a column.
func (w *worker) cursor(list []*cursor, column int) *cursor {
	if list[column] == nil {
		name := w.table.columns[column]
		leaf, _ := w.file.Schema().Lookup(strings.Split(name, ".")...)
		list[column] = newCursor(name, leaf, w.chunks[leaf.ColumnIndex], &w.meta.Columns[leaf.ColumnIndex].MetaData, w.rows)
	}
	return list[column]
}

func (w *worker) number(column int) *cursor { return w.cursor(w.numbers, column) }
func (w *worker) code(column int) *cursor   { return w.cursor(w.codes, column) }

// close ends the reading of a row group.
func (w *worker) close() {
	for _, list := range [][]*cursor{w.numbers, w.codes} {
		for _, c := range list {
			if c != nil && c.pages != nil {
				w.now.BytesRead += c.size
				c.close()
			}
		}
	}
	n := len(w.table.columns)
	w.numbers, w.codes = make([]*cursor, n), make([]*cursor, n)
	w.byCodes, w.radix, w.memos = nil, nil, make([][]uint8, len(w.parts))
}

// rowGroup scans a row group.
func (w *worker) rowGroup(f *files) error {
	w.close()
	defer w.close()
	w.now.RowGroups++
	inside, outside, err := w.inTime(f)
	if err != nil || outside {
		return err
	}
	parts, none := w.undecided()
	if none && inside {
		w.now.Rows += w.rows
		return nil
	}
	w.now.RowGroupsRead++
	for start := int64(0); start < w.rows; start += rowsOfChunk {
		n := int(min(rowsOfChunk, w.rows-start))
		w.verdicts = w.verdicts[:0]
		for range n {
			w.verdicts = append(w.verdicts, query.Yes)
		}
		w.now.Rows += int64(n)
		if !inside {
			if err := w.leaveOut(start, n); err != nil {
				return err
			}
		}
		for i := range w.parts {
			if none || !parts[i] {
				continue
			}
			if err := w.filter(i, start, n); err != nil {
				return err
			}
		}
		w.selected = w.selected[:0]
		for i, v := range w.verdicts {
			switch v {
			case query.Yes:
				w.selected = append(w.selected, i)
			case query.Unknown:
				w.now.Unknown++
			}
		}
		if none || len(w.selected) == 0 {
			continue
		}
		w.now.Selected += int64(len(w.selected))
		if err := w.collect(start, n); err != nil {
			return err
		}
	}
	return w.whole()
}

// whole returns an error if a column that was read to its end has other rows than the row group.
func (w *worker) whole() error {
	for _, list := range [][]*cursor{w.numbers, w.codes} {
		for _, c := range list {
			if c == nil || c.pages == nil || c.done < c.rows {
				continue
			}
			if err := c.used(); err != nil {
				return err
			}
			if c.at < c.levels() {
				return fmt.Errorf("column %s has more than %d rows", c.name, c.rows)
			}
		}
	}
	return nil
}

// stats returns the bounds of a column in the row group.
func (w *worker) stats(column int) (low, high int64, ok bool) {
	c := w.number(column)
	return c.bounds(&w.meta.Columns[c.leaf.ColumnIndex].MetaData.Statistics)
}

// inTime reports whether the statistics decide that all rows are in the time, or none.
func (w *worker) inTime(f *files) (inside, outside bool, err error) {
	for i := range w.table.columns {
		c := w.number(i)
		if n := w.meta.Columns[c.leaf.ColumnIndex].MetaData.NumValues; c.leaf.MaxRepetitionLevel == 0 && n != w.rows {
			return false, false, fmt.Errorf("column %s has %d values: want %d, as there are rows", c.name, n, w.rows)
		}
	}
	low, high, ok := w.stats(startColumn)
	least, most, fine := w.stats(lengthColumn)
	if !ok || !fine {
		return false, false, nil
	}
	if low < f.from || high+most > f.to || least < 0 {
		return false, false, fmt.Errorf("by its statistics it has windows from %d to %d: want those of the file's name, "+
			"%d to %d", low, high+most, f.from, f.to)
	}
	return low+least >= w.From && high <= w.To, high+most < w.From || low > w.To, nil
}

// undecided returns the parts of the filter that the statistics do not decide. none is true if no row meets a part.
func (w *worker) undecided() (parts []bool, none bool) {
	parts = make([]bool, len(w.parts))
	for i := range w.parts {
		p := &w.parts[i]
		clean := true
		for _, f := range p.Fields {
			of := w.table.fieldOf(f)
			for _, c := range of.columns() {
				low, high, ok := w.stats(c)
				ok = ok && (low >= 0 || !of.none) // otherwise some rows may have no value
				w.summary.numbers[c], w.summary.known[c] = query.Range{Low: low, High: high}, ok
				clean = clean && ok
			}
		}
		v := query.Unknown
		if clean {
			v = p.Match(w.summary)
		}
		parts[i], none = v == query.Unknown, none || v == query.No
	}
	return parts, none
}

// leaveOut leaves out the rows of a chunk that are not in the time.
func (w *worker) leaveOut(start int64, n int) error {
	begins, lengths := w.number(startColumn), w.number(lengthColumn)
	if err := begins.counted(start, n); err != nil {
		return err
	}
	if err := lengths.counted(start, n); err != nil {
		return err
	}
	low, high, known := w.stats(startColumn)
	for i, at := range begins.numbers {
		if known && (at < low || at > high) {
			return fmt.Errorf("column %s has %d: want %d to %d, as its statistics", begins.name, at, low, high)
		}
		if at+lengths.numbers[i] < w.From || at > w.To {
			w.verdicts[i] = query.No
			w.now.Rows--
		}
	}
	return nil
}

// filter applies a part of the filter to the rows of a chunk that are still selected.
func (w *worker) filter(part int, start int64, n int) error {
	if !slices.ContainsFunc(w.verdicts, func(v query.Verdict) bool { return v != query.No }) {
		return nil
	}
	p := &w.parts[part]
	var coded, plain []int
	var columns []int
	for _, f := range p.Fields {
		columns = append(columns, w.table.fieldOf(f).columns()...)
	}
	for _, column := range columns {
		c, list := w.number(column), &plain
		if c.text || slices.Contains(w.meta.Columns[c.leaf.ColumnIndex].MetaData.Encoding, format.RLEDictionary) {
			c, list = w.code(column), &coded
		}
		var err error
		switch {
		case slices.Contains(*list, column):
			continue
		case list == &coded:
			err = c.coded(start, n, &w.words)
		default:
			err = c.counted(start, n)
		}
		if err != nil {
			return err
		}
		*list = append(*list, column)
	}
	if len(plain) == 0 && len(coded) == 1 {
		w.filterCodes(part, coded[0])
		return nil
	}
	for i, v := range w.verdicts {
		if v == query.No {
			continue
		}
		for _, column := range coded {
			c := w.codes[column]
			w.at.set(column, c.entries[c.codes[i]])
		}
		for _, column := range plain {
			c := w.numbers[column]
			w.at.numbers[column], w.at.known[column] = query.Exactly(c.numbers[i]), !c.isNull(i)
		}
		w.verdicts[i] = min(v, p.Match(w.at))
	}
	return nil
}

// filterCodes applies a part that compares one column: once to each entry of its dictionary.
func (w *worker) filterCodes(part, column int) {
	c, memo := w.codes[column], w.memos[part]
	for len(memo) < len(c.entries) {
		memo = append(memo, 0)
	}
	w.memos[part] = memo
	for i, code := range c.codes {
		if memo[code] == 0 {
			w.at.set(column, c.entries[code])
			memo[code] = 1 + uint8(w.parts[part].Match(w.at))
		}
		w.verdicts[i] = min(w.verdicts[i], query.Verdict(memo[code]-1))
	}
}

// collect adds the selected rows of a chunk to their groups.
func (w *worker) collect(start int64, n int) error {
	for _, column := range w.columns {
		if err := w.code(column).coded(start, n, &w.words); err != nil {
			return err
		}
	}
	if err := w.assign(); err != nil {
		return err
	}
	if _, most, ok := w.stats(flagsColumn); !ok || most != 0 {
		c := w.number(flagsColumn)
		if err := c.counted(start, n); err != nil {
			return err
		}
		for k, i := range w.selected {
			f := result.Flags(c.numbers[i])
			w.of[k].flags |= f
			w.now.Flags |= f
		}
	}
	for _, g := range w.of {
		g.rows++
	}
	for i := range w.tallies {
		read := w.addNumbers
		if w.tallies[i].spread != nil {
			read = w.addSpreads
		}
		if err := read(i, start, n); err != nil {
			return err
		}
	}
	return nil
}

// mostTable bounds the table of groups by codes.
const mostTable = 1 << 20

// assign finds the group of each selected row.
func (w *worker) assign() error {
	w.of = w.of[:0]
	size, grown := 1, w.byCodes == nil
	for i, column := range w.columns {
		entries := len(w.codes[column].entries)
		if i >= len(w.radix) {
			w.radix = append(w.radix, entries)
		}
		grown = grown || entries > w.radix[i]
		w.radix[i] = max(w.radix[i], entries)
		size = min(size*w.radix[i], mostTable+1)
	}
	if size > mostTable {
		w.byCodes = nil
	} else if grown {
		w.byCodes = make([]*group, size)
	}
	for _, i := range w.selected {
		at := 0
		for k, column := range w.columns {
			at = at*w.radix[k] + int(w.codes[column].codes[i])
		}
		if w.byCodes != nil && w.byCodes[at] != nil {
			w.of = append(w.of, w.byCodes[at])
			continue
		}
		g, err := w.groupOf(i)
		if err != nil {
			return err
		}
		if w.of = append(w.of, g); w.byCodes != nil {
			w.byCodes[at] = g
		}
	}
	return nil
}

// groupOf returns the group of a row, by its values.
func (w *worker) groupOf(i int) (*group, error) {
	var name []byte
	for _, column := range w.columns {
		c := w.codes[column]
		e := &c.entries[c.codes[i]]
		switch {
		case e.word != nil:
			name = append(binary.AppendUvarint(name, uint64(len(e.word.text))), e.word.text...)
		case e.known:
			name = binary.LittleEndian.AppendUint64(append(name, 1), uint64(e.number))
		default:
			name = append(name, 0)
		}
	}
	if g := w.groups.byName[string(name)]; g != nil {
		return g, nil
	}
	g := &group{name: string(name), tallies: make([]tally, len(w.tallies))}
	for _, column := range w.columns {
		c := w.codes[column]
		g.key = append(g.key, c.entries[c.codes[i]])
	}
	return g, w.groups.put(g)
}

// addNumbers adds the numbers of the selected rows to a tally of their groups.
func (w *worker) addNumbers(tally int, start int64, n int) error {
	of := &w.tallies[tally]
	c := w.number(of.column)
	if err := c.counted(start, n); err != nil {
		return err
	}
	lacks, err := w.lacks(w.table.spreadOf(of.column), start, n)
	if err != nil {
		return err
	}
	if of.keep && w.pool.full() {
		for _, g := range w.groups.list {
			g.tallies[tally].coarsen(&w.pool)
		}
	}
	held := int64(0)
	for k, i := range w.selected {
		t := &w.of[k].tallies[tally]
		if c.isNull(i) {
			t.unknown++
			continue
		}
		if t.add(c.numbers[i], of.keep); lacks(i) {
			t.unknown++
		}
		if of.keep && t.coarse == nil {
			held++
		}
	}
	w.pool.held.Add(held)
	return nil
}

// lacks returns a function that reports whether the distribution of a row of a chunk lacks some of its packets.
func (w *worker) lacks(s *spread, start int64, n int) (func(i int) bool, error) {
	if s == nil {
		return func(int) bool { return false }, nil
	}
	has, all := w.number(s.count), w.number(s.packets)
	for _, c := range []*cursor{has, all} {
		if err := c.counted(start, n); err != nil {
			return nil, err
		}
	}
	return func(i int) bool { return has.numbers[i] < all.numbers[i] }, nil
}

// addSpreads adds the distributions of the selected rows to a tally of their groups.
func (w *worker) addSpreads(tally int, start int64, n int) error {
	s := w.tallies[tally].spread
	count, total := w.number(s.count), w.number(s.sum)
	least, most, buckets := w.number(s.least), w.number(s.most), w.number(s.buckets)
	for _, c := range []*cursor{count, total, least, most} {
		if err := c.counted(start, n); err != nil {
			return err
		}
	}
	if err := buckets.listed(start, n); err != nil {
		return err
	}
	lacks, err := w.lacks(s, start, n)
	if err != nil {
		return err
	}
	for k, i := range w.selected {
		t := &w.of[k].tallies[tally]
		if least.isNull(i) || total.isNull(i) || most.isNull(i) {
			t.unknown++
			continue
		}
		if lacks(i) {
			t.unknown++
		}
		t.addSpread(count.numbers[i], total.numbers[i], least.numbers[i], most.numbers[i], buckets.list(i))
	}
	return nil
}

// keyOf returns a text of cells that differs from that of all other cells.
func keyOf(cells []query.Cell) string {
	var name []byte
	for i := range cells {
		c := &cells[i]
		name = append(name, byte(len(c.Texts)), byte(len(c.Numbers)))
		if c.Whole {
			name = append(name, 'w')
		}
		for _, t := range c.Texts {
			name = append(binary.AppendUvarint(name, uint64(len(t))), t...)
		}
		for _, n := range c.Numbers {
			name = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(name, uint64(n.Low)), uint64(n.High))
		}
	}
	return string(name)
}
