package interp

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tamtam/saisim/p4"
)

// An Entry is an entry of a table. Its fields are read only.
type Entry struct {
	Handle   uint32
	Match    []p4.Match
	Given    []p4.Match // Match as it was given, with bits outside masks and prefixes
	Priority int        // the lowest number wins
	Result   Result
	Count    Count // of a direct counter

	meter    *meter
	timeout  uint64 // in cycles; 0 for none
	used     uint64 // cycle of the last hit, or of the addition
	notified bool
}

// A Result is what an entry, or a default, selects: an action, or a member or group of an action profile.
type Result struct {
	Call   *p4.ActionCall
	Member int // -1 unless Kind is "member"
	Group  int // -1 unless Kind is "group"
}

// Action returns the result that runs an action.
func Action(a *p4.Action, data ...*big.Int) Result {
	return Result{Call: &p4.ActionCall{Action: a, Data: data}, Member: -1, Group: -1}
}

// Member returns the result that selects a member of the table's action profile.
func Member(handle int) Result { return Result{Member: handle, Group: -1} }

// Group returns the result that selects a group of the table's action profile.
func Group(handle int) Result { return Result{Member: -1, Group: handle} }

// A Count is the value of a counter.
type Count struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// A table is the state of a table.
type table struct {
	*p4.Table
	slots    []*Entry // by the low 24 bits of the handle; nil if free
	versions []uint8  // of the next handle of each slot
	free     int      // no slot before it is free
	count    int
	exact    map[string]*Entry         // of exact tables
	prefixes map[int]map[string]*Entry // of lpm tables, by length
	lengths  []int                     // of prefixes, longest first
	ordered  []*Entry                  // of ternary and range tables, in the order of their precedence
	fallback *Result
	timed    bool // some entry has a timeout
}

const (
	slotBits = 24
	slotMask = 1<<slotBits - 1
)

func newTable(t *p4.Table) (*table, error) {
	s := &table{Table: t, exact: map[string]*Entry{}, prefixes: map[int]map[string]*Entry{}}
	s.reset()
	for _, e := range t.Entries {
		call := e.Call
		if _, err := s.add(e.Match, Result{&call, -1, -1}, e.Priority, 0); err != nil {
			return nil, fmt.Errorf("entries of the program: %w", err)
		}
	}
	return s, nil
}

// reset makes the program's default the default.
func (t *table) reset() {
	t.fallback = nil
	if t.Default != nil {
		t.fallback = &Result{t.Default, -1, -1}
	}
}

// matchError returns an error if the values do not fit the table's key, and the values with the bits outside their
// masks cleared.
func (t *table) matchError(match []p4.Match) ([]p4.Match, error) {
	if len(t.Key) == 0 {
		return nil, fmt.Errorf("table %s: has no key, so it has no entries", t.Name)
	}
	if len(match) != len(t.Key) {
		return nil, fmt.Errorf("table %s: %d values, want %d: %s", t.Name, len(match), len(t.Key), t.keyText())
	}
	clean := slices.Clone(match)
	for i, k := range t.Key {
		m := &clean[i]
		width := k.Field.Width()
		bad := func(format string, args ...any) error {
			return fmt.Errorf("table %s: key %s: %s", t.Name, k.Name, fmt.Sprintf(format, args...))
		}
		if m.Kind != k.Kind {
			return nil, bad("is %s, want a value of kind %s", m.Kind, k.Kind)
		}
		for _, v := range []*big.Int{m.Value, m.Mask, m.High} {
			if v != nil && (v.Sign() < 0 || v.BitLen() > width) {
				return nil, bad("is %#x, want at most %d bits", v, width)
			}
		}
		switch k.Kind {
		case p4.LPM:
			if m.Prefix < 0 || m.Prefix > width {
				return nil, bad("prefix length is %d, want 0 to %d", m.Prefix, width)
			}
			m.Value = new(big.Int).And(m.Value, prefixMask(m.Prefix, width))
		case p4.Ternary:
			m.Value = new(big.Int).And(m.Value, m.Mask)
		case p4.Range:
			if m.Value.Cmp(m.High) > 0 {
				return nil, bad("begins at %v, after its end %v", m.Value, m.High)
			}
		}
	}
	return clean, nil
}

// keyText names the keys of a table with kind and width, for messages.
func (t *table) keyText() string {
	var parts []string
	for _, k := range t.Key {
		parts = append(parts, fmt.Sprintf("%s (%s, %d bits)", k.Name, k.Kind, k.Field.Width()))
	}
	return strings.Join(parts, ", ")
}

func prefixMask(length, width int) *big.Int {
	return new(big.Int).Lsh(mask(length), uint(width-length))
}

