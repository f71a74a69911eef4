package control

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/interp"
)

// A CLI runs commands of simple_switch_CLI.
type CLI struct {
	*interp.Switch
	out strings.Builder
}

// NewCLI returns a CLI for a switch.
func NewCLI(s *interp.Switch) *CLI { return &CLI{Switch: s} }

// A command is one command with the words that follow it.
type command struct {
	usage     string
	low, high int // number of words; high is -1 without a limit
	run       func(*CLI, []string) error
}

// maxLine bounds a line of a file.
const maxLine = 1 << 16

// Load runs the commands of a file, one per line. Empty lines and lines that begin with # are left out. It stops at the
// first error, which has the name of the file and the number of the line.
func (c *CLI) Load(in io.Reader, file string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if _, err := c.Run(lines.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w, want lines of at most %d bytes", file, n+1, err, maxLine)
	}
	return nil
}

// Run runs one command and returns what it prints.
func (c *CLI) Run(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return "", nil
	}
	name, args := words[0], words[1:]
	cmd, ok := commands[name]
	if !ok {
		return "", fmt.Errorf("command %.80q is not supported, want one like table_add, table_set_default, mirroring_add",
			name)
	}
	if len(args) < cmd.low || cmd.high >= 0 && len(args) > cmd.high {
		return "", fmt.Errorf("%s with %d words, want: %s %s", name, len(args), name, cmd.usage)
	}
	c.out.Reset()
	err := cmd.run(c, args)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return c.out.String(), err
}

func (c *CLI) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

// Tables returns the tables of both pipelines.
func tables(p *p4.Program) []*p4.Table {
	return slices.Concat(p.Ingress.Tables, p.Egress.Tables)
}

func (c *CLI) table(name string) (*p4.Table, error) {
	return find(name, "table", tables(c.Program), func(t *p4.Table) string { return t.Name })
}

func actionOf(name string, all []*p4.Action) (*p4.Action, error) {
	return find(name, "action", all, func(a *p4.Action) string { return a.Name })
}

// handle returns the handle of an entry.
func handle(text string) (uint32, error) {
	h, err := number(text, "handle", 0, 1<<32-1)
	return uint32(h), err
}

// ranked reports whether the entries of a table have priorities.
func ranked(t *p4.Table) bool { return t.Kind == p4.Ternary || t.Kind == p4.Range }

// priorityOf takes the priority from the end of the words, if the table has one.
func priorityOf(t *p4.Table, words []string) ([]string, int, error) {
	if !ranked(t) {
		return words, 0, nil
	}
	if len(words) == 0 {
		return nil, 0, fmt.Errorf("table %s is %s, want a priority at the end", t.Name, t.Kind)
	}
	p, err := number(words[len(words)-1], "priority", 0, 1<<31-1)
	if err != nil {
		return nil, 0, fmt.Errorf("table %s is %s: %w", t.Name, t.Kind, err)
	}
	return words[:len(words)-1], p, nil
}

// key returns the values of a table's key.
func key(t *p4.Table, texts []string) ([]p4.Match, error) {
	if len(texts) != len(t.Key) {
		var names []string
		for _, k := range t.Key {
			names = append(names, fmt.Sprintf("%s (%s, %d bits)", k.Name, k.Kind, k.Field.Width()))
		}
		return nil, fmt.Errorf("table %s: %d key values before =>, want %d: %s", t.Name, len(texts), len(t.Key),
			strings.Join(names, ", "))
	}
	var match []p4.Match
	for i, text := range texts {
		m, err := matchValue(text, t.Key[i])
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		match = append(match, m)
	}
	return match, nil
}

// split returns the words before and after =>.
func split(words []string) (before, after []string, err error) {
	at := slices.Index(words, "=>")
	if at < 0 {
		return nil, nil, fmt.Errorf("no => between key and arguments")
	}
	return words[:at], words[at+1:], nil
}

func (c *CLI) tableAdd(args []string) error {
	t, err := c.table(args[0])
	if err != nil {
		return err
	}
	a, err := actionOf(args[1], t.Actions)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	words, priority, err := priorityOf(t, args[2:])
	if err != nil {
		return err
	}
	before, after, err := split(words)
	if err != nil {
		return err
	}
	match, err := key(t, before)
	if err != nil {
		return err
	}
	data, err := arguments(after, a)
	if err != nil {
		return err
	}
	h, err := c.AddEntry(t, match, interp.Action(a, data...), priority)
	if err == nil {
		c.printf("Entry has been added with handle %d\n", h)
	}
	return err
}

func (c *CLI) setDefault(args []string) error {
	t, err := c.table(args[0])
	if err != nil {
		return err
	}
	a, err := actionOf(args[1], t.Actions)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	data, err := arguments(args[2:], a)
	if err != nil {
		return err
	}
	if err := c.SetDefault(t, interp.Action(a, data...)); err != nil {
		return err
	}
	var shown []string
	for i, v := range data {
		b := v.FillBytes(make([]byte, (a.Params[i].Width+7)/8))
		shown = append(shown, strings.ReplaceAll(fmt.Sprintf("% x", b), " ", ":"))
	}
	c.printf("Setting default action of %s\n%-20s %s\n%-20s %s\n", t.Name, "action:", a.Name, "runtime data:",
		strings.Join(shown, "\t"))
	return nil
}

