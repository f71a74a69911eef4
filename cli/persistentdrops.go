package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Tables of persistent drops.
const (
	dropCounterTable    = "DEBUG_COUNTER"
	persistentDropTable = "DEBUG_DROP_MONITOR"
	persistentDropKey   = "CONFIG"
)

// watchOptions are the options of a counter whose persistent drops raise alerts, with SONiC's options and fields.
var watchOptions = []struct{ word, short, long, field, help string }{
	{"window", "-w", "--window", "window", "Seconds for which an incident counts"},
	{"drop-count", "-dct", "--drop-count-threshold", "drop_count_threshold", "More drops in a minute are an incident"},
	{"incident-count", "-ict", "--incident-count-threshold", "incident_count_threshold",
		"More incidents within the window are an alert"},
}

// persistentDropCommands returns the commands that enable alerts of persistent drops.
func persistentDropCommands() []*kit.Command {
	counter := kit.Arg("name", &kit.Kind{Label: "<name>", Parse: kit.ParseName}, "Name of the drop counter")
	words := func() []any {
		return []any{kit.Keyword("persistent-drops", "Alerts of drops that come again and again")}
	}
	of := append(words(), kit.Keyword("counter", "Of one drop counter"), counter)
	enable, disable := kit.Keyword("enable", "Raise them"), kit.Keyword("disable", "Raise none")
	one := append(append([]any{}, of...), enable)
	for _, o := range watchOptions {
		one = append(one, kit.Opt(kit.Keyword(o.word, o.help), kit.Arg(o.word, anything, o.help)))
	}
	command := func(do func(context.Context, *kit.Call) error, parts ...any) *kit.Command {
		return &kit.Command{Modes: kit.InConfig, Form: kit.Seq(parts...), Do: do}
	}
	return []*kit.Command{
		command(func(ctx context.Context, c *kit.Call) error {
			return setRow(ctx, c.Session, persistentDropTable, persistentDropKey, []string{"status=enabled"}, true)
		}, append(words(), enable)...),
		command(disablePersistentDrops, append(words(), disable)...),
		command(watchCounter, one...),
		command(func(ctx context.Context, c *kit.Call) error {
			name := c.Args["name"]
			if _, err := c.Session.Existing(ctx, "row "+dropCounterTable+"|"+name, rowPath(dropCounterTable, name)); err != nil {
				return err
			}
			return setRow(ctx, c.Session, dropCounterTable, name, []string{"drop_monitor_status=disabled"}, false)
		}, append(append([]any{}, of...), disable)...),
	}
}

// disablePersistentDrops disables the whole feature and, as SONiC's command does, that of each counter.
func disablePersistentDrops(ctx context.Context, c *kit.Call) error {
	changes := []kit.Change{rowChange(persistentDropTable, persistentDropKey, []string{"status=disabled"}, true)}
	rows, err := c.Session.Client.All(ctx, tree.Path(rowsRoot))
	if err != nil {
		return err
	}
	for _, r := range rows.Items("row") {
		if r.Plain("table") == dropCounterTable && fieldOf(r, "drop_monitor_status") == "enabled" {
			changes = append(changes,
				rowChange(dropCounterTable, r.Plain("key"), []string{"drop_monitor_status=disabled"}, false))
		}
	}
	return c.Session.Client.Set(ctx, changes...)
}