// prefix returns the length of the lpm key of an entry of an lpm table.
func prefix(match []p4.Match) int {
	for _, m := range match {
		if m.Kind == p4.LPM {
			return m.Prefix
		}
	}
	return 0
}

// text returns a key as bytes: each value in the bytes of its field.
func (t *table) text(values []*big.Int) string {
	var b []byte
	for i, k := range t.Key {
		b = append(b, values[i].FillBytes(make([]byte, (k.Field.Width()+7)/8))...)
	}
	return string(b)
}

func valuesOf(match []p4.Match) []*big.Int {
	values := make([]*big.Int, len(match))
	for i, m := range match {
		values[i] = m.Value
	}
	return values
}

// find returns the entry with exactly this key and priority, or nil.
func (t *table) find(match []p4.Match, priority int) *Entry {
	switch t.Kind {
	case p4.Exact:
		return t.exact[t.text(valuesOf(match))]
	case p4.LPM:
		return t.prefixes[prefix(match)][t.text(valuesOf(match))]
	}
	for _, e := range t.ordered {
		if e.Priority == priority && slices.EqualFunc(e.Match, match, sameMatch) {
			return e
		}
	}
	return nil
}

func sameMatch(a, b p4.Match) bool {
	same := func(x, y *big.Int) bool { return x == nil || y == nil || x.Cmp(y) == 0 }
	return same(a.Value, b.Value) && same(a.Mask, b.Mask) && same(a.High, b.High) && a.Prefix == b.Prefix
}

// add adds an entry.
func (t *table) add(match []p4.Match, result Result, priority int, now uint64) (*Entry, error) {
	given := match
	match, err := t.matchError(match)
	if err != nil {
		return nil, err
	}
	if e := t.find(match, priority); e != nil {
		return nil, fmt.Errorf("table %s: entry %d has this key already (DUPLICATE_ENTRY)", t.Name, e.Handle)
	}
	if t.count >= max(t.MaxSize, len(t.Entries)) || t.count > slotMask {
		return nil, fmt.Errorf("table %s: has %d entries, its size (TABLE_FULL)", t.Name, t.count)
	}
	for t.free < len(t.slots) && t.slots[t.free] != nil {
		t.free++
	}
	if t.free == len(t.slots) {
		t.slots, t.versions = append(t.slots, nil), append(t.versions, 0)
	}
	e := &Entry{
		Handle: uint32(t.versions[t.free])<<slotBits | uint32(t.free), Match: match, Given: given, Priority: priority,
		Result: result, used: now,
	}
	if t.Meter != nil {
		e.meter = &meter{}
	}
	t.slots[t.free] = e
	t.count++
	t.insert(e)
	return e, nil
}

// insert puts an entry where lookups find it.
func (t *table) insert(e *Entry) {
	switch t.Kind {
	case p4.Exact:
		t.exact[t.text(valuesOf(e.Match))] = e
	case p4.LPM:
		length := prefix(e.Match)
		if t.prefixes[length] == nil {
			t.prefixes[length] = map[string]*Entry{}
			t.lengths = append(t.lengths, length)
			sort.Sort(sort.Reverse(sort.IntSlice(t.lengths)))
		}
		t.prefixes[length][t.text(valuesOf(e.Match))] = e
	default:
		at := sort.Search(len(t.ordered), func(i int) bool {
			o := t.ordered[i]
			return o.Priority > e.Priority || o.Priority == e.Priority && o.Handle&slotMask > e.Handle&slotMask
		})
		t.ordered = slices.Insert(t.ordered, at, e)
	}
}

// remove removes an entry.
func (t *table) remove(e *Entry) {
	slot := int(e.Handle & slotMask)
	t.slots[slot] = nil
	t.versions[slot]++
	t.free = min(t.free, slot)
	t.count--
	switch t.Kind {
	case p4.Exact:
		delete(t.exact, t.text(valuesOf(e.Match)))
	case p4.LPM:
		delete(t.prefixes[prefix(e.Match)], t.text(valuesOf(e.Match)))
	default:
		t.ordered = slices.DeleteFunc(t.ordered, func(o *Entry) bool { return o == e })
	}
}

// entry returns the entry of a handle.
func (t *table) entry(handle uint32) (*Entry, error) {
	slot := int(handle & slotMask)
	if slot >= len(t.slots) || t.slots[slot] == nil {
		return nil, fmt.Errorf("table %s: handle %d, want that of an entry (INVALID_HANDLE)", t.Name, handle)
	}
	if e := t.slots[slot]; e.Handle != handle {
		return nil, fmt.Errorf("table %s: handle %d is of a deleted entry (EXPIRED_HANDLE)", t.Name, handle)
	}
	return t.slots[slot], nil
}

