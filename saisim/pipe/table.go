package pipe

import (
	"cmp"
	"math/bits"
	"slices"
)

// Outcomes of a table in PHV.ran. The number of the action is above them.
const (
	outcomeSkipped = iota
	outcomeMiss
	outcomeHit
	outcomeBits = 2
)

// A table is a compiled table: its entries in one of four forms for lookups.
type table struct {
	name    string
	stage   uint8
	gate    [][]term
	slot    int // index in PHV.ran; -1 if no gate needs it
	tap     uint8
	place   uint8 // place in Looks
	counts  bool
	end     int32   // start of the code after the table's actions
	actions []int32 // start of the code of each action
	ordered bool    // true if some actions use the same register
	uniform bool    // true if it runs its default for all packets, and notes nothing
	parts   []part
	words   int // number of words of the key

	find   finder
	direct []int32 // number of the entry + 1, by index
	list   []row   // a small set of entries, the best first
	tuples []tuple
	rows   []row
	miss   row
	byID   map[uint32]*Counter
}

type finder uint8

const (
	findNothing finder = iota
	findDirect
	findList
	findTuple
)

// A part copies a field into the key.
type part struct {
	from operand
	word uint8
	up   uint8
}

// A row is an entry: key and mask, precedence, and action.
type row struct {
	key, mask []uint64
	rank      uint64 // priority, or length of the prefix
	look      uint64 // the entry's number, in the form for Looks
	pc        int32
	outcome   uint16
	args      []uint64
	counter   *Counter
}

// A tuple holds the entries of one mask, by key.
type tuple struct {
	mask  []uint64
	best  uint64  // highest rank of its entries
	slots []int32 // row number + 1, by hash; the length is a power of two
}

// maxScanned is the maximum number of entries that are searched one by one.
const maxScanned = 8

// addKey appends a field of the given width to the key.
func (t *table) addKey(from operand, width uint8) {
	used := 0
	for _, p := range t.parts {
		if int(p.word) == t.words-1 {
			used = max(used, int(p.up)+bits.Len64(p.from.mask))
		}
	}
	if t.words == 0 || used+int(width) > 64 {
		t.words++
		used = 0
	}
	t.parts = append(t.parts, part{from: from, word: uint8(t.words - 1), up: uint8(used)})
}

// fill sets the table's entries. It takes over the counters of entries that the old table also has. had is the old
// table, nil if there is none.
func (t *table) fill(src *Table, fields map[string]place, had *table) {
	counters := map[uint32]*Counter{}
	t.rows, t.list, t.tuples, t.direct, t.find = nil, nil, nil, nil, findNothing
	counter := func(old *Counter) *Counter {
		if old == nil || !t.counts {
			return new(Counter)
		}
		return old
	}
	var old map[uint32]*Counter
	var miss *Counter
	if had != nil && had.counts {
		old, miss = had.byID, had.miss.counter
	}
	t.miss = t.choose(src, src.Default, outcomeMiss)
	t.miss.counter = counter(miss)
	for i := range src.Entries {
		e := &src.Entries[i]
		r := t.choose(src, e.Choice, outcomeHit)
		r.look, r.rank = uint64(e.ID)|lookHit, uint64(e.Priority)
		if src.Match == "lpm" {
			r.rank = uint64(e.Prefix)
		}
		if t.counts {
			r.counter = counter(old[e.ID])
			counters[e.ID] = r.counter
		}
		t.keyOf(&r, src, e, fields)
		t.rows = append(t.rows, r)
	}
	t.byID = counters
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(-cmp.Compare(a.rank, b.rank), cmp.Compare(a.look, b.look))
	})
	switch {
	case len(t.rows) == 0:
	case src.Match == "index":
		t.find = findDirect
		t.direct = make([]int32, src.Size)
		for i, r := range t.rows {
			t.direct[r.key[0]] = int32(i + 1)
		}
	case len(t.rows) <= maxScanned:
		t.find, t.list = findList, t.rows
	default:
		t.find = findTuple
		t.makeTuples()
	}
}

// choose resolves an action and its arguments.
func (t *table) choose(src *Table, c Choice, outcome uint16) row {
	r := row{pc: t.end, args: c.Args, outcome: outcome}
	if i := slices.IndexFunc(src.Actions, func(a Action) bool { return a.Name == c.Action }); i >= 0 {
		r.pc = t.actions[i]
		r.outcome |= uint16(i+1) << outcomeBits
	}
	return r
}

// keyOf lays out key and mask of an entry, as the parts do with the PHV.
func (t *table) keyOf(r *row, src *Table, e *Entry, fields map[string]place) {
	r.key, r.mask = make([]uint64, t.words), make([]uint64, t.words)
	at := uint32(0)
	for i, p := range t.parts {
		m := p.from.mask
		width := fields[src.Key[i].Field].width
		switch src.Match {
		case "ternary":
			m = e.Key[i].Mask
		case "lpm":
			m = prefixMask(width, at, e.Prefix)
		}
		at += uint32(width)
		r.key[p.word] |= e.Key[i].Value << p.up
		r.mask[p.word] |= m << p.up
	}
}

