package p4

import (
	"fmt"
	"io"
	"math/big"
	"os"
)

// newestMinor is the newest minor version of the file format that is supported; the major version is 2.
const newestMinor = 24

// ReadFile reads a program from a file.
func ReadFile(name string) (*Program, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// Read reads a program in BMv2 JSON. The name of the file is for messages. Its errors about the program are of type
// *Error.
func Read(in io.Reader, file string) (p *Program, err error) {
	root, err := parse(in, file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := recover(); e != nil {
			f, ours := e.(failure)
			if !ours {
				panic(e)
			}
			p, err = nil, f.err
		}
	}()
	r := newReader(file)
	r.program(root)
	return r.Program, nil
}

// A member is a member of a union type.
type member struct {
	name string
	kind *HeaderType
}

// A reader holds the names that are known so far.
type reader struct {
	*Program
	types       map[string]*HeaderType
	headers     map[string]*Header
	headerByID  map[int]*Header
	stacks      map[string]*Stack
	unions      map[string]*Union
	unionByID   map[int]*Union
	unionStacks map[string]*UnionStack
	members     map[string][]member // of each union type
	aliases     map[string]FieldRef
	sets        map[string]*ValueSet
	meters      map[string]*Meter
	counters    map[string]*Counter
	registers   map[string]*Register
	calcs       map[string]*Calculation
	actions     map[int]*Action
	profiles    map[string]*Profile
	tables      int
	fields      int
	bits        int // of all headers
	inputBits   int // of all inputs of hashes
	depth       int
}

func newReader(file string) *reader {
	return &reader{
		Program: &Program{
			File: file, Errors: map[string]int{}, FieldLists: map[int]*FieldList{}, Digests: map[int]*FieldList{},
		},
		types: map[string]*HeaderType{}, headers: map[string]*Header{}, headerByID: map[int]*Header{},
		stacks: map[string]*Stack{}, unions: map[string]*Union{}, unionByID: map[int]*Union{},
		unionStacks: map[string]*UnionStack{}, members: map[string][]member{}, aliases: map[string]FieldRef{},
		sets: map[string]*ValueSet{}, meters: map[string]*Meter{}, counters: map[string]*Counter{},
		registers: map[string]*Register{}, calcs: map[string]*Calculation{}, actions: map[int]*Action{},
		profiles: map[string]*Profile{},
	}
}

// program reads everything, in the order in which later parts name earlier ones.
func (r *reader) program(root *node) {
	r.version(root)
	if n := root.has("program"); n != nil {
		r.Name = n.text()
	}
	if _, ok := root.object()["parsers"]; !ok {
		root.fail("has no \"parsers\", want a program that p4c compiled for bmv2 (v1model)")
	}
	for _, n := range root.each("extern_instances", "extern") {
		n.fail("extern type %s is not supported, want an extern of v1model", describe(n.get("type").value))
	}
	r.readTypes(root)
	r.readHeaders(root)
	r.readAliases(root)
	r.readErrors(root)
	r.readSets(root)
	r.readArrays(root)
	r.readCalculations(root)
	r.readFieldLists(root)
	r.readActions(root)
	r.readParser(root)
	r.readDeparser(root)
	r.readPipelines(root)
	r.readChecksums(root)
	r.readStandard(root)
}

func (r *reader) version(root *node) {
	meta := root.has("__meta__")
	if meta == nil {
		return
	}
	v := meta.get("version")
	major, minor := v.pair()
	r.Version = [2]int{major.integer(0, 1<<30), minor.integer(0, 1<<30)}
	if r.Version[0] != 2 || r.Version[1] > newestMinor {
		v.fail("is %d.%d, want 2.0 to 2.%d", r.Version[0], r.Version[1], newestMinor)
	}
}

func (r *reader) readTypes(root *node) {
	for _, n := range root.each("header_types", "header type") {
		t := &HeaderType{Name: n.get("name").text(), Var: -1}
		if r.types[t.Name] != nil {
			n.fail("is declared twice")
		}
		for _, f := range n.get("fields").list() {
			t.add(f)
		}
		if t.Var >= 0 {
			r.varType(n, t)
		} else if t.Bits > maxWidth {
			n.fail("has %d bits, want at most %d", t.Bits, maxWidth)
		}
		r.types[t.Name] = t
		r.HeaderTypes = append(r.HeaderTypes, t)
	}
	for _, n := range root.each("header_union_types", "header union type") {
		var members []member
		for _, m := range n.get("headers").list() {
			name, kind := m.pair()
			members = append(members, member{name.text(), r.typeOf(kind)})
		}
		r.members[n.get("name").text()] = members
	}
}

// add reads one field: its name and width, and optionally whether it is signed, and whether it saturates.
func (t *HeaderType) add(n *node) {
	parts := n.list()
	if len(parts) < 2 || len(parts) > 4 {
		n.fail("has %d elements, want name, width, signed, saturating", len(parts))
	}
	f := Field{Name: parts[0].text()}
	if s, ok := parts[1].value.(string); ok && s == "*" {
		if t.Var >= 0 {
			n.fail("is the second field of variable width of the header, want at most one")
		}
		f.Var, t.Var = true, len(t.Fields)
	} else {
		f.Width = parts[1].integer(1, maxWidth)
		t.Bits += f.Width
	}
	if len(parts) > 2 {
		f.Signed = parts[2].flag()
	}
	if len(parts) > 3 {
		f.Saturating = parts[3].flag()
	}
	if f.Var && (f.Signed || f.Saturating) {
		n.fail("has a variable width and a sign, or saturates, which is not supported")
	}
	t.Fields = append(t.Fields, f)
}

// varType reads the parts of a header type that has a field of variable width.
func (r *reader) varType(n *node, t *HeaderType) {
	t.MaxBytes = n.get("max_length").integer(0, maxWidth/8)
	width := t.MaxBytes*8 - t.Bits
	if width < 0 {
		n.get("max_length").fail("is %d bytes, want at least the %d bits of the fixed fields", t.MaxBytes, t.Bits)
	}
	t.Fields[t.Var].Width = width
	if l := n.has("length_exp"); l != nil {
		t.VarLength = r.expression(l, scope{own: t}, Number)
	}
}

func (r *reader) readHeaders(root *node) {
	for _, n := range root.each("headers", "header") {
		h := &Header{
			Name: n.get("name").text(), Index: len(r.Headers), Metadata: n.flagOf("metadata", false),
			Type: r.typeOf(n.get("header_type")),
		}
		id := n.get("id").integer(0, 1<<30)
		if r.headers[h.Name] != nil || r.headerByID[id] != nil {
			n.fail("has the name or id %d of another header", id)
		}
		if !h.Metadata && h.Type.Bits%8 != 0 {
			n.fail("has %d bits, want whole bytes", h.Type.Bits)
		}
		r.fields += len(h.Type.Fields)
		r.bits += h.Type.Bits + h.Type.MaxBytes*8
		if r.fields > maxFields || r.bits > maxBits {
			n.fail("makes more than %d fields or %d bits, want fewer headers", maxFields, maxBits)
		}
		r.headers[h.Name], r.headerByID[id] = h, h
		r.Headers = append(r.Headers, h)
	}
	for _, n := range root.each("header_stacks", "header stack") {
		s := &Stack{Name: n.get("name").text(), Index: len(r.Stacks), Type: r.typeOf(n.get("header_type"))}
		for _, id := range n.get("header_ids").list() {
			h := r.headerOf(id)
			if h.Type != s.Type {
				id.fail("is header %q of type %q, want type %q", h.Name, h.Type.Name, s.Type.Name)
			}
			s.Headers = append(s.Headers, h)
		}
		if r.stacks[s.Name] != nil || len(s.Headers) == 0 {
			n.fail("is declared twice or empty")
		}
		r.stacks[s.Name] = s
		r.Stacks = append(r.Stacks, s)
	}
	r.readUnions(root)
}

func (r *reader) readUnions(root *node) {
	for _, n := range root.each("header_unions", "header union") {
		u := &Union{Name: n.get("name").text(), Index: len(r.Unions), Type: n.get("union_type").text()}
		for _, id := range n.get("header_ids").list() {
			h := r.headerOf(id)
			if h.Union != nil {
				id.fail("is header %q, which is in union %q already", h.Name, h.Union.Name)
			}
			h.Union = u
			u.Headers = append(u.Headers, h)
		}
		members, ok := r.members[u.Type]
		if !ok || len(members) != len(u.Headers) {
			n.fail("has %d headers, want the %d of its type %q", len(u.Headers), len(members), u.Type)
		}
		for i, h := range u.Headers {
			if h.Type != members[i].kind {
				n.fail("has header %q of type %q, want type %q", h.Name, h.Type.Name, members[i].kind.Name)
			}
		}
		id := n.get("id").integer(0, 1<<30)
		if r.unions[u.Name] != nil || r.unionByID[id] != nil {
			n.fail("has the name or id %d of another union", id)
		}
		r.unions[u.Name], r.unionByID[id] = u, u
		r.Unions = append(r.Unions, u)
	}
	for _, n := range root.each("header_union_stacks", "stack of unions") {
		s := &UnionStack{Name: n.get("name").text(), Index: len(r.UnionStacks), Type: n.get("union_type").text()}
		for _, id := range n.get("header_union_ids").list() {
			u := r.unionByID[id.integer(0, 1<<30)]
			if u == nil || u.Type != s.Type {
				id.fail("is %v, want the id of a union of type %q", id.value, s.Type)
			}
			s.Unions = append(s.Unions, u)
		}
		if r.unionStacks[s.Name] != nil || len(s.Unions) == 0 {
			n.fail("is declared twice or empty")
		}
		r.unionStacks[s.Name] = s
		r.UnionStacks = append(r.UnionStacks, s)
	}
}

func (r *reader) typeOf(n *node) *HeaderType {
	t := r.types[n.text()]
	if t == nil {
		n.fail("is %q, want the name of a header type", n.text())
	}
	return t
}

func (r *reader) headerOf(id *node) *Header {
	h := r.headerByID[id.integer(0, 1<<30)]
	if h == nil {
		id.fail("is %v, want the id of a header", id.value)
	}
	return h
}

// header returns the header that a string names.
func (r *reader) header(n *node) *Header {
	h := r.headers[n.text()]
	if h == nil {
		n.fail("is %q, want the name of a header", n.text())
	}
	return h
}

// validName is the name of the hidden field that holds the validity of a header.
const validName = "$valid$"

// field returns the field that a pair of names describes.
func (r *reader) field(n *node) FieldRef {
	a, b := n.pair()
	h, name := r.header(a), b.text()
	if name == validName {
		return FieldRef{h, Valid}
	}
	at := h.Type.find(name)
	if at < 0 {
		b.fail("is %q, want a field of header type %q", name, h.Type.Name)
	}
	return FieldRef{h, at}
}

// find returns the index of a field, or -1.
func (t *HeaderType) find(name string) int {
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

func (r *reader) readAliases(root *node) {
	l := root.has("field_aliases")
	if l == nil {
		return
	}
	for _, n := range l.list() {
		name, target := n.pair()
		r.aliases[name.text()] = r.field(target)
	}
}

// coreErrors are the parser errors of the core library, in the order in which they receive codes if the file has none.
var coreErrors = []string{
	"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout",
	"ParserInvalidArgument",
}

func (r *reader) readErrors(root *node) {
	used := map[int]bool{}
	if l := root.has("errors"); l != nil {
		for _, n := range l.list() {
			name, code := n.pair()
			v := code.integer(0, 1<<31-2)
			if _, twice := r.Errors[name.text()]; twice || used[v] {
				n.fail("has the name or the code %d of another error", v)
			}
			r.Errors[name.text()], used[v] = v, true
		}
	}
	next := 0
	for _, name := range coreErrors {
		if _, ok := r.Errors[name]; ok {
			continue
		}
		for used[next] {
			next++
		}
		r.Errors[name], used[next] = next, true
	}
}

func (r *reader) readSets(root *node) {
	for _, n := range root.each("parse_vsets", "value set") {
		s := &ValueSet{
			Name: n.get("name").text(), Index: len(r.ValueSets), Width: n.get("compressed_bitwidth").integer(1, maxWidth),
		}
		r.sets[s.Name] = s
		r.ValueSets = append(r.ValueSets, s)
	}
}

// maxArray is the largest number of elements of an array of registers, counters or meters.
const maxArray = 1 << 31

func (r *reader) readArrays(root *node) {
	for _, n := range root.each("meter_arrays", "meter array") {
		m := &Meter{
			Name: n.get("name").text(), Index: len(r.Meters), Rates: n.get("rate_count").integer(1, 8),
			Direct: n.flagOf("is_direct", false),
		}
		switch t := n.get("type"); t.text() {
		case "bytes":
			m.Bytes = true
		case "packets":
		default:
			t.fail("is %q, want bytes or packets", t.text())
		}
		if m.Direct {
			m.Table, m.Result = n.get("binding").text(), r.writable(n.get("result_target"))
		} else {
			m.Size = n.get("size").integer(0, maxArray)
		}
		r.meters[m.Name] = m
		r.Meters = append(r.Meters, m)
	}
	for _, n := range root.each("counter_arrays", "counter array") {
		c := &Counter{Name: n.get("name").text(), Index: len(r.Counters), Direct: n.flagOf("is_direct", false)}
		if c.Direct {
			c.Table = n.get("binding").text()
		} else {
			c.Size = n.get("size").integer(0, maxArray)
		}
		r.counters[c.Name] = c
		r.Counters = append(r.Counters, c)
	}
	for _, n := range root.each("register_arrays", "register array") {
		a := &Register{
			Name: n.get("name").text(), Index: len(r.Registers), Size: n.get("size").integer(0, maxArray),
			Width: n.get("bitwidth").integer(1, maxWidth),
		}
		r.registers[a.Name] = a
		r.Registers = append(r.Registers, a)
	}
}

// writable returns a field that may be written.
func (r *reader) writable(n *node) FieldRef {
	f := r.field(n)
	if f.Index == Valid {
		n.fail("is the validity of header %q, want a field that may be written", f.Header.Name)
	}
	return f
}

// algorithms are the supported hash algorithms.
var algorithms = map[string]bool{
	"crc16": true, "crc16_custom": true, "crc32": true, "crc32_custom": true, "crcCCITT": true, "csum16": true,
	"cksum16": true, "identity": true, "xor16": true,
}

// algorithm requires the name of a supported hash algorithm.
func algorithm(n *node) string {
	if name := n.text(); algorithms[name] {
		return name
	}
	n.fail("hash algorithm %q is not supported, want crc16, crc32, crcCCITT, csum16, identity, xor16, "+
		"crc16_custom or crc32_custom", n.text())
	return ""
}

func (r *reader) readCalculations(root *node) {
	for _, n := range root.each("calculations", "calculation") {
		c := &Calculation{Name: n.get("name").text(), Index: len(r.Calculations), Algorithm: algorithm(n.get("algo"))}
		c.Input = r.inputs(n.get("input"), true)
		r.calcs[c.Name] = c
		r.Calculations = append(r.Calculations, c)
	}
}

// inputs reads a list of fields and constants, and of headers and the payload where they are allowed.
func (r *reader) inputs(list *node, headers bool) []Input {
	var inputs []Input
	bits := 0
	for _, n := range list.list() {
		kind := n.get("type").text()
		switch {
		case kind == "field":
			in := Input{Field: r.field(n.get("value"))}
			bits += in.Field.Width()
			inputs = append(inputs, in)
		case kind == "hexstr":
			in := Input{Constant: n.get("value").hex(), Width: n.get("bitwidth").integer(1, maxWidth)}
			in.Constant.And(in.Constant, mask(in.Width))
			bits += in.Width
			inputs = append(inputs, in)
		case kind == "header" && headers:
			h := r.header(n.get("value"))
			if bits%8 != 0 {
				n.fail("header %q begins after %d bits, want whole bytes before it", h.Name, bits)
			}
			r.inputBits += h.Type.Bits + h.Type.MaxBytes*8
			inputs = append(inputs, Input{Header: h})
		case kind == "payload" && headers:
			inputs = append(inputs, Input{Payload: true})
		default:
			n.fail("is of type %q, want field or hexstr%s", kind, map[bool]string{true: ", header or payload"}[headers])
		}
	}
	if r.inputBits += bits; r.inputBits > maxBits {
		list.fail("makes more than %d bits of inputs, want fewer", maxBits)
	}
	return inputs
}

func (r *reader) readFieldLists(root *node) {
	for _, of := range []struct {
		key, kind string
		lists     map[int]*FieldList
	}{{"field_lists", "field list", r.FieldLists}, {"learn_lists", "digest", r.Digests}} {
		for _, n := range root.each(of.key, of.kind) {
			l := &FieldList{ID: n.get("id").integer(0, 1<<16-1), Parts: r.inputs(n.get("elements"), false)}
			if name := n.has("name"); name != nil {
				l.Name = name.text()
			}
			if of.lists[l.ID] != nil {
				n.fail("has the id %d of another list", l.ID)
			}
			of.lists[l.ID] = l
		}
	}
}

func (r *reader) readChecksums(root *node) {
	for _, n := range root.each("checksums", "checksum") {
		if t := n.get("type"); t.text() != "generic" {
			t.fail("is %q, want generic", t.text())
		}
		c := &Checksum{
			Name: n.get("name").text(), Target: r.writable(n.get("target")),
			Update: n.flagOf("update", true), Verify: n.flagOf("verify", true),
		}
		name := n.get("calculation")
		if c.Calculation = r.calcs[name.text()]; c.Calculation == nil {
			name.fail("is %q, want the name of a calculation", name.text())
		}
		if cond := n.has("if_cond"); cond != nil {
			c.Condition = r.expression(cond, scope{}, Boolean)
		}
		r.Checksums = append(r.Checksums, c)
	}
}

// readStandard finds the fields that the architecture uses, and requires those without which no packet can be sent.
func (r *reader) readStandard(root *node) {
	s := &r.Standard
	for _, of := range []struct {
		header, field string
		to            *FieldRef
		required      bool
	}{
		{"standard_metadata", "ingress_port", &s.IngressPort, true},
		{"standard_metadata", "packet_length", &s.PacketLength, true},
		{"standard_metadata", "instance_type", &s.InstanceType, true},
		{"standard_metadata", "egress_spec", &s.EgressSpec, true},
		{"standard_metadata", "egress_port", &s.EgressPort, true},
		{"standard_metadata", "parser_error", &s.ParserError, false},
		{"standard_metadata", "checksum_error", &s.ChecksumError, false},
		{"intrinsic_metadata", "ingress_global_timestamp", &s.IngressTime, false},
		{"intrinsic_metadata", "egress_global_timestamp", &s.EgressTime, false},
		{"intrinsic_metadata", "mcast_grp", &s.MulticastGroup, false},
		{"intrinsic_metadata", "egress_rid", &s.EgressRID, false},
		{"intrinsic_metadata", "priority", &s.Priority, false},
		{"queueing_metadata", "enq_timestamp", &s.EnqueueTime, false},
		{"queueing_metadata", "enq_qdepth", &s.EnqueueDepth, false},
		{"queueing_metadata", "deq_timedelta", &s.DequeueDelta, false},
		{"queueing_metadata", "deq_qdepth", &s.DequeueDepth, false},
		{"queueing_metadata", "qid", &s.QueueIndex, false},
	} {
		name := of.header + "." + of.field
		if f, ok := r.aliases[name]; ok {
			*of.to = f
		} else if h := r.headers[of.header]; h != nil && h.Type.find(of.field) >= 0 {
			*of.to = FieldRef{h, h.Type.find(of.field)}
		} else if of.required {
			root.fail("has no field %s, want a program for v1model", name)
		}
		if of.to.Exists() && of.to.Index == Valid {
			root.fail("field alias %s names the validity of a header, want a field", name)
		}
	}
}

// fits reports whether a number is not negative and has at most the given count of bits.
func fits(v *big.Int, bits int) bool { return v.Sign() >= 0 && v.BitLen() <= bits }

// labelled returns an element of an array with a label for messages, in place of those of the array and its index.
func (n *node) labelled(format string, args ...any) *node {
	n.label = fmt.Sprintf(format, args...)
	if _, array := n.up.value.([]any); array {
		n.up = n.up.up
	}
	return n
}
