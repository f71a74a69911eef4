package pipe

import (
	"errors"
	"fmt"
	"slices"
)

// A Batch is a set of control operations at one cycle. If any of them is invalid, none is done. Operations are done in
// the order of the fields, and within a list in the order of the list.
type Batch struct {
	// Program replaces the current program. With Unload there is no program afterwards. Registers of the same pipe,
	// stage, name, width and depth keep their content, and so do counters of the same pipe, stage, table and entry.
	Program *Program `json:"program,omitempty"`
	Unload  bool     `json:"unload,omitempty"`

	Entries  []EntryChange   `json:"entries,omitempty"`
	Faults   []Fault         `json:"faults,omitempty"`
	Writes   []RegisterWrite `json:"writes,omitempty"`
	Reads    []RegisterRead  `json:"reads,omitempty"`
	Counters []CounterRead   `json:"counters,omitempty"`
}

// An EntryChange changes one entry of a table.
type EntryChange struct {
	Pipe  string `json:"pipe"` // ingress or egress
	Table string `json:"table"`
	// Do is add, modify (the entry of that ID, which keeps its counter), remove (by ID), or default. The latter makes
	// the entry's action the table's default.
	Do    string `json:"do"`
	Entry Entry  `json:"entry"`
}

// A RegisterWrite sets words From, From+1, ... to Values, or without values sets Count words to 0.
type RegisterWrite struct {
	Pipe     string   `json:"pipe"`
	Register string   `json:"register"`
	From     uint32   `json:"from,omitempty"`
	Values   []uint64 `json:"values,omitempty"`
	Count    uint32   `json:"count,omitempty"`
}

// A RegisterRead reads Count words. Clear sets them to 0 afterwards.
type RegisterRead struct {
	Pipe     string `json:"pipe"`
	Register string `json:"register"`
	From     uint32 `json:"from,omitempty"`
	Count    uint32 `json:"count"`
	Clear    bool   `json:"clear,omitempty"`
}

// A CounterRead reads the counter of an entry, or of the default.
type CounterRead struct {
	Pipe    string `json:"pipe"`
	Table   string `json:"table"`
	Entry   uint32 `json:"entry,omitempty"`
	Default bool   `json:"default,omitempty"`
	Clear   bool   `json:"clear,omitempty"`
}

// A Result holds the values that a batch has read, in the order of its reads.
type Result struct {
	Registers [][]uint64 `json:"registers,omitempty"`
	Counters  []Counter  `json:"counters,omitempty"`
}

// pipe returns the pipe with a name.
func (p *Program) pipe(name string) (*Pipe, error) {
	switch name {
	case "ingress":
		return &p.Ingress, nil
	case "egress":
		return &p.Egress, nil
	}
	return nil, fmt.Errorf("pipe is %.80q, want ingress or egress", name)
}

// table returns the pipe and the index of a table.
func (p *Program) table(pipeName, name string) (*Pipe, int, error) {
	pp, err := p.pipe(pipeName)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(pp.Tables, func(t Table) bool { return t.Name == name })
	if i < 0 {
		return nil, 0, fmt.Errorf("%s: there is no table %.80q", pipeName, name)
	}
	return pp, i, nil
}

