package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Where the configurations that the switch keeps are in the tree, and what it can be asked to do.
const (
	keptRoot   = rowsModule + ":configurations"
	operations = "operations"
)

// operate asks the switch for an operation.
func (s *Shell) operate(ctx context.Context, name string, input map[string]any) error {
	return s.client.set(ctx, change{path: gpath(operations, name), value: input})
}

// configurationNumber is the number of an earlier configuration.
var configurationNumber = &argKind{
	label: "<0-19>", parse: number(0, 19).parse, live: func(ctx context.Context, s *Shell) ([]string, error) {
		found, err := s.client.all(ctx, gpath(keptRoot))
		var names []string
		for _, c := range found.sorted("configuration") {
			if c.name() != "startup" {
				names = append(names, c.name())
			}
		}
		return names, err
	},
}

// comment is words to keep with a configuration.
func comment() []element {
	text := &argKind{label: "<text>", parse: parseDescription}
	return opt(kw("comment", "Words to keep with it"), arg("comment", text, "Text, in quotes when it holds blanks"))
}

// configurationCommands save, restore and commit.
func configurationCommands() []*command {
	var (
		running = kw("running-configuration", "What is configured now")
		startup = kw("startup-configuration", "What the next start loads")
		earlier = kw("configuration", "One that was saved, committed or replaced")
		which   = arg("number", configurationNumber, "Which: 0 is the newest")
		minutes = &argKind{label: "<1-1440>", parse: number(1, 1440).parse}
		out     []*command
	)
	add := func(do func(context.Context, *call) error, parts ...any) {
		out = append(out, &command{modes: inExec, form: seq(parts...), do: do})
	}
	copied := func(source, destination string) func(context.Context, *call) error {
		return func(ctx context.Context, c *call) error {
			in := map[string]any{"source": source, "destination": destination}
			if source == "" {
				in["source"] = c.args["number"]
			}
			if c.args["comment"] != "" {
				in["comment"] = c.args["comment"]
			}
			if err := c.sh.operate(ctx, "copy", in); err != nil || destination != "startup" || source != "running" {
				return err
			}
			return warnUnconfirmed(ctx, c,
				"what was saved is not confirmed: without commit the switch goes back, not what was saved,")
		}
	}
	copies := kw("copy", "Put one configuration in the place of another")
	add(copied("running", "startup"), kw("write", "Save"), kw("memory", "The running configuration, for the next start"),
		comment())
	add(copied("running", "startup"), copies, running, startup, comment())
	add(copied("startup", "running"), copies, startup, running)
	add(copied("", "running"), copies, earlier, which, running)
	add(copied("", "startup"), copies, earlier, which, startup, comment())
	add(copied("", "running"), kw("rollback", "Go back to an earlier configuration"), which)
	commit := kw("commit", "Keep what is configured as one to come back to")
	add(func(ctx context.Context, c *call) error {
		in := map[string]any{}
		if c.args["comment"] != "" {
			in["comment"] = c.args["comment"]
		}
		return c.sh.operate(ctx, "commit", in)
	}, commit, comment())
	add(commitConfirmed, commit, kw("confirmed", "Go back to the last one unless commit comes in time"),
		opt(arg("minutes", minutes, "Minutes; default 10")))
	add(func(ctx context.Context, c *call) error { return c.sh.operate(ctx, "cancel-commit", map[string]any{}) },
		commit, kw("cancel", "Go back now"))
	return out
}

// commitConfirmed puts what is configured, and will be, on trial, and says what it would go back to.
func commitConfirmed(ctx context.Context, c *call) error {
	minutes := uint64(10)
	if text := c.args["minutes"]; text != "" {
		minutes, _ = strconv.ParseUint(text, 10, 16) // its kind has checked it
	}
	in := map[string]any{"confirmed": json.Number(strconv.FormatUint(60*minutes, 10))}
	if err := c.sh.operate(ctx, "commit", in); err != nil {
		return err
	}
	return warnUnconfirmed(ctx, c, "without commit the switch goes back,")
}

// warnUnconfirmed says when the switch goes back to what, if it will.
func warnUnconfirmed(ctx context.Context, c *call, words string) error {
	found, err := c.sh.client.all(ctx, gpath(keptRoot))
	if err != nil {
		return fmt.Errorf("it is done, but whether a commit waits to be confirmed is not known: %w", err)
	}
	for _, k := range found.items("configuration") {
		if until := k.text("state", "unconfirmed-until"); until != "" {
			c.sh.warn("%s at %s, to configuration %s: %s of %s", words, when(until), k.name(),
				k.text("state", "kind"), when(k.text("state", "time")))
		}
	}
	return nil
}

