package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// An entry is a value in the dictionary of a column.
type entry struct {
	word   *word // of a text
	number int64
	known  bool // a number that is not null
}

// A cursor reads a column of a row group from its begin to its end, in chunks of rows that all columns share.
type cursor struct {
	name string
	leaf parquet.LeafColumn
	from parquet.ColumnChunk
	rows int64 // number of rows of the row group
	size int64 // compressed

	pages parquet.Pages
	page  parquet.Page
	done  int64 // rows that were read or skipped
	at    int   // levels of the page that were read, or its values if it has no levels
	value int   // values of the page that were read
	ready int64 // the chunk that is in the fields below begins at this row; -1 if none is

	text, unsigned bool
	short          bool // numbers have four bytes

	// the chunk, as codes in a dictionary
	codes   []uint32
	entries []entry
	local   []uint32 // code of each entry of the file's dictionary
	byText  map[string]uint32
	byInt   map[entry]uint32

	// the chunk, as numbers; valid is empty if none can be null
	numbers []int64
	valid   []bool
	decoded []int64 // all numbers of the page, once decoded
	scratch []int64

	// the chunk, as lists: the list of row i begins with counts[begins[i]]
	counts []uint32
	begins []int
}

func newCursor(name string, leaf parquet.LeafColumn, from parquet.ColumnChunk, meta *format.ColumnMetaData, rows int64,
) *cursor {
	c := &cursor{name: name, leaf: leaf, from: from, rows: rows, size: meta.TotalCompressedSize, ready: -1}
	t := leaf.Node.Type()
	c.text = t.Kind() == parquet.ByteArray
	c.short = t.Kind() == parquet.Int32
	if l := t.LogicalType(); l != nil {
		whole, is := l.Value.(*format.IntType)
		c.unsigned = is && !whole.IsSigned
	}
	return c
}

// bounds returns the least and greatest number of the row group by the file's statistics. It returns false if a number
// is null, or if there are no statistics.
func (c *cursor) bounds(s *format.Statistics) (low, high int64, ok bool) {
	number := func(b []byte) (int64, bool) {
		switch {
		case c.text:
			return 0, false
		case c.short && len(b) == 4 && c.unsigned:
			return int64(binary.LittleEndian.Uint32(b)), true
		case c.short && len(b) == 4:
			return int64(int32(binary.LittleEndian.Uint32(b))), true
		case !c.short && len(b) == 8:
			return int64(binary.LittleEndian.Uint64(b)), true
		}
		return 0, false
	}
	low, fine := number(s.MinValue)
	high, ok = number(s.MaxValue)
	return low, high, ok && fine && low <= high && s.NullCount == 0 && c.leaf.MaxRepetitionLevel == 0
}

func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	if c.pages != nil {
		c.pages.Close()
	}
}

// levels returns the number of levels of the page, which is that of its values if it has no levels.
func (c *cursor) levels() int {
	if c.page == nil {
		return 0
	}
	return int(c.page.NumValues())
}

// next reads the next page that has values.
func (c *cursor) next() error {
	if c.pages == nil {
		c.pages = c.from.Pages()
	}
	for {
		if err := c.used(); err != nil {
			return err
		}
		if c.page != nil {
			parquet.Release(c.page)
			c.page = nil
		}
		page, err := c.pages.ReadPage()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("column %s: %d of %d rows can be read: %w", c.name, c.done, c.rows, err)
		}
		c.page, c.at, c.value, c.decoded = page, 0, 0, nil
		if c.levels() > 0 {
			return nil
		}
	}
}

// used returns an error if a page that was read to its end has more or fewer values than its levels announce.
func (c *cursor) used() error {
	if c.page == nil || c.at < c.levels() {
		return nil
	}
	if n := int(c.page.NumValues() - c.page.NumNulls()); c.value != n {
		return fmt.Errorf("column %s: a page has %d values: want %d", c.name, n, c.value)
	}
	return nil
}

