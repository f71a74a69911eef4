package control

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/interp"
)

// An STF is a test in the format of p4c's STF files: entries, packets and expected packets. Each statement is on a line
// of its own.
type STF struct {
	File  string
	steps []step
}

// A step is one statement.
type step struct {
	line int
	run  func(*stfRun) error
}

// An stfRun is one run of a test.
type stfRun struct {
	cli      *CLI
	entries  map[string]uint32 // handles of entries that have a name
	expected map[uint32][]expectation
	any      map[uint32]bool // ports on which any packet is expected
	failures []string
	at       uint64
}

// An expectation is an expected packet: hexadecimal digits and * for any digit. A packet may be longer unless exact is
// set.
type expectation struct {
	line  int
	data  string
	exact bool
}

// passed are the commands of simple_switch_CLI that STF files pass through.
var passed = strings.Fields(`mirroring_add mirroring_add_mc mirroring_delete mc_mgrp_create mc_node_create
	mc_node_update mc_node_associate counter_read counter_write register_read register_write register_reset
	meter_get_rates meter_set_rates meter_array_set_rates`)

// ReadSTF reads a test for a program. An error has the line.
func ReadSTF(in io.Reader, file string, p *p4.Program) (*STF, error) {
	s := &STF{File: file}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxPacketLine)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		run, err := statement(strings.TrimSpace(text), n, p)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		s.steps = append(s.steps, step{n, run})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// maxPacketLine bounds a line: a packet of 65,535 bytes in hexadecimal, with spaces.
const maxPacketLine = 1 << 18

// between is the time between packets in nanoseconds.
const between = 1_000_000

// Run applies the entries, sends the packets, and returns a line for each expectation that does not hold. A statement
// that fails is an error.
func (s *STF) Run(sw *interp.Switch) ([]string, error) {
	r := &stfRun{
		cli: NewCLI(sw), entries: map[string]uint32{}, expected: map[uint32][]expectation{}, any: map[uint32]bool{},
		at: sw.Now(),
	}
	for _, st := range s.steps {
		if err := st.run(r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", s.File, st.line, err)
		}
	}
	if !sw.Drain(1 << 62) {
		return nil, fmt.Errorf("%s: packets remain in queues", s.File)
	}
	r.compare(sw.Sent())
	for i, f := range r.failures {
		r.failures[i] = s.File + ": " + f
	}
	return r.failures, nil
}

// compare compares the packets of each port with those that are expected there, in their order.
func (r *stfRun) compare(sent []interp.Frame) {
	byPort := map[uint32][][]byte{}
	for _, f := range sent {
		byPort[f.Port] = append(byPort[f.Port], f.Data)
	}
	var ports []uint32
	for p := range byPort {
		ports = append(ports, p)
	}
	for p := range r.expected {
		if byPort[p] == nil {
			ports = append(ports, p)
		}
	}
	slices.Sort(ports)
	for _, p := range ports {
		got, want := byPort[p], r.expected[p]
		for i, e := range want[:min(len(want), len(got))] {
			if !e.matches(hex.EncodeToString(got[i])) {
				r.failures = append(r.failures, fmt.Sprintf("line %d: port %d, packet %d is %x, want %s", e.line, p, i+1,
					got[i], e.data))
			}
		}
		if len(got) < len(want) {
			r.failures = append(r.failures, fmt.Sprintf("line %d: port %d sent %d packets, want %d", want[len(got)].line,
				p, len(got), len(want)))
		}
		if len(got) > len(want) && !r.any[p] {
			r.failures = append(r.failures, fmt.Sprintf("port %d sent %d packets, want %d; packet %d is %x", p, len(got),
				len(want), len(want)+1, got[len(want)]))
		}
	}
}

// matches compares a packet's digits with the expectation.
func (e *expectation) matches(digits string) bool {
	if len(digits) < len(e.data) || e.exact && len(digits) != len(e.data) {
		return false
	}
	for i := range len(e.data) {
		if e.data[i] != '*' && e.data[i] != digits[i] {
			return false
		}
	}
	return true
}