// when is a time for people: to the second.
func when(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// showHistory lists the configurations that the switch keeps.
func showHistory(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(keptRoot))
	if err != nil {
		return nil, err
	}
	entries := found.sorted("configuration")
	var rows [][]string
	var below []string
	for _, k := range entries {
		s := k.at("state")
		rows = append(rows, []string{k.name(), when(s.text("time")), orDash(s.text("user")), orDash(s.text("kind")),
			orDash(s.text("rows")), s.text("comment")})
		if until := s.text("unconfirmed-until"); until != "" {
			below = append(below, fmt.Sprintf("Not confirmed: the switch goes back to %s at %s", k.name(), when(until)))
		}
	}
	columns := []column{{"Name", 7, 2}, {"Time", 23, 2}, {"User", 8, 2}, {"Kind", 6, 2}, {"Rows", 6, 2}, {"Comment", 7, 0}}
	return tableView(one(keptRoot, found), columns, rows, below), nil
}

// showDiff shows what was changed since a configuration was kept: of the last that was saved if no other is named.
func showDiff(ctx context.Context, c *call) (*view, error) {
	name := "startup"
	if n := c.args["number"]; n != "" {
		name = n
	}
	at := keyed{"configuration", "name", name}
	found, err := c.sh.client.all(ctx, gpath(keptRoot, at, "state"))
	if err != nil {
		return nil, err
	}
	if !found.exists() {
		if name == "startup" {
			return nil, errors.New("nothing was saved yet; show configuration history lists what there is to compare with")
		}
		return nil, fmt.Errorf("configuration %s does not exist", name)
	}
	changes, err := c.sh.client.all(ctx, gpath(keptRoot, at, keyed2{"change", "table", "*", "row-key", "*"}))
	if err != nil {
		return nil, err
	}
	list := changes.items()
	if list == nil {
		list = []tree{}
	}
	var data []any
	for _, e := range list {
		data = append(data, e.v)
	}
	return &view{map[string]any{rowsModule + ":change": slices.Concat([]any{}, data)}, func(p *printout) {
		for _, e := range list {
			p.difference(e)
		}
	}}, nil
}

// difference writes how a row came to be as it is.
func (p *printout) difference(e tree) {
	s := e.at("state")
	name := s.text("table") + "|" + s.text("row-key")
	was, is := s.texts("was"), s.texts("is")
	switch s.word("kind") {
	case "ADDED":
		p.line("+ %s", strings.Join(append([]string{name}, is...), " "))
	case "REMOVED":
		p.line("- %s", strings.Join(append([]string{name}, was...), " "))
	default:
		p.line("  %s", name)
		for _, f := range was {
			p.line("-   %s", f)
		}
		for _, f := range is {
			p.line("+   %s", f)
		}
	}
}

// clearCommands have counters count from zero again.
func clearCommands() []*command {
	var out []*command
	add := func(kind string, parts ...any) {
		out = append(out, &command{modes: inExec, form: seq(parts...), do: func(ctx context.Context, c *call) error {
			in := map[string]any{"kind": kind}
			if name := c.args["name"]; name != "" {
				if kind == "interfaces" || kind == "queues" {
					var err error
					if name, err = c.sh.resolve(ctx, name); err != nil {
						return err
					}
				}
				in["name"] = name
			}
			return c.sh.operate(ctx, "clear-counters", in)
		}})
	}
	one := func(k *argKind) []element { return maybe(k, "Only of this one") }
	var (
		reset = kw("clear", wordHelp["clear"])
		iface = &argKind{label: "<EthernetN | PortChannelN | alias>", parse: parseName, live: liveInterfaces}
		text  = &argKind{label: "<name>", parse: parseName}
		rule  = &argKind{label: "<table | table:rule>", parse: parseName}
	)
	add("all", reset, kw("counters", "Counters of all kinds"))
	add("interfaces", reset, "interface counters", one(iface))
	add("queues", reset, kw("queue", "Egress queues"), "counters", one(iface))
	add("acl", reset, kw("access-list", "ACL rules"), "counters", one(rule))
	add("copp", reset, kw("copp", "Trap groups"), "counters", one(text))
	add("debug-counters", reset, kw("dropcounters", "Drops by SAI's reasons"), one(text))
	add("flow-groups", reset, "tam", kw("flow-groups", "Which packets are meant"), "counters", one(groupName))
	add("tail-stamping", reset, "tam", kw("tail-stamping", "Latency in the packets"), "counters", one(text))
	add("table-record", reset, "tam", kw("table-record", "Tables that packets ran"), "counters", one(text))
	return out
}
