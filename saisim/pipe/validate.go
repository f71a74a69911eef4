package pipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits that hold for every chip.
const (
	maxFields       = 256
	maxTables       = 256 // tables of a pipe
	maxTaps         = 240 // tables of both pipes
	maxKey          = 16  // fields of a key
	maxInputs       = 32  // inputs of a hash
	maxActions      = 64  // actions of a table
	maxOps          = 64  // operations of an action; also calls
	maxRows         = 32  // of a gate; terms of a row likewise
	maxInstructions = 4   // instructions of a register
	maxSize         = 1 << 20
	maxDepth        = 1 << 26
	maxErrors       = 20 // errors that Validate reports
)

// A place is the place of a field in the compiled form.
type place struct {
	word, shift, width uint8
	access             Access
	user               bool
}

func (p place) mask() uint64 { return ones(p.width) }

// ones returns a number with n one bits. n is at most 64.
func ones(n uint8) uint64 { return 1<<n - 1 }

// layout places the user fields after the fixed ones. Bridged fields are first, and large ones precede small ones, so
// that no field crosses the end of a word. Fields that do not fit have no place.
func (p *Program) layout() map[string]place {
	all := make(map[string]place, len(fixed)+len(p.Fields))
	for _, f := range fixed {
		all[f.Name] = place{f.Word, f.Shift, f.Width, f.Access, false}
	}
	bit := firstUser * 64
	for _, bridged := range []bool{true, false} {
		for _, size := range []uint8{64, 32, 16, 8} {
			for _, f := range p.Fields {
				if f.Bridged != bridged || container(f.Width) != size {
					continue
				}
				if bit+int(size) > firstHash*64 {
					return all
				}
				if _, twice := all[f.Name]; !twice {
					all[f.Name] = place{uint8(bit / 64), uint8(bit % 64), f.Width, WriteBoth, true}
				}
				bit += int(size)
			}
		}
		bit = (bit + 63) &^ 63 // bridged words hold only bridged fields
	}
	return all
}

// bridgeBits returns the number of bits of the bridged fields.
func (p *Program) bridgeBits() (n int) {
	for _, f := range p.Fields {
		if f.Bridged {
			n += int(container(f.Width))
		}
	}
	return n
}

// A checker collects errors, each with the path to its cause.
type checker struct {
	fields map[string]place
	path   []string
	errs   []error
}

func (c *checker) bad(format string, args ...any) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, fmt.Errorf("%s"+format, append([]any{strings.Join(append(c.path, ""), ": ")}, args...)...))
	}
}

// in runs f with one more step in the path of errors.
func (c *checker) in(f func(), format string, args ...any) {
	c.path = append(c.path, fmt.Sprintf(format, args...))
	f()
	c.path = c.path[:len(c.path)-1]
}

// Validate returns an error that names up to 20 faults of the program, including those that exceed the limits of the
// chip.
func (p *Program) Validate(l Limits) error {
	c := &checker{path: []string{fmt.Sprintf("program %q", p.Name)}}
	c.name("name", p.Name)
	c.checkFields(p)
	if len(c.errs) == 0 {
		c.fields = p.layout()
		c.in(func() { c.checkPipe(&p.Ingress, l.IngressStages, WriteIngress) }, "ingress")
		c.in(func() { c.checkPipe(&p.Egress, l.EgressStages, WriteEgress) }, "egress")
		c.atMost("tables of both pipes", len(p.Ingress.Tables)+len(p.Egress.Tables), maxTaps)
	}
	if len(c.errs) == 0 {
		for _, err := range p.Usage(l).excess(l) {
			c.bad("%w", err)
		}
	}
	return errors.Join(c.errs...)
}

// name checks a name by the rules of [Program].
func (c *checker) name(what, s string) {
	ok := len(s) >= 1 && len(s) <= 64
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		ok = ok && (letter || i > 0 && (r >= '0' && r <= '9' || r == '-'))
	}
	if !ok {
		c.bad("%s is %.80q, want a letter or _ and then letters, digits, _ or -, at most 64", what, s)
	}
}

func (c *checker) unique(seen map[string]bool, what, name string) {
	c.name(what, name)
	if seen[name] {
		c.bad("%s %q is there twice", what, name)
	}
	seen[name] = true
}

// atMost checks a number against its limit.
func (c *checker) atMost(what string, have, limit int) bool {
	if have > limit {
		c.bad("%d %s, want at most %d", have, what, limit)
	}
	return have <= limit
}

func (c *checker) within(what string, v, lo, hi uint64) {
	if v < lo || v > hi {
		c.bad("%s is %d, want %d to %d", what, v, lo, hi)
	}
}

func (c *checker) checkFields(p *Program) {
	if !c.atMost("fields", len(p.Fields), maxFields) {
		return
	}
	seen := map[string]bool{}
	total := 0
	for _, f := range p.Fields {
		c.unique(seen, "field", f.Name)
		if f.Width < 1 || f.Width > 64 {
			c.bad("field %q: width is %d, want 1 to 64", f.Name, f.Width)
			continue
		}
		total += int(container(f.Width))
	}
	if n := p.bridgeBits(); n > BridgeWords*64 {
		c.bad("bridged fields take %d bits, want at most %d", n, BridgeWords*64)
	}
	if total > (userWords-1)*64 { // a word may be lost between bridged and other fields
		c.bad("user fields take %d bits, want at most %d", total, (userWords-1)*64)
	}
}