// statement reads one statement and returns what runs it.
func statement(text string, line int, p *p4.Program) (func(*stfRun) error, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word = strings.ToLower(word); word {
	case "packet":
		return packetStatement(rest)
	case "expect":
		return expectStatement(rest, line)
	case "wait", "no_packet":
		if strings.TrimSpace(rest) != "" {
			return nil, fmt.Errorf("%s with words after it, want none", word)
		}
		return func(*stfRun) error { return nil }, nil
	case "remove":
		if strings.ToLower(strings.TrimSpace(rest)) != "all" {
			return nil, fmt.Errorf("remove %.80q, want remove all", rest)
		}
		return removeAll, nil
	case "add", "setdefault", "check_counter":
		t, err := newTokens(rest)
		if err != nil {
			return nil, err
		}
		run, err := map[string]func(*tokens, *p4.Program) (func(*stfRun) error, error){
			"add": addStatement, "setdefault": defaultStatement, "check_counter": counterStatement,
		}[word](t, p)
		if err == nil && len(t.words) > 0 {
			err = fmt.Errorf("%.80q after the statement", t.words[0])
		}
		return run, err
	}
	if slices.Contains(passed, word) {
		return func(r *stfRun) error {
			_, err := r.cli.Run(word + " " + rest)
			return err
		}, nil
	}
	return nil, fmt.Errorf("statement %.80q is not supported, want packet, expect, add, setdefault, check_counter, "+
		"wait, remove all, or one of %s", word, strings.Join(passed, ", "))
}

// portOf takes the port from the front of a text.
func portOf(text string) (uint32, string, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	port, err := strconv.ParseUint(word, 10, 16)
	if err != nil {
		return 0, "", fmt.Errorf("port %.80q, want 0 to 65535", word)
	}
	return uint32(port), strings.ToLower(strings.Join(strings.Fields(rest), "")), nil
}

func packetStatement(text string) (func(*stfRun) error, error) {
	port, digits, err := portOf(text)
	if err != nil {
		return nil, err
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("packet: %w, want two hexadecimal digits per byte", err)
	}
	return func(r *stfRun) error {
		r.at += between
		return r.cli.Receive(port, r.at, data)
	}, nil
}

func expectStatement(text string, line int) (func(*stfRun) error, error) {
	port, digits, err := portOf(text)
	if err != nil {
		return nil, err
	}
	e := expectation{line: line}
	e.data, e.exact = strings.CutSuffix(digits, "$")
	if strings.Trim(e.data, "0123456789abcdef*") != "" {
		return nil, fmt.Errorf("expect %.80q, want hexadecimal digits, * for any digit, and $ at an exact end", e.data)
	}
	return func(r *stfRun) error {
		if digits == "" {
			r.any[port] = true
		} else {
			r.expected[port] = append(r.expected[port], e)
		}
		return nil
	}, nil
}