// each calls take with parts of pages that hold the rows of a chunk, after those before it. from and to are levels.
func (c *cursor) each(start int64, n int, take func(page parquet.Page, from, to int)) error {
	for c.done < start {
		if c.at == c.levels() {
			if err := c.next(); err != nil {
				return err
			}
		}
		some := int(min(start-c.done, int64(c.levels()-c.at)))
		c.skip(some)
	}
	for n > 0 {
		if c.at == c.levels() {
			if err := c.next(); err != nil {
				return err
			}
		}
		some := min(n, c.levels()-c.at)
		take(c.page, c.at, c.at+some)
		c.at, n, c.done = c.at+some, n-some, c.done+int64(some)
	}
	return nil
}

// skip skips rows of a column without lists.
func (c *cursor) skip(n int) {
	if c.leaf.MaxDefinitionLevel == 0 {
		c.value += n
	} else {
		for _, d := range c.page.DefinitionLevels()[c.at : c.at+n] {
			if int(d) == c.leaf.MaxDefinitionLevel {
				c.value++
			}
		}
	}
	c.at, c.done = c.at+n, c.done+int64(n)
}

// read prepares a chunk that begins at a row. It returns false if it is prepared already.
func (c *cursor) read(start int64) bool {
	if c.ready == start {
		return false
	}
	c.ready = start
	c.codes, c.numbers, c.valid, c.counts, c.begins = c.codes[:0], c.numbers[:0], c.valid[:0], c.counts[:0], c.begins[:0]
	return true
}

// coded reads a chunk as codes in the dictionary entries, which grows.
func (c *cursor) coded(start int64, n int, words *words) error {
	if !c.read(start) {
		return nil
	}
	return c.each(start, n, func(page parquet.Page, from, to int) {
		if d := page.Dictionary(); d != nil && c.leaf.MaxDefinitionLevel == 0 { // the usual case
			c.learn(d, words)
			data := page.Data()
			for _, i := range data.Int32()[c.value : c.value+to-from] {
				c.codes = append(c.codes, c.local[i])
			}
			c.value += to - from
			return
		}
		code := c.coder(page, words)
		levels := page.DefinitionLevels()
		for i := from; i < to; i++ {
			if c.leaf.MaxDefinitionLevel > 0 && int(levels[i]) != c.leaf.MaxDefinitionLevel {
				c.codes = append(c.codes, c.intern(entry{}))
				continue
			}
			c.codes = append(c.codes, code(c.value))
			c.value++
		}
	})
}

// coder returns a function for the code of the i-th value of a page.
func (c *cursor) coder(page parquet.Page, words *words) func(i int) uint32 {
	if page.Dictionary() != nil {
		c.learn(page.Dictionary(), words)
		list, local := page.Data(), c.local
		indexes := list.Int32()
		return func(i int) uint32 { return local[indexes[i]] }
	}
	if c.text {
		list := page.Data()
		data, offsets := list.ByteArray()
		return func(i int) uint32 { return c.internText(data[offsets[i]:offsets[i+1]], words) }
	}
	number := c.int(page)
	return func(i int) uint32 { return c.intern(entry{number: number(i), known: true}) }
}

// learn adds the entries of the file's dictionary.
func (c *cursor) learn(d parquet.Dictionary, words *words) {
	if c.local != nil {
		return
	}
	c.local = make([]uint32, 0, d.Len())
	page := d.Page()
	if c.text {
		list := page.Data()
		data, offsets := list.ByteArray()
		for i := range d.Len() {
			c.local = append(c.local, c.internText(data[offsets[i]:offsets[i+1]], words))
		}
		return
	}
	number := c.int(page)
	for i := range d.Len() {
		c.local = append(c.local, c.intern(entry{number: number(i), known: true}))
	}
}

// intern returns the code of a number, or of null.
func (c *cursor) intern(e entry) uint32 {
	if code, ok := c.byInt[e]; ok {
		return code
	}
	if c.byInt == nil {
		c.byInt = map[entry]uint32{}
	}
	code := uint32(len(c.entries))
	c.byInt[e], c.entries = code, append(c.entries, e)
	return code
}