func (c *checker) checkPipe(p *Pipe, stages uint32, access Access) {
	if !c.atMost("tables", len(p.Tables), maxTables) || !c.atMost("hashes", len(p.Hashes), maxTables) ||
		!c.atMost("registers", len(p.Registers), maxTables) {
		return
	}
	stage := func(s uint8) {
		if uint32(s) >= stages {
			c.bad("stage is %d, the pipe has %d", s, stages)
		}
	}
	seen, inStage := map[string]bool{}, map[uint8]int{}
	for i := range p.Hashes {
		h := &p.Hashes[i]
		c.unique(seen, "hash", h.Name)
		c.in(func() { stage(h.Stage); c.checkHash(h) }, "hash %q", h.Name)
		if inStage[h.Stage]++; inStage[h.Stage] == maxHashes+1 {
			c.bad("stage %d has more than %d hashes", h.Stage, maxHashes)
		}
	}
	seen = map[string]bool{}
	for i := range p.Registers {
		r := &p.Registers[i]
		c.unique(seen, "register", r.Name)
		c.in(func() { stage(r.Stage); c.checkRegister(r) }, "register %q", r.Name)
	}
	t := tableChecker{checker: c, pipe: p, access: access, users: map[string]string{}, writers: map[written]string{}}
	seen = map[string]bool{}
	for i := range p.Tables {
		c.unique(seen, "table", p.Tables[i].Name)
		c.in(func() { stage(p.Tables[i].Stage); t.check(i) }, "table %q", p.Tables[i].Name)
	}
}

func (c *checker) checkHash(h *Hash) {
	width := h.Width
	if h.CRC != "" {
		poly, ok := polynomials[h.CRC]
		if !ok {
			c.bad("crc is %q, want one of %s, or none and width and poly", h.CRC, strings.Join(Polynomials(), ", "))
		}
		if h.Width != 0 || h.Poly != 0 {
			c.bad("width and poly are given by crc %q already", h.CRC)
		}
		width = poly.width
	} else if width != 16 && width != 32 {
		c.bad("width is %d, want 16 or 32", width)
	} else if uint64(h.Poly) > ones(width) || h.Poly&1 == 0 {
		c.bad("poly is %#x, want an odd number of %d bits", h.Poly, width)
	}
	if h.Bits > width {
		c.bad("bits is %d, want at most %d", h.Bits, width)
	}
	if uint64(h.Seed) > ones(width) {
		c.bad("seed is %#x, want at most %d bits", h.Seed, width)
	}
	if len(h.Inputs) == 0 {
		c.bad("no inputs")
	}
	if c.atMost("inputs", len(h.Inputs), maxInputs) {
		c.checkInputs("input", h.Inputs)
	}
}

func (c *checker) checkInputs(what string, in []Input) {
	for _, in := range in {
		if p, ok := c.field(what, in.Field); ok && in.Mask&^p.mask() != 0 {
			c.bad("%s %q: mask is %#x, the field has %d bits", what, in.Field, in.Mask, p.width)
		}
	}
}

func (c *checker) field(what, name string) (place, bool) {
	p, ok := c.fields[name]
	if !ok {
		c.bad("%s: there is no field %.80q", what, name)
	}
	return p, ok
}

func (c *checker) checkRegister(r *Register) {
	c.within("width", uint64(r.Width), 1, 64)
	c.within("depth", uint64(r.Depth), 1, maxDepth)
	if len(r.Instructions) == 0 {
		c.bad("no instructions")
	}
	if !c.atMost("instructions", len(r.Instructions), maxInstructions) {
		return
	}
	seen := map[string]bool{}
	for i := range r.Instructions {
		in := &r.Instructions[i]
		c.unique(seen, "instruction", in.Name)
		c.in(func() { c.checkInstruction(in) }, "instruction %q", in.Name)
	}
}

func (c *checker) checkInstruction(in *Instruction) {
	if !c.atMost("conditions", len(in.Conditions), 2) || !c.atMost("updates", len(in.Updates), 2) {
		return
	}
	for i, x := range in.Conditions {
		c.in(func() {
			c.oneOf("is", x.Is, comparisons)
			c.source("a", x.A)
			c.source("b", x.B)
		}, "condition %d", i)
	}
	for i, u := range in.Updates {
		c.in(func() {
			c.guard(u.When, len(in.Conditions))
			c.oneOf("do", u.Do, updates)
			c.source("a", u.A)
			if u.Do != "set" {
				c.source("b", u.B)
			} else if u.B != (Source{}) {
				c.bad("b is given, but set has only a")
			}
		}, "update %d", i)
	}
	c.in(func() {
		c.guard(in.Output.When, len(in.Conditions))
		if in.Output.Value != "" {
			c.oneOf("value", in.Output.Value, outputs)
		} else if in.Output.When != "" {
			c.bad("when is given, but no value")
		}
	}, "output")
}

func (c *checker) source(what string, s Source) {
	c.oneOf(what+": from", s.From, sources)
	if s.Const != 0 && s.From != "const" {
		c.bad("%s: const is given, but from is %q", what, s.From)
	}
}

func (c *checker) guard(when string, conditions int) {
	c.oneOf("when", when, guards)
	if conditions < 2 && strings.Contains(when, "1") || conditions < 1 && when != "" {
		c.bad("when is %q, but there are %d conditions", when, conditions)
	}
}

func (c *checker) oneOf(what, s string, words []string) bool {
	ok := slices.Contains(words, s)
	if !ok {
		c.bad("%s is %.80q, want one of %s", what, s, strings.Join(words, ", "))
	}
	return ok
}