func removeAll(r *stfRun) error {
	for _, t := range tables(r.cli.Program) {
		if !t.Const {
			if err := r.cli.ClearTable(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// tokens are the words and signs of a statement.
type tokens struct{ words []string }

var tokenForm = regexp.MustCompile(`^(?:"[^"]+"|0[xX][0-9a-fA-F*]+|0[bB][01*]+|[0-9]+|[A-Za-z_$][A-Za-z0-9_$]*|` +
	`==|!=|<=|>=|[:,.\[\]()/=<>])`)

func newTokens(text string) (*tokens, error) {
	t := &tokens{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		word := tokenForm.FindString(text)
		if word == "" {
			return nil, fmt.Errorf("%.40q is not a name, number or sign of an STF statement", text)
		}
		t.words = append(t.words, word)
		text = text[len(word):]
	}
	return t, nil
}

// peek returns the word at an offset, or "".
func (t *tokens) peek(at int) string {
	if at < len(t.words) {
		return t.words[at]
	}
	return ""
}

// next takes one word.
func (t *tokens) next() string {
	w := t.peek(0)
	if w != "" {
		t.words = t.words[1:]
	}
	return w
}

// want takes a sign that must be there.
func (t *tokens) want(sign string) error {
	if w := t.next(); w != sign {
		return fmt.Errorf("%.40q, want %q", w, sign)
	}
	return nil
}

// name takes a name with dots and indexes.
func (t *tokens) name() (string, error) {
	w := t.next()
	if w == "" || strings.ContainsAny(w[:1], "0123456789:,.[]()/=<>!") {
		return "", fmt.Errorf("%.40q, want a name", w)
	}
	name := strings.Trim(w, `"`)
	for {
		switch {
		case t.peek(0) == "." && t.peek(1) != "":
			t.next()
			name += "." + strings.Trim(t.next(), `"`)
		case t.peek(0) == "[" && t.peek(2) == "]":
			t.next()
			name += "[" + t.next() + "]"
			t.next()
		default:
			return name, nil
		}
	}
}

// ending returns the object with a name, or the only one whose name ends in it.
func ending[T any](text, kind string, all []T, name func(T) string) (T, error) {
	if o, err := find(text, kind, all, name); err == nil {
		return o, nil
	}
	var found []T
	for _, o := range all {
		if strings.HasSuffix(name(o), text) {
			found = append(found, o)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return find(text, kind, all, name)
}

func tableNamed(name string, p *p4.Program) (*p4.Table, error) {
	return ending(name, "table", tables(p), func(t *p4.Table) string { return t.Name })
}

// call reads ACTION(NAME:VALUE, ...).
func (t *tokens) call(table *p4.Table) (interp.Result, error) {
	none := interp.Result{}
	name, err := t.name()
	if err != nil {
		return none, err
	}
	a, err := ending(name, "action", table.Actions, func(a *p4.Action) string { return a.Name })
	if err != nil {
		return none, fmt.Errorf("table %s: %w", table.Name, err)
	}
	if err := t.want("("); err != nil {
		return none, err
	}
	data := make([]*big.Int, len(a.Params))
	for t.peek(0) != ")" {
		arg, text := t.next(), ""
		if err := t.want(":"); err != nil {
			return none, err
		}
		text = t.next()
		i := slices.IndexFunc(a.Params, func(p p4.Param) bool { return p.Name == strings.Trim(arg, `"`) })
		if i < 0 {
			return none, fmt.Errorf("action %s has no parameter %.80q", a.Name, arg)
		}
		if data[i], err = value(text, a.Params[i].Width); err != nil {
			return none, fmt.Errorf("action %s, argument %s: %w", a.Name, arg, err)
		}
		if t.peek(0) == "," {
			t.next()
		} else if t.peek(0) != ")" {
			return none, fmt.Errorf("%.40q, want , or )", t.peek(0))
		}
	}
	t.next()
	for i, v := range data {
		if v == nil {
			return none, fmt.Errorf("action %s: no argument %s", a.Name, a.Params[i].Name)
		}
	}
	return interp.Action(a, data...), nil
}

func defaultStatement(t *tokens, p *p4.Program) (func(*stfRun) error, error) {
	name, err := t.name()
	if err != nil {
		return nil, err
	}
	table, err := tableNamed(name, p)
	if err != nil {
		return nil, err
	}
	result, err := t.call(table)
	if err != nil {
		return nil, err
	}
	return func(r *stfRun) error { return r.cli.SetDefault(table, result) }, nil
}

// addStatement reads: TABLE [PRIORITY] KEY:VALUE... ACTION(...) [= NAME]. The highest priority wins. It becomes 10000
// less the priority, as in p4c's test runner.
func addStatement(t *tokens, p *p4.Program) (func(*stfRun) error, error) {
	name, err := t.name()
	if err != nil {
		return nil, err
	}
	table, err := tableNamed(name, p)
	if err != nil {
		return nil, err
	}
	priority := 0
	if w := t.peek(0); w != "" && strings.Trim(w, "0123456789") == "" {
		if priority, err = number(t.next(), "priority", 0, 10000); err != nil {
			return nil, err
		}
		priority = 10000 - priority
	} else if ranked(table) {
		return nil, fmt.Errorf("table %s is %s, want a priority after its name", table.Name, table.Kind)
	}
	if !ranked(table) {
		priority = 0
	}
	match, err := t.keys(table)
	if err != nil {
		return nil, err
	}
	result, err := t.call(table)
	if err != nil {
		return nil, err
	}
	id := ""
	if t.peek(0) == "=" {
		t.next()
		if id = t.next(); id == "" {
			return nil, fmt.Errorf("no name after =")
		}
	}
	return func(r *stfRun) error {
		h, err := r.cli.AddEntry(table, match, result, priority)
		if err == nil && id != "" {
			r.entries[strings.TrimPrefix(id, "$")] = h
		}
		return err
	}, nil
}

// keys reads the keys of an entry. A key that is not given is 0, and matches everything where its kind allows.
func (t *tokens) keys(table *p4.Table) ([]p4.Match, error) {
	match := make([]p4.Match, len(table.Key))
	for i, k := range table.Key {
		match[i] = p4.Match{Kind: k.Kind, Value: new(big.Int), Mask: new(big.Int), High: limit(k.Field.Width())}
	}
	for {
		saved := t.words
		name, err := t.name()
		if err != nil {
			return nil, err
		}
		if t.peek(0) != ":" {
			t.words = saved
			return match, nil
		}
		t.next()
		i := keyNamed(name, table)
		if i < 0 {
			return nil, fmt.Errorf("table %s has no key %.80q", table.Name, name)
		}
		text := t.next()
		if t.peek(0) == "/" {
			t.next()
			text += "/" + t.next()
		}
		if match[i], err = stfMatch(text, table.Key[i]); err != nil {
			return nil, fmt.Errorf("table %s: key %s: %w", table.Name, table.Key[i].Name, err)
		}
	}
}

var stackIndex = regexp.MustCompile(`^(.*)\$([0-9]+)(.*)$`)

// keyNamed returns the index of a key by one of the names that STF files use for it, or -1.
func keyNamed(name string, t *p4.Table) int {
	if m := stackIndex.FindStringSubmatch(name); m != nil {
		name = m[1] + "[" + m[2] + "]" + m[3]
	}
	names := []string{name, name + "$", name + ".$valid$"}
	if head, ok := strings.CutSuffix(name, ".valid"); ok {
		names = append(names, head+".$valid$", head+"$valid$")
	}
	for _, n := range names {
		if i := slices.IndexFunc(t.Key, func(k p4.Key) bool { return k.Name == n }); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(t.Key, func(k p4.Key) bool {
		return strings.HasSuffix(k.Name, "."+name) || strings.HasSuffix(k.Name, "."+name+"$") ||
			name == "valid" && strings.HasSuffix(k.Name, "$valid$")
	})
}

// stfMatch reads the value of a key. A * is a digit that matches anything. The mask of a ternary key, and the prefix
// length of an lpm key without one, cover the digits that are written, as in p4c's test runner.
func stfMatch(text string, k p4.Key) (m p4.Match, err error) {
	stars := strings.Count(text, "*")
	plain := strings.ReplaceAll(text, "*", "0")
	prefixed := len(text) > 2 && text[0] == '0' && strings.ContainsAny(text[1:2], "xXbB")
	perDigit, full := 4, "f"
	if prefixed && strings.ContainsAny(text[1:2], "bB") {
		perDigit, full = 1, "1"
	}
	m.Kind = k.Kind
	switch {
	case k.Kind == p4.LPM && strings.Contains(text, "/"):
		return matchValue(text, k)
	case k.Kind == p4.LPM && prefixed:
		if trailing := strings.TrimRight(text, "*"); len(text)-len(trailing) != stars {
			return m, fmt.Errorf("%.80q, want * only at the end", text)
		}
		return matchValue(plain+"/"+strconv.Itoa((len(text)-2-stars)*perDigit), k)
	case k.Kind == p4.Ternary && prefixed:
		mask := text[:2] + strings.Map(func(r rune) rune {
			if r == '*' {
				return '0'
			}
			return rune(full[0])
		}, text[2:])
		all, _ := integer(mask)
		if m.Value, err = value(plain, k.Field.Width()); err == nil {
			m.Mask = new(big.Int).And(all, limit(k.Field.Width()))
		}
		return m, err
	case k.Kind == p4.Exact && stars == 0:
		return matchValue(text, k)
	}
	return m, fmt.Errorf("%.80q is not a value of a key of kind %s, want one like 0x0a", text, k.Kind)
}

// counterStatement reads: NAME(INDEX) packets|bytes COMPARISON NUMBER.
func counterStatement(t *tokens, p *p4.Program) (func(*stfRun) error, error) {
	name, err := t.name()
	if err != nil {
		return nil, err
	}
	counter, err := ending(name, "counter", p.Counters, func(c *p4.Counter) string { return c.Name })
	if err != nil {
		return nil, err
	}
	if err := t.want("("); err != nil {
		return nil, err
	}
	index := t.next()
	if err := t.want(")"); err != nil {
		return nil, err
	}
	what, comparison := strings.ToLower(t.next()), t.next()
	want, err := number(t.next(), "number", 0, 1<<62)
	if err != nil {
		return nil, err
	}
	if what != "packets" && what != "bytes" || !slices.Contains(strings.Fields("== != <= >= < >"), comparison) {
		return nil, fmt.Errorf("%.20q %.20q, want packets or bytes, and a comparison", what, comparison)
	}
	return func(r *stfRun) error {
		count, err := r.count(counter, index)
		if err != nil {
			return err
		}
		got := count.Packets
		if what == "bytes" {
			got = count.Bytes
		}
		if !compare(got, comparison, uint64(want)) {
			r.failures = append(r.failures, fmt.Sprintf("counter %s(%s): %s is %d, want %s %d", counter.Name, index, what,
				got, comparison, want))
		}
		return nil
	}, nil
}

// count returns a counter by its index, or by the name of an entry.
func (r *stfRun) count(c *p4.Counter, index string) (interp.Count, error) {
	h, named := r.entries[strings.TrimPrefix(index, "$")]
	if !named {
		i, err := number(index, "index", 0, 1<<32-1)
		if err != nil {
			return interp.Count{}, err
		}
		if !c.Direct {
			return r.cli.Counter(c, i)
		}
		h = uint32(i)
	}
	t, err := tableNamed(c.Table, r.cli.Program)
	if err != nil {
		return interp.Count{}, fmt.Errorf("counter %s is not direct, want an index: %w", c.Name, err)
	}
	e, err := r.cli.Entry(t, h)
	if err != nil {
		return interp.Count{}, err
	}
	return e.Count, nil
}

func compare(a uint64, comparison string, b uint64) bool {
	switch comparison {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "<=":
		return a <= b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return a > b
}