// makeTuples sorts the rows, the best first, into tuples. If two match the same keys, only the better one is kept.
func (t *table) makeTuples() {
	members := map[string][]int32{}
	var order []string
	for i := range t.rows {
		var b []byte
		for _, w := range t.rows[i].mask {
			for s := 0; s < 64; s += 8 {
				b = append(b, byte(w>>s))
			}
		}
		k := string(b)
		if members[k] == nil {
			order = append(order, k) // tuples are in the order of their best row
		}
		members[k] = append(members[k], int32(i))
	}
	for _, k := range order {
		list := members[k]
		size := 1 << bits.Len(uint(2*len(list)-1))
		tp := tuple{mask: t.rows[list[0]].mask, best: t.rows[list[0]].rank, slots: make([]int32, size)}
		for _, i := range list {
			key := t.rows[i].key
			h := hashWords(key) & uint64(size-1)
			for tp.slots[h] != 0 && !slices.Equal(t.rows[tp.slots[h]-1].key, key) {
				h = (h + 1) & uint64(size-1)
			}
			if tp.slots[h] == 0 {
				tp.slots[h] = i + 1
			}
		}
		t.tuples = append(t.tuples, tp)
	}
}

func hashWords(key []uint64) uint64 {
	h := uint64(len(key))
	for _, w := range key {
		h = mix(h, w)
	}
	return h
}

func mix(h, w uint64) uint64 {
	h = (h ^ w) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// lookup returns the row for the values in the PHV.
func (t *table) lookup(p *PHV, lane uint8) *row {
	if t.find == findNothing {
		return &t.miss
	}
	var key [maxKey]uint64
	for i := range t.parts {
		q := &t.parts[i]
		key[q.word&(maxKey-1)] |= q.from.of(p, lane) << (q.up & 63)
	}
	switch t.find {
	case findDirect:
		if key[0] < uint64(len(t.direct)) {
			if i := t.direct[key[0]]; i != 0 {
				return &t.rows[i-1]
			}
		}
	case findList:
		for i := range t.list {
			if r := &t.list[i]; r.matches(&key) {
				return r
			}
		}
	case findTuple:
		return t.search(&key)
	}
	return &t.miss
}

func (r *row) matches(key *[maxKey]uint64) bool {
	var d uint64
	for i, m := range r.mask {
		d |= key[i&(maxKey-1)]&m ^ r.key[i]
	}
	return d == 0
}

// search looks in each tuple, beginning with the tuples that have the best rows.
func (t *table) search(key *[maxKey]uint64) *row {
	best := &t.miss
	found := int32(0)
	for i := range t.tuples {
		tp := &t.tuples[i]
		if found != 0 && best.rank > tp.best {
			break
		}
		h := uint64(len(tp.mask))
		for j, m := range tp.mask {
			h = mix(h, key[j&(maxKey-1)]&m)
		}
		for {
			h &= uint64(len(tp.slots) - 1)
			n := tp.slots[h]
			if n == 0 {
				break
			}
			if r := &t.rows[n-1]; r.matches(key) {
				if found == 0 || n < found { // rows are sorted: the first is the best
					best, found = r, n
				}
				break
			}
			h++
		}
	}
	return best
}

// Kinds of a term beyond the comparisons.
const (
	termTable  = 16
	termAction = 17
)

// A term is a compiled term of a gate.
type term struct {
	kind   uint8 // kind of comparison, or termTable or termAction
	slot   uint8
	accept uint8 // accepted outcomes, one bit each
	field  operand
	value  uint64 // value to compare with, or number of the action
}

// open returns the packets of a list for which the table runs.
func (t *table) open(p *PHV, list []uint8) (open Set) {
	for _, terms := range t.gate {
		row := ^Set(0)
		for i := range terms {
			row &= terms[i].among(p, list)
		}
		open |= row
	}
	return open
}

// among returns the packets of a list for which the term holds.
func (x *term) among(p *PHV, list []uint8) (set Set) {
	switch x.kind {
	case 0: // the field is equal to the value
		words, shift, mask, value := &p.W[x.field.word], x.field.shift&63, x.field.mask, x.value
		for _, l := range list {
			if l &= Lanes - 1; words[l]>>shift&mask == value {
				set |= 1 << l
			}
		}
	case termTable, termAction:
		for _, l := range list {
			l &= Lanes - 1
			if x.ended(p.ran[x.slot][l]) {
				set |= 1 << l
			}
		}
	default:
		for _, l := range list {
			if l &= Lanes - 1; compare(x.kind, x.field.of(p, l), x.value) {
				set |= 1 << l
			}
		}
	}
	return set
}

// ended reports whether a table has an outcome that the term accepts.
func (x *term) ended(outcome uint16) bool {
	if x.kind == termTable {
		return x.accept>>(outcome&3)&1 != 0
	}
	return uint64(outcome>>outcomeBits) == x.value+1
}

// compare returns the result of a comparison, by number.
func compare(kind uint8, a, b uint64) bool {
	switch kind {
	case 0:
		return a == b
	case 1:
		return a != b
	case 2:
		return a < b
	case 3:
		return a <= b
	case 4:
		return a > b
	}
	return a >= b
}