// register returns a register.
func (p *Program) register(pipeName, name string) (*Register, error) {
	pp, err := p.pipe(pipeName)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(pp.Registers, func(r Register) bool { return r.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s: there is no register %.80q", pipeName, name)
	}
	return &pp.Registers[i], nil
}

// Apply returns the program with changed entries, and an error if it is not valid. p does not change. The result shares
// unchanged parts with p.
func (p *Program) Apply(changes []EntryChange) (*Program, error) {
	n := *p
	n.Ingress.Tables, n.Egress.Tables = slices.Clone(p.Ingress.Tables), slices.Clone(p.Egress.Tables)
	touched := map[*Table]bool{}
	for i := range changes {
		x := &changes[i]
		pp, j, err := n.table(x.Pipe, x.Table)
		if err != nil {
			return nil, fmt.Errorf("entry change %d: %w", i, err)
		}
		t := &pp.Tables[j]
		if !touched[t] {
			touched[t] = true
			t.Entries = slices.Clone(t.Entries)
		}
		if err := t.change(x); err != nil {
			return nil, fmt.Errorf("entry change %d: %s table %q: %w", i, x.Pipe, x.Table, err)
		}
	}
	c := &checker{fields: n.layout()}
	for _, pp := range []*Pipe{&n.Ingress, &n.Egress} {
		tc := tableChecker{checker: c, pipe: pp}
		for i := range pp.Tables {
			if t := &pp.Tables[i]; touched[t] {
				c.in(func() { tc.choice(t, t.Default); tc.checkEntries(t) }, "table %q", t.Name)
			}
		}
	}
	return &n, errors.Join(c.errs...)
}

func (t *Table) change(x *EntryChange) error {
	i := slices.IndexFunc(t.Entries, func(e Entry) bool { return e.ID == x.Entry.ID })
	switch {
	case x.Do == "default":
		t.Default = x.Entry.Choice
	case x.Do == "add" && i >= 0:
		return fmt.Errorf("entry %d is there already", x.Entry.ID)
	case x.Do == "add":
		t.Entries = append(t.Entries, x.Entry)
	case x.Do != "modify" && x.Do != "remove":
		return fmt.Errorf("do is %.80q, want add, modify, remove or default", x.Do)
	case i < 0:
		return fmt.Errorf("there is no entry %d", x.Entry.ID)
	case x.Do == "modify":
		t.Entries[i] = x.Entry
	default:
		t.Entries = slices.Delete(t.Entries, i, i+1)
	}
	return nil
}

// maxRead is the maximum number of words that a batch reads.
const maxRead = 1 << 24

// CheckAccess checks the writes and reads of a batch against the program after its changes. nil means that there is no
// program.
func (b *Batch) CheckAccess(p *Program) error {
	if p == nil {
		if len(b.Writes)+len(b.Reads)+len(b.Counters) > 0 {
			return errors.New("there is no program")
		}
		return nil
	}
	var errs []error
	for i, w := range b.Writes {
		if err := p.checkWrite(w); err != nil {
			errs = append(errs, fmt.Errorf("write %d: %w", i, err))
		}
	}
	for i, r := range b.Reads {
		reg, err := p.register(r.Pipe, r.Register)
		if err == nil {
			err = reg.checkRange(r.Pipe, r.From, uint64(r.Count))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read %d: %w", i, err))
		}
	}
	var words uint64
	for _, r := range b.Reads {
		words += uint64(r.Count)
	}
	if words > maxRead {
		errs = append(errs, fmt.Errorf("reads take %d words, want at most %d in a batch", words, maxRead))
	}
	for i, r := range b.Counters {
		if err := p.checkCounter(r); err != nil {
			errs = append(errs, fmt.Errorf("counter %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Program) checkWrite(w RegisterWrite) error {
	reg, err := p.register(w.Pipe, w.Register)
	if err != nil {
		return err
	}
	n := uint64(w.Count)
	if len(w.Values) > 0 {
		if w.Count != 0 && n != uint64(len(w.Values)) {
			return fmt.Errorf("count is %d, but there are %d values", n, len(w.Values))
		}
		n = uint64(len(w.Values))
	}
	for j, v := range w.Values {
		if v > ones(reg.Width) {
			return fmt.Errorf("%s register %q: value %d is %d, want at most %d bits", w.Pipe, w.Register, j, v, reg.Width)
		}
	}
	return reg.checkRange(w.Pipe, w.From, n)
}

func (r *Register) checkRange(pipeName string, from uint32, n uint64) error {
	if n == 0 || uint64(from)+n > uint64(r.Depth) {
		return fmt.Errorf("%s register %q: %d words from %d, want 1 or more words below %d", pipeName, r.Name, n, from,
			r.Depth)
	}
	return nil
}

func (p *Program) checkCounter(r CounterRead) error {
	pp, i, err := p.table(r.Pipe, r.Table)
	if err != nil {
		return err
	}
	t := &pp.Tables[i]
	switch {
	case !t.Counters:
		return fmt.Errorf("%s table %q has no counters", r.Pipe, r.Table)
	case !r.Default && !slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.ID == r.Entry }):
		return fmt.Errorf("%s table %q: there is no entry %d", r.Pipe, r.Table, r.Entry)
	}
	return nil
}

// Prepare checks a batch and returns the program that runs after it. old is the program that runs before, nil if there
// is none. [Compiled.Access] does the reads and writes.
func Prepare(b Batch, l Limits, old *Compiled) (*Compiled, error) {
	var faults []Fault
	if old != nil {
		faults = old.faults
	}
	now, _, err := PrepareFaults(b, l, old, faults)
	return now, err
}

// PrepareFaults does [Prepare] for callers that keep faults even without a program. faults holds the faults before the
// batch. It returns the faults after the batch.
func PrepareFaults(b Batch, l Limits, old *Compiled, faults []Fault) (*Compiled, []Fault, error) {
	now, faults, err := prepare(b, l, old, faults)
	if err != nil {
		return nil, nil, fmt.Errorf("batch: %w", err)
	}
	return now, faults, nil
}

func prepare(b Batch, l Limits, old *Compiled, faults []Fault) (now *Compiled, _ []Fault, err error) {
	now = old
	switch {
	case b.Program != nil && b.Unload:
		return nil, nil, errors.New("unload is given, but a program too")
	case b.Unload:
		now = nil
	case b.Program != nil:
		if now, err = compile(b.Program, l, old, faults); err != nil {
			return nil, nil, err
		}
	}
	if len(b.Entries) > 0 {
		if now == nil {
			return nil, nil, errors.New("entries are given, but there is no program")
		}
		if now, err = now.Apply(l, b.Entries); err != nil {
			return nil, nil, err
		}
	}
	var p *Program
	if now != nil {
		p = now.program
	}
	if len(b.Faults) > 0 {
		if faults, err = addFaults(p, faults, b.Faults); err != nil {
			return nil, nil, err
		}
		if now != nil {
			if now, err = compile(p, l, now, faults); err != nil {
				return nil, nil, err
			}
		}
	}
	return now, faults, b.CheckAccess(p)
}

// Access does the writes and then the reads of a batch. Prepare must have accepted the batch.
func (c *Compiled) Access(b Batch) Result {
	for _, w := range b.Writes {
		a := c.pipe(w.Pipe).arrays[w.Register]
		for i, v := range w.Values {
			a.Set(w.From+uint32(i), v)
		}
		if len(w.Values) == 0 {
			for i := range w.Count {
				a.Set(w.From+i, 0)
			}
		}
	}
	var res Result
	for _, r := range b.Reads {
		a := c.pipe(r.Pipe).arrays[r.Register]
		words := make([]uint64, r.Count)
		for i := range words {
			words[i] = a.Get(r.From + uint32(i))
			if r.Clear {
				a.Set(r.From+uint32(i), 0)
			}
		}
		res.Registers = append(res.Registers, words)
	}
	for _, r := range b.Counters {
		k, _ := c.Counter(r) // checked by Prepare
		res.Counters = append(res.Counters, *k)
		if r.Clear {
			*k = Counter{}
		}
	}
	return res
}