// lookup returns the entry that matches the packet, or nil.
func (t *table) lookup(v *vector) *Entry {
	if t.count == 0 {
		return nil
	}
	values := make([]*big.Int, len(t.Key))
	for i, k := range t.Key {
		values[i] = v.raw(k.Field.Header, k.Field.Index)
		if k.Mask != nil {
			values[i] = new(big.Int).And(values[i], k.Mask)
		}
	}
	switch t.Kind {
	case p4.Exact:
		return t.exact[t.text(values)]
	case p4.LPM:
		return t.longest(values)
	}
	for _, e := range t.ordered {
		if t.matches(e, values) {
			return e
		}
	}
	return nil
}

// longest returns the entry with the longest prefix that matches.
func (t *table) longest(values []*big.Int) *Entry {
	at := slices.IndexFunc(t.Key, func(k p4.Key) bool { return k.Kind == p4.LPM })
	width := t.Key[at].Field.Width()
	whole := values[at]
	for _, length := range t.lengths {
		values[at] = new(big.Int).And(whole, prefixMask(length, width))
		if e := t.prefixes[length][t.text(values)]; e != nil {
			return e
		}
	}
	return nil
}

// matches reports whether an entry of a ternary or range table matches.
func (t *table) matches(e *Entry, values []*big.Int) bool {
	for i, m := range e.Match {
		v := values[i]
		switch m.Kind {
		case p4.LPM:
			v = new(big.Int).And(v, prefixMask(m.Prefix, t.Key[i].Field.Width()))
		case p4.Ternary:
			v = new(big.Int).And(v, m.Mask)
		case p4.Range:
			if v.Cmp(m.Value) < 0 || v.Cmp(m.High) > 0 {
				return false
			}
			continue
		}
		if v.Cmp(m.Value) != 0 {
			return false
		}
	}
	return true
}

// apply runs a table on the packet and returns the node that follows.
func (f *frame) apply(n *p4.Node) *p4.Node {
	t := f.tables[n.Table.Index]
	e := t.lookup(f.phv)
	ev := Event{Kind: "table", Name: t.Name, Source: sourceOf(t.Source)}
	result := t.fallback
	if e != nil {
		result = &e.Result
		ev.Hit, ev.Entry, ev.Key = true, &e.Handle, matchText(e.Match)
		e.used, e.notified = f.now, false
		f.direct(t, e)
	}
	call, next := f.choose(t, e != nil, result)
	if call != nil {
		ev.Action = call.Action.Name
		for _, d := range call.Data {
			ev.Data = append(ev.Data, "0x"+d.Text(16))
		}
	}
	f.event(ev)
	if call != nil {
		f.act(call.Action, call.Data)
	}
	return next
}

// direct runs the counter and the meter of an entry that hit, before its action.
func (f *frame) direct(t *table, e *Entry) {
	if t.Meter != nil {
		f.phv.set(t.Meter.Result, f.colour(t.Meter, e.meter))
	}
	if t.Counts {
		e.Count.Packets++
		e.Count.Bytes += uint64(f.arrived)
	}
}

// choose returns the action of a result, and the node that follows. The action is nil after a miss without a default,
// and for a group without members.
func (f *frame) choose(t *table, hit bool, r *Result) (*p4.ActionCall, *p4.Node) {
	call := f.resolve(t, r)
	switch {
	case t.ByHit && hit:
		return call, t.Hit
	case t.ByHit:
		return call, t.Miss
	case call == nil:
		return nil, t.Base
	}
	next, known := t.Next[call.Action]
	if !known {
		// A member of a profile that several tables share can have an action of another table.
		f.undefined("action %s is not one of table %s, so its next table is that of a miss", call.Action.Name, t.Name)
		return call, t.Base
	}
	return call, next
}

// resolve returns the action that a result selects.
func (f *frame) resolve(t *table, r *Result) *p4.ActionCall {
	switch {
	case r == nil:
		return nil
	case r.Call != nil:
		return r.Call
	}
	p := f.profiles[t.Profile.Index]
	member := r.Member
	if r.Group >= 0 {
		members := p.groups[r.Group]
		if len(members) == 0 {
			f.undefined("group %d of %s has no members", r.Group, t.Profile.Name)
			return nil
		}
		member = members[f.calculate(t.Profile.Selector, f.phv, f.payload)%uint64(len(members))]
	}
	return p.members[member]
}

// matchText formats the key of an entry for the trace.
func matchText(match []p4.Match) []string {
	var texts []string
	for _, m := range match {
		text := "0x" + m.Value.Text(16)
		switch m.Kind {
		case p4.LPM:
			text += "/" + strconv.Itoa(m.Prefix)
		case p4.Ternary:
			text += "&&&0x" + m.Mask.Text(16)
		case p4.Range:
			text += "->0x" + m.High.Text(16)
		}
		texts = append(texts, text)
	}
	return texts
}
