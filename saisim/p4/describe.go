package p4

import "fmt"

// A Description is what a program has, for people who want to know whether it is the one they meant.
type Description struct {
	Program   string                `json:"program"`
	Format    string                `json:"format"` // version of the file format
	Headers   []HeaderDescription   `json:"headers"`
	States    []StateDescription    `json:"parser"`
	Pipelines []PipelineDescription `json:"pipelines"`
	Arrays    []ArrayDescription    `json:"arrays"`
	Sums      []string              `json:"calculations"`
	Digests   []string              `json:"digests"`
	ValueSets []string              `json:"value_sets"`
}

// A HeaderDescription is a header, or the metadata of the program.
type HeaderDescription struct {
	Name     string `json:"name"`
	Bits     int    `json:"bits"` // without the field of variable width
	Variable bool   `json:"variable,omitempty"`
	Metadata bool   `json:"metadata,omitempty"`
	In       string `json:"in,omitempty"` // stack or union that contains the header
}

// A StateDescription is a state of the parser.
type StateDescription struct {
	Name    string   `json:"name"`
	Extract []string `json:"extract"`
	KeyBits int      `json:"key_bits"` // of the select; 0 without one
	Next    []string `json:"next"`     // states that can follow; "accept" ends parsing
}

// A PipelineDescription is one of the pipelines.
type PipelineDescription struct {
	Name       string             `json:"name"`
	Conditions int                `json:"conditions"`
	Tables     []TableDescription `json:"tables"`
	// Inline is the number of tables without a key, which the compiler makes from statements.
	Inline int `json:"inline_tables"`
}

// A TableDescription is a table with a key.
type TableDescription struct {
	Name    string   `json:"name"`
	Kind    string   `json:"match"`
	Key     []string `json:"key"` // name, kind and bits of each field
	Actions []string `json:"actions"`
	Size    int      `json:"size"`
	Default string   `json:"default,omitempty"`
	Const   int      `json:"const_entries,omitempty"`
	Profile string   `json:"action_profile,omitempty"`
	Direct  []string `json:"direct,omitempty"` // counter, meter, timeout
}

// An ArrayDescription is an array of registers, counters or meters that is not direct.
type ArrayDescription struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Size int    `json:"size"`
	Bits int    `json:"bits,omitempty"` // of a register
}

// Describe returns a description of a program.
func Describe(p *Program) *Description {
	d := &Description{Program: p.Name, Format: "without a version"}
	if p.Version != [2]int{} {
		d.Format = fmt.Sprintf("%d.%d", p.Version[0], p.Version[1])
	}
	in := map[*Header]string{}
	for _, s := range p.Stacks {
		for _, h := range s.Headers {
			in[h] = s.Name
		}
	}
	for _, h := range p.Headers {
		if h.Union != nil {
			in[h] = h.Union.Name
		}
		if h.Type.Bits > 0 || h.Type.Var >= 0 {
			d.Headers = append(d.Headers, HeaderDescription{h.Name, h.Type.Bits, h.Type.Var >= 0, h.Metadata, in[h]})
		}
	}
	for _, s := range p.Parser.States {
		d.States = append(d.States, s.describe())
	}
	for _, pipe := range []*Pipeline{p.Ingress, p.Egress} {
		d.Pipelines = append(d.Pipelines, pipe.describe())
	}
	d.arrays(p)
	for _, c := range p.Calculations {
		d.Sums = append(d.Sums, c.Name+" "+c.Algorithm)
	}
	for _, l := range p.Digests {
		d.Digests = append(d.Digests, l.Name)
	}
	for _, s := range p.ValueSets {
		d.ValueSets = append(d.ValueSets, fmt.Sprintf("%s %d bits", s.Name, s.Width))
	}
	return d
}

func (d *Description) arrays(p *Program) {
	for _, r := range p.Registers {
		d.Arrays = append(d.Arrays, ArrayDescription{r.Name, "registers", r.Size, r.Width})
	}
	for _, c := range p.Counters {
		if !c.Direct {
			d.Arrays = append(d.Arrays, ArrayDescription{c.Name, "counters", c.Size, 0})
		}
	}
	for _, m := range p.Meters {
		if !m.Direct {
			d.Arrays = append(d.Arrays, ArrayDescription{m.Name, "meters", m.Size, 0})
		}
	}
}

func (s *State) describe() StateDescription {
	d := StateDescription{Name: s.Name}
	for _, op := range s.Ops {
		switch {
		case op.Kind != Extract:
		case op.Header != nil:
			d.Extract = append(d.Extract, op.Header.Name)
		case op.Stack != nil:
			d.Extract = append(d.Extract, op.Stack.Name+".next")
		default:
			d.Extract = append(d.Extract, op.UnionStack.Name+".next")
		}
	}
	for _, k := range s.Key {
		d.KeyBits += k.Width
	}
	seen := map[string]bool{}
	add := func(next *State) {
		name := "accept"
		if next != nil {
			name = next.Name
		}
		if !seen[name] {
			seen[name] = true
			d.Next = append(d.Next, name)
		}
	}
	for _, c := range s.Cases {
		add(c.Next)
	}
	add(s.Next)
	return d
}

func (p *Pipeline) describe() PipelineDescription {
	d := PipelineDescription{Name: p.Name}
	for _, n := range p.Nodes {
		switch {
		case n.Condition != nil:
			d.Conditions++
		case n.Table != nil && len(n.Table.Key) > 0:
			d.Tables = append(d.Tables, n.Table.describe())
		case n.Table != nil:
			d.Inline++
		}
	}
	return d
}

func (t *Table) describe() TableDescription {
	d := TableDescription{Name: t.Name, Kind: string(t.Kind), Size: t.MaxSize, Const: len(t.Entries)}
	for _, k := range t.Key {
		d.Key = append(d.Key, fmt.Sprintf("%s %s %d", k.Name, k.Kind, k.Field.Width()))
	}
	for _, a := range t.Actions {
		d.Actions = append(d.Actions, a.Name)
	}
	if t.Default != nil {
		d.Default = t.Default.Action.Name
	}
	if t.Profile != nil {
		d.Profile = t.Profile.Name
	}
	if t.Counts {
		d.Direct = append(d.Direct, "counter")
	}
	if t.Meter != nil {
		d.Direct = append(d.Direct, "meter")
	}
	if t.Timeout {
		d.Direct = append(d.Direct, "timeout")
	}
	return d
}