// watchCounter enables the alerts of a counter. As with SONiC's command, the whole feature must be enabled, and the
// three numbers must be given, now or before.
func watchCounter(ctx context.Context, c *kit.Call) error {
	rows, err := c.Session.Client.All(ctx, tree.Path(rowsRoot))
	if err != nil {
		return err
	}
	var have tree.Node
	found, enabled := false, false
	for _, r := range rows.Items("row") {
		switch table, key := r.Plain("table"), r.Plain("key"); {
		case table == dropCounterTable && key == c.Args["name"]:
			have, found = r, true
		case table == persistentDropTable && key == persistentDropKey:
			enabled = fieldOf(r, "status") == "enabled"
		}
	}
	switch {
	case !found:
		return fmt.Errorf("row %s|%s does not exist", dropCounterTable, c.Args["name"])
	case !enabled:
		return errors.New("persistent drops raise no alerts at all: first enter persistent-drops enable")
	}
	fields := []string{"drop_monitor_status=enabled"}
	for _, o := range watchOptions {
		if v, given := c.Args[o.word]; given {
			fields = append(fields, o.field+"="+v)
		} else if fieldOf(have, o.field) == "" {
			return fmt.Errorf("%s is not given, and counter %s has none", o.word, c.Args["name"])
		}
	}
	return setRow(ctx, c.Session, dropCounterTable, c.Args["name"], fields, false)
}

// fieldOf returns one field of a row of CONFIG_DB, or "".
func fieldOf(row tree.Node, name string) string {
	for _, field := range row.Texts("config", "field") {
		if v, ok := strings.CutPrefix(field, name+"="); ok {
			return v
		}
	}
	return ""
}

// watchNumbers returns how many of watchOptions are among words with options.
func watchNumbers(words []string) (n int) {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			continue
		}
		for _, o := range watchOptions {
			n += kit.IntOf(words[i] == o.short || words[i] == o.long)
		}
		i++ // its value
	}
	return n
}

// clickedMonitor returns the lines for SONiC's "config dropcounters enable-monitor" and "disable-monitor".
func clickedMonitor(word string) func([]string) ([]string, error) {
	return func(words []string) ([]string, error) {
		known := map[string]string{"-c": "counter", "--counter-name": "counter"}
		form := "[-c NAME]"
		if word == "enable" {
			form = "[-c NAME [-w SECONDS] [-dct DROPS] [-ict INCIDENTS]]"
			for _, o := range watchOptions {
				known[o.short], known[o.long] = o.word, o.word
			}
		}
		counter, options := "", ""
		for len(words) > 0 {
			option := known[words[0]]
			if option == "" || len(words) == 1 {
				return nil, fmt.Errorf("%s is not understood, or has no value: want %s", words[0], form)
			}
			if option == "counter" {
				counter = " counter " + kit.Quote(words[1])
			} else {
				options += " " + option + " " + kit.Quote(words[1])
			}
			words = words[2:]
		}
		if counter == "" && options != "" {
			return nil, fmt.Errorf("the numbers are those of a counter: want %s", form)
		}
		return []string{"configure", "persistent-drops" + counter + " " + word + options}, nil
	}
}

// showPersistentDrops shows the alerts of a counter, as SONiC's command does, and whether there can be any.
func showPersistentDrops(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, _, err := dropCounters(ctx, c)
	if err != nil {
		return nil, err
	}
	status, err := c.Session.Client.All(ctx, tree.Path(persistentDrops))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() != c.Args["name"] {
			continue
		}
		alerts := e.SortedBy("time", "persistent-drops", "alert")
		return kit.Framed(kit.One(debugCounters, e), func(p *kit.Printout) {
			if len(alerts) == 0 {
				p.Line("No persistent drop alerts have been recorded")
			} else {
				p.Line("The persistent drops recorded on %s are:", e.Name())
			}
			for _, a := range alerts {
				p.Line("%s: %s", sonicTime(a.Plain("time")), a.Text("state", "text"))
			}
			switch {
			case e.Text("state", "drop-monitor-status") != "enabled":
				p.After([]string{"Not watched: drop_monitor_status of the counter is not enabled"})
			case status.Text("state", "configured") != "enabled":
				p.After([]string{"Not watched: persistent-drops is not enabled"})
			}
		}), nil
	}
	return nil, fmt.Errorf("drop counter %s does not exist", c.Args["name"])
}

// sonicTime returns a time as SONiC's command shows it.
func sonicTime(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Format("2006-01-02 15:04:05")
	}
	return text
}