func (c *cursor) internText(text []byte, words *words) uint32 {
	if code, ok := c.byText[string(text)]; ok {
		return code
	}
	if c.byText == nil {
		c.byText = map[string]uint32{}
	}
	w := words.of(text)
	code := uint32(len(c.entries))
	c.byText[w.text], c.entries = code, append(c.entries, entry{word: w})
	return code
}

// words holds the words of a worker, since row groups have the same.
type words struct{ by map[string]*word }

// mostWords bounds the words that a worker keeps from one row group to the next.
const mostWords = 1 << 18

func (w *words) of(text []byte) *word {
	if known := w.by[string(text)]; known != nil {
		return known
	}
	if w.by == nil || len(w.by) >= mostWords {
		w.by = map[string]*word{}
	}
	x := &word{text: string(text)}
	w.by[x.text] = x
	return x
}

// counted reads a chunk as numbers.
func (c *cursor) counted(start int64, n int) error {
	if !c.read(start) {
		return nil
	}
	return c.each(start, n, func(page parquet.Page, from, to int) {
		values := c.decode(page)[c.value:]
		if c.leaf.MaxDefinitionLevel == 0 {
			c.numbers = append(c.numbers, values[:to-from]...)
			c.value += to - from
			return
		}
		for _, level := range page.DefinitionLevels()[from:to] {
			v, is := int64(0), int(level) == c.leaf.MaxDefinitionLevel
			if is {
				v, values = values[0], values[1:]
				c.value++
			}
			c.numbers, c.valid = append(c.numbers, v), append(c.valid, is)
		}
	})
}

// isNull reports whether the i-th number of the chunk is null.
func (c *cursor) isNull(i int) bool { return len(c.valid) > 0 && !c.valid[i] }

// decode returns all numbers of the present page.
func (c *cursor) decode(page parquet.Page) []int64 {
	if c.decoded != nil {
		return c.decoded
	}
	data := page.Data()
	if d := page.Dictionary(); d != nil {
		c.learn(d, nil)
		for _, i := range data.Int32() {
			c.scratch = append(c.scratch, c.entries[c.local[i]].number)
		}
		c.decoded = c.scratch
	} else if !c.short {
		c.decoded = data.Int64()
	} else {
		number := c.int(page)
		for i := range int(page.NumValues() - page.NumNulls()) {
			c.scratch = append(c.scratch, number(i))
		}
		c.decoded = c.scratch
	}
	c.scratch = c.scratch[:0]
	return c.decoded
}

// listed reads a chunk of lists of counts. A row goes on until the next one begins, perhaps in the next page.
func (c *cursor) listed(start int64, n int) error {
	if !c.read(start) {
		return nil
	}
	for end := start + int64(n); ; {
		if c.at == c.levels() {
			if c.done == end && end == c.rows {
				return nil
			}
			if err := c.next(); err != nil {
				return err
			}
		}
		data := c.page.Data()
		values, begins, levels := data.Uint32(), c.page.RepetitionLevels(), c.page.DefinitionLevels()
		for ; c.at < len(levels); c.at++ {
			if begins[c.at] == 0 {
				if c.done == end {
					return nil
				}
				if c.done++; c.done > start {
					c.begins = append(c.begins, len(c.counts))
				}
			}
			if int(levels[c.at]) == c.leaf.MaxDefinitionLevel {
				if c.done > start {
					c.counts = append(c.counts, values[c.value])
				}
				c.value++
			}
		}
	}
}

// list returns the i-th list of the chunk.
func (c *cursor) list(i int) []uint32 {
	if i+1 < len(c.begins) {
		return c.counts[c.begins[i]:c.begins[i+1]]
	}
	return c.counts[c.begins[i]:]
}

// int returns a function for the i-th number of a page without dictionary.
func (c *cursor) int(page parquet.Page) func(i int) int64 {
	data := page.Data()
	switch {
	case !c.short:
		list := data.Int64()
		return func(i int) int64 { return list[i] }
	case c.unsigned:
		list := data.Uint32()
		return func(i int) int64 { return int64(list[i]) }
	}
	list := data.Int32()
	return func(i int) int64 { return int64(list[i]) }
}
