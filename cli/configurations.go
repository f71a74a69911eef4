package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/cli/buffers"
	"tamtam/cli/kit"
	"tamtam/cli/tam"
	"tamtam/cli/tree"
)

// keptRoot is the path of the stored configurations.
const keptRoot = rowsModule + ":configurations"

// operate requests an operation of the switch.
func operate(ctx context.Context, s *kit.Session, name string, input map[string]any) error {
	return s.Client.Set(ctx, kit.Change{Path: kit.OperationPath(name), Value: input})
}

// configurationNumber is the kind of a parameter: the number of an earlier configuration.
var configurationNumber = &kit.Kind{
	Label: "<0-19>", Parse: kit.Number(0, 19).Parse, Live: func(ctx context.Context, s *kit.Session) ([]string, error) {
		found, err := s.Client.All(ctx, tree.Path(keptRoot))
		var names []string
		for _, c := range found.Sorted("configuration") {
			if c.Name() != "startup" {
				names = append(names, c.Name())
			}
		}
		return names, err
	},
}

// comment returns the option whose text is stored with a configuration.
func comment() []kit.Element {
	text := &kit.Kind{Label: "<text>", Parse: parseDescription, Text: true}
	return kit.Opt(kit.Keyword("comment", "Words to keep with it"),
		kit.Arg("comment", text, "Text, to the end of the line"))
}

// configurationCommands returns the commands to save, restore and commit.
func configurationCommands() []*kit.Command {
	var (
		running = kit.Keyword("running-configuration", "What is configured now")
		startup = kit.Keyword("startup-configuration", "What the next start loads")
		earlier = kit.Keyword("configuration", "One that was saved, committed or replaced")
		which   = kit.Arg("number", configurationNumber, "Which: 0 is the newest")
		minutes = &kit.Kind{Label: "<1-1440>", Parse: kit.Number(1, 1440).Parse}
		out     []*kit.Command
	)
	add := func(do func(context.Context, *kit.Call) error, parts ...any) {
		out = append(out, &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Do: do})
	}
	copied := func(source, destination string) func(context.Context, *kit.Call) error {
		return func(ctx context.Context, c *kit.Call) error {
			in := map[string]any{"source": source, "destination": destination}
			if source == "" {
				in["source"] = c.Args["number"]
			}
			if c.Args["comment"] != "" {
				in["comment"] = c.Args["comment"]
			}
			if err := operate(ctx, c.Session, "copy", in); err != nil || destination != "startup" || source != "running" {
				return err
			}
			return warnUnconfirmed(ctx, c,
				"what was saved is not confirmed: without commit the switch goes back, not what was saved,")
		}
	}
	copies := kit.Keyword("copy", "Put one configuration in the place of another")
	add(copied("running", "startup"), kit.Keyword("write", "Save"),
		kit.Keyword("memory", "The running configuration, for the next start"),
		comment())
	add(copied("running", "startup"), copies, running, startup, comment())
	add(copied("startup", "running"), copies, startup, running)
	add(copied("", "running"), copies, earlier, which, running)
	add(copied("", "startup"), copies, earlier, which, startup, comment())
	add(copied("", "running"), kit.Keyword("rollback", "Go back to an earlier configuration"), which)
	commit := kit.Keyword("commit", "Keep what is configured as one to come back to")
	add(func(ctx context.Context, c *kit.Call) error {
		in := map[string]any{}
		if c.Args["comment"] != "" {
			in["comment"] = c.Args["comment"]
		}
		return operate(ctx, c.Session, "commit", in)
	}, commit, comment())
	add(commitConfirmed, commit, kit.Keyword("confirmed", "Go back to the last one unless commit comes in time"),
		kit.Opt(kit.Arg("minutes", minutes, "Minutes; default 10")))
	add(func(ctx context.Context, c *kit.Call) error {
		return operate(ctx, c.Session, "cancel-commit", map[string]any{})
	},
		commit, kit.Keyword("cancel", "Go back now"))
	return out
}

// commitConfirmed starts a trial of the current and later configuration. It warns to which configuration the switch
// will return without a confirmation.
func commitConfirmed(ctx context.Context, c *kit.Call) error {
	minutes := uint64(10)
	if text := c.Args["minutes"]; text != "" {
		minutes, _ = strconv.ParseUint(text, 10, 16) // its Kind has checked the number
	}
	in := map[string]any{"confirmed": json.Number(strconv.FormatUint(60*minutes, 10))}
	if err := operate(ctx, c.Session, "commit", in); err != nil {
		return err
	}
	return warnUnconfirmed(ctx, c, "without commit the switch goes back,")
}

// warnUnconfirmed prints a warning if a trial is running: when the switch returns to an earlier configuration, and to
// which one.
func warnUnconfirmed(ctx context.Context, c *kit.Call, words string) error {
	found, err := c.Session.Client.All(ctx, tree.Path(keptRoot))
	if err != nil {
		return fmt.Errorf("it is done, but whether a commit waits to be confirmed is unknown: %w", err)
	}
	for _, k := range found.Items("configuration") {
		if until := k.Text("state", "unconfirmed-until"); until != "" {
			c.Session.Warn("%s at %s, to configuration %s: %s of %s", words, when(until), k.Name(),
				k.Text("state", "kind"), when(k.Text("state", "time")))
		}
	}
	return nil
}