func (c *CLI) tableModify(args []string) error {
	t, err := c.table(args[0])
	if err != nil {
		return err
	}
	a, err := actionOf(args[1], t.Actions)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	h, err := handle(args[2])
	if err != nil {
		return err
	}
	rest := args[3:]
	if len(rest) > 0 && rest[0] == "=>" {
		rest = rest[1:]
	}
	data, err := arguments(rest, a)
	if err != nil {
		return err
	}
	return c.ModifyEntry(t, h, interp.Action(a, data...))
}

// withTable makes a command of a function on a table.
func withTable(f func(*CLI, *p4.Table, []string) error) func(*CLI, []string) error {
	return func(c *CLI, args []string) error {
		t, err := c.table(args[0])
		if err != nil {
			return err
		}
		return f(c, t, args[1:])
	}
}

func deleteEntry(c *CLI, t *p4.Table, args []string) error {
	h, err := handle(args[0])
	if err != nil {
		return err
	}
	return c.DeleteEntry(t, h)
}

func setTimeout(c *CLI, t *p4.Table, args []string) error {
	h, err := handle(args[0])
	if err != nil {
		return err
	}
	ms, err := number(args[1], "timeout in milliseconds", 0, 1<<32)
	if err != nil {
		return err
	}
	return c.SetTimeout(t, h, uint64(ms))
}

// indirectAdd adds an entry that selects a member or a group.
func indirectAdd(result func(int) interp.Result) func(*CLI, *p4.Table, []string) error {
	return func(c *CLI, t *p4.Table, args []string) error {
		words, priority, err := priorityOf(t, args)
		if err != nil {
			return err
		}
		before, after, err := split(words)
		if err != nil {
			return err
		}
		if len(after) != 1 {
			return fmt.Errorf("%d words after =>, want one handle", len(after))
		}
		match, err := key(t, before)
		if err != nil {
			return err
		}
		h, err := number(after[0], "handle", 0, 1<<31-1)
		if err != nil {
			return err
		}
		entry, err := c.AddEntry(t, match, result(h), priority)
		if err == nil {
			c.printf("Adding entry to indirect match table %s\nEntry has been added with handle %d\n", t.Name, entry)
		}
		return err
	}
}

// indirectDefault sets a default that selects a member or a group.
func indirectDefault(result func(int) interp.Result) func(*CLI, *p4.Table, []string) error {
	return func(c *CLI, t *p4.Table, args []string) error {
		h, err := number(args[0], "handle", 0, 1<<31-1)
		if err != nil {
			return err
		}
		return c.SetDefault(t, result(h))
	}
}

var commands map[string]command

func init() {
	commands = map[string]command{
		"table_add":         {"TABLE ACTION KEY... => [ARGUMENT...] [PRIORITY]", 3, -1, (*CLI).tableAdd},
		"table_set_default": {"TABLE ACTION [ARGUMENT...]", 2, -1, (*CLI).setDefault},
		"table_modify":      {"TABLE ACTION HANDLE [ARGUMENT...]", 3, -1, (*CLI).tableModify},
		"table_delete":      {"TABLE HANDLE", 2, 2, withTable(deleteEntry)},
		"table_reset_default": {"TABLE", 1, 1, withTable(func(c *CLI, t *p4.Table, _ []string) error {
			c.ResetDefault(t)
			return nil
		})},
		"table_clear": {"TABLE", 1, 1, withTable(func(c *CLI, t *p4.Table, _ []string) error {
			return c.ClearTable(t)
		})},
		"table_num_entries": {"TABLE", 1, 1, withTable(func(c *CLI, t *p4.Table, _ []string) error {
			c.printf("%d\n", len(c.Entries(t)))
			return nil
		})},
		"table_set_timeout": {"TABLE HANDLE MILLISECONDS", 3, 3, withTable(setTimeout)},
		"table_indirect_add": {"TABLE KEY... => MEMBER [PRIORITY]", 3, -1,
			withTable(indirectAdd(interp.Member))},
		"table_indirect_add_with_group": {"TABLE KEY... => GROUP [PRIORITY]", 3, -1,
			withTable(indirectAdd(interp.Group))},
		"table_indirect_delete":      {"TABLE HANDLE", 2, 2, withTable(deleteEntry)},
		"table_indirect_set_default": {"TABLE MEMBER", 2, 2, withTable(indirectDefault(interp.Member))},
		"table_indirect_set_default_with_group": {"TABLE GROUP", 2, 2,
			withTable(indirectDefault(interp.Group))},
		"table_indirect_reset_default": {"TABLE", 1, 1, withTable(func(c *CLI, t *p4.Table, _ []string) error {
			c.ResetDefault(t)
			return nil
		})},
		"table_dump":                {"TABLE", 1, 1, withTable(dumpTable)},
		"table_dump_entry":          {"TABLE HANDLE", 2, 2, withTable(dumpHandle)},
		"table_dump_entry_from_key": {"TABLE KEY... [PRIORITY]", 1, -1, withTable(dumpFromKey)},
	}
	addProfileCommands()
	addArrayCommands()
	addReplicationCommands()
}