// when formats a time for users, with a resolution of one second.
func when(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// showHistory lists the configurations that the switch has stored.
func showHistory(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(keptRoot))
	if err != nil {
		return nil, err
	}
	entries := found.Sorted("configuration")
	var rows [][]string
	var below []string
	for _, k := range entries {
		s := k.At("state")
		rows = append(rows, []string{k.Name(), when(s.Text("time")), kit.OrDash(s.Text("user")), kit.OrDash(s.Text("kind")),
			kit.OrDash(s.Text("rows")), s.Text("comment")})
		if until := s.Text("unconfirmed-until"); until != "" {
			below = append(below, fmt.Sprintf("Not confirmed: the switch goes back to %s at %s", k.Name(), when(until)))
		}
	}
	columns := []kit.Column{kit.Col("Name", 7, 2), kit.Col("Time", 23, 2), kit.Col("User", 8, 2), kit.Col("Kind", 6, 2),
		kit.Col("Rows", 6, 2), kit.Col("Comment", 7, 0)}
	return kit.TableView(kit.One(keptRoot, found), columns, rows, below), nil
}

// showDiff shows the changes since a stored configuration. Without an argument this is the last saved one.
func showDiff(ctx context.Context, c *kit.Call) (*kit.View, error) {
	name := "startup"
	if n := c.Args["number"]; n != "" {
		name = n
	}
	at := tree.In("configuration", "name", name)
	found, err := c.Session.Client.All(ctx, tree.Path(keptRoot, at, "state"))
	if err != nil {
		return nil, err
	}
	if !found.Exists() {
		if name == "startup" {
			return nil, errors.New("nothing was saved yet; show configuration history lists what there is to compare with")
		}
		return nil, fmt.Errorf("configuration %s does not exist", name)
	}
	changes, err := c.Session.Client.All(ctx, tree.Path(keptRoot, at, tree.In2("change", "table", "*", "row-key", "*")))
	if err != nil {
		return nil, err
	}
	list := changes.Items()
	if list == nil {
		list = []tree.Node{}
	}
	var data []any
	for _, e := range list {
		data = append(data, e.Value)
	}
	return kit.NewView(map[string]any{rowsModule + ":change": data}, func(p *kit.Printout) {
		for _, e := range list {
			writeDifference(p, e)
		}
	}), nil
}

// writeDifference writes how a row has changed.
func writeDifference(p *kit.Printout, e tree.Node) {
	s := e.At("state")
	name := s.Text("table") + "|" + s.Text("row-key")
	was, is := s.Texts("was"), s.Texts("is")
	switch s.Word("kind") {
	case "ADDED":
		p.Line("+ %s", strings.Join(append([]string{name}, is...), " "))
	case "REMOVED":
		p.Line("- %s", strings.Join(append([]string{name}, was...), " "))
	default:
		p.Line("  %s", name)
		for _, f := range was {
			p.Line("-   %s", f)
		}
		for _, f := range is {
			p.Line("+   %s", f)
		}
	}
}

// clearCommands returns the commands that reset counters to zero.
func clearCommands() []*kit.Command {
	var out []*kit.Command
	add := func(kind string, parts ...any) {
		out = append(out, &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...),
			Do: func(ctx context.Context, c *kit.Call) error {
				in := map[string]any{"kind": kind}
				if name := c.Args["name"]; name != "" {
					if kind == "interfaces" || kind == "queues" {
						var err error
						if name, err = resolveInterface(ctx, c.Session, name); err != nil {
							return err
						}
					}
					in["name"] = name
				}
				return operate(ctx, c.Session, "clear-counters", in)
			}})
	}
	one := func(k *kit.Kind) []kit.Element { return kit.Maybe(k, "Only of this one") }
	var (
		reset = kit.Keyword("clear", kit.WordHelp["clear"])
		iface = &kit.Kind{Label: "<EthernetN | PortChannelN | alias>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
		text  = &kit.Kind{Label: "<name>", Parse: kit.ParseName}
		rule  = &kit.Kind{Label: "<table | table:rule>", Parse: kit.ParseName}
	)
	add("all", reset, kit.Keyword("counters", "Counters of all kinds"))
	add("interfaces", reset, "interface counters", one(iface))
	add("queues", reset, kit.Keyword("queue", "Egress queues"), "counters", one(iface))
	add("acl", reset, kit.Keyword("access-list", "ACL rules"), "counters", one(rule))
	add("copp", reset, kit.Keyword("copp", "Trap groups"), "counters", one(text))
	add("debug-counters", reset, kit.Keyword("dropcounters", "Drops by SAI's reasons"), one(text))
	add("flow-groups", reset, "tam", kit.Keyword("flow-groups", "Which packets are meant"), "counters", one(tam.GroupName))
	buffers.Clears(func(kind, name string, parts ...any) {
		out = append(out, &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...),
			Do: func(ctx context.Context, c *kit.Call) error {
				in := map[string]any{"kind": kind}
				if name != "" {
					in["name"] = name
				}
				return operate(ctx, c.Session, "clear-counters", in)
			}})
	})
	for _, f := range tam.Features() {
		if f.Word == "tail-stamping" || f.Word == "table-record" {
			add(f.Word, reset, "tam", f.Keyword(), "counters", one(text))
		}
	}
	return out
}
