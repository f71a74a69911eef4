package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Lists of FlyMon.
var (
	flyMonTasks   = listEntry{"FlyMon task", "tamtam-flymon:flymon-tasks", "flymon-task"}
	flyMonQueries = listEntry{"FlyMon query", "tamtam-flymon:flymon-queries", "flymon-query"}
)

// flyMonText is text that the switch reads: of keys, filters, attributes, flows.
func flyMonText(label string, choices ...choice) *argKind {
	return &argKind{label: label, choices: choices, parse: func(text string) (string, error) { return text, nil }}
}

// flyMonShare is a part of the packets. Its words are no choices: they would be
// abbreviated, and 1/3 is not 1/32.
var flyMonShare = &argKind{label: "<1 | 1/2 | 1/4 ... 1/128>", parse: func(text string) (string, error) {
	for n := range 8 {
		if share := strconv.Itoa(1 << n); text == "1/"+share && n > 0 || text == "1" {
			return text, nil
		}
	}
	return "", fmt.Errorf("%q is not a share of the packets: 1, 1/2, 1/4 ... 1/128", text)
}}

// flyMonOption is an option of a task: its leaf, and what it is without it.
type flyMonOption struct {
	leaf, def string
	kind      *argKind // nil: the word alone
	help      string
}

func flyMonOptions() []flyMonOption {
	filter := flyMonText("<FIELD=VALUE,...>", choice{"any", "All packets"})
	return []flyMonOption{
		{"flowgroup", "", nameKind(liveNames("flowgroups", "flowgroup")), "Only packets of this flow group"},
		{"filter", "", filter, "Only packets with src-ip=PREFIX, dst-ip=PREFIX, src-port=N-M, dst-port=N-M, protocol=N, ip=4"},
		{"algorithm", "auto", oneOf(choice{"auto", "Default"}, choice{"cms", "Count-Min Sketch"}, choice{"sumax-sum", "SuMax(Sum)"}, choice{"sumax-max", "SuMax(Max)"},
			choice{"mrac", "Distribution of flow sizes, and entropy"}, choice{"tower", "TowerSketch"}, choice{"counter-braids", "Counter Braids"},
			choice{"hll", "HyperLogLog"}, choice{"linear-counting", "Linear Counting"}, choice{"beaucoup", "BeauCoup"}, choice{"bloom", "Bloom filter"},
			choice{"max-interval", "Maximum inter-arrival time"}, choice{"odd-sketch", "Odd Sketch"}), "How it is measured"},
		{"memory", "49152", number(1, 1<<26), "Buckets of all rows; default 49152"},
		{"rows", "", number(1, 3), "Rows of the sketch; default those that the algorithm has"},
		{"allocation", "accurate", oneOf(choice{"accurate", "At least what is wanted; default"}, choice{"efficient", "What is nearest"}), "How memory is rounded"},
		{"epoch", "1000", number(0, 3_600_000), "Milliseconds that are counted at a time; default 1000, 0: no end"},
		{"threshold", "0", number(0, maxUint32), "From where on a flow is heavy, or has too many values"},
		{"readout", "banked", oneOf(choice{"banked", "One bank is read while the other counts; default"}, choice{"live", "Read while it counts"}), "What is read"},
		{"translation", "tcam", oneOf(choice{"tcam", "TCAM entries; default"}, choice{"shift", "Shifted keys: no TCAM, but instructions and PHV"}), "How addresses are translated"},
		{"share", "1", flyMonShare, "Part of the packets that is looked at, for tasks of the same packets; default 1"},
		{"plan", "false", nil, "Only say where it would go and what it would take"},
	}
}

func flyMonCommands() []*command {
	var (
		task  = nameKind(liveNames(flyMonTasks.container, flyMonTasks.list))
		query = nameKind(liveNames(flyMonQueries.container, flyMonQueries.list))
		key   = flyMonText("<FIELD,...>", choice{"none", "All packets are one"}, choice{"5-tuple", ""}, choice{"ip-pair", ""}, choice{"src-ip", "Or src-ip/24 and the like"},
			choice{"dst-ip", ""}, choice{"src-port", ""}, choice{"dst-port", ""}, choice{"protocol", ""}, choice{"timestamp", ""})
		attribute = flyMonText("<distinct(KEY) | existence(KEY) | similarity(KEY)>", choice{"frequency", "Packets"}, choice{"frequency(bytes)", "Bytes of frames, FCS included"},
			choice{"max(queue-length)", "Bytes in the queue, without FCS"}, choice{"max(queue-delay)", "Nanoseconds in the queue"}, choice{"max(size)", "Bytes of a frame, FCS included"},
			choice{"max(interval)", "Nanoseconds between two packets"})
		flow    = flyMonText("<VALUE,...>")
		options [][]element
	)
	for _, o := range flyMonOptions() {
		word := []element{kw(o.leaf, o.help)}
		if o.kind != nil {
			word = append(word, arg(o.leaf, o.kind, o.help))
		}
		options = append(options, word)
	}
	const taskHelp, queryHelp = "What is measured of which packets", "A flow that is answered for in each epoch"
	out := []*command{
		{modes: inTAM, form: seq("flymon"), do: enter(modeFlyMon)},
		{
			modes: inFlyMon, do: setFeature("FLYMON"),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		},
	}
	// The same commands are there as one line, for those who add and remove tasks.
	for _, at := range []struct {
		modes  []mode
		phrase string
	}{{inFlyMon, ""}, {inConfig, "tam flymon"}} {
		out = append(out,
			&command{
				modes: at.modes, do: setFlyMonTask,
				form: seq(at.phrase, kw("task", taskHelp), arg("name", task, "Name of the task"),
					kw("key", "What tells flows apart"), arg("key", key, "Fields"),
					kw("attribute", "What is measured of each flow"), arg("attribute", attribute, "Of a key such as src-ip,dst-port"), options),
				no: noForm(at.phrase, kw("task", taskHelp), arg("name", task, "Name of the task")),
			},
			&command{
				modes: at.modes, do: setFlyMonQuery,
				form: seq(at.phrase, kw("query", queryHelp), arg("name", query, "Name of the query"),
					kw("task", "The task that is asked"), arg("task", task, "Name of the task"),
					kw("flow", "Values of the fields of the task's key"), arg("flow", flow, "Values, in the order of the key")),
				no: noForm(at.phrase, kw("query", queryHelp), arg("name", query, "Name of the query")),
			})
	}
	return out
}

// setFlyMonTask writes a whole task: what the command does not name has its
// default.
func setFlyMonTask(ctx context.Context, c *call) error {
	if c.no {
		return flyMonTasks.remove(ctx, c)
	}
	config := map[string]any{"key": c.args["key"], "attribute": c.args["attribute"]}
	for _, o := range flyMonOptions() {
		switch {
		case !c.has(o.leaf):
		case o.kind == nil:
			config[o.leaf] = true
		case o.leaf == "memory" || o.leaf == "rows" || o.leaf == "epoch" || o.leaf == "threshold":
			config[o.leaf] = json.Number(c.args[o.leaf])
		default:
			config[o.leaf] = c.args[o.leaf]
		}
	}
	return flyMonTasks.write(ctx, c, "tamtam-flymon", config)
}

func setFlyMonQuery(ctx context.Context, c *call) error {
	if c.no {
		return flyMonQueries.remove(ctx, c)
	}
	return flyMonQueries.write(ctx, c, "tamtam-flymon", map[string]any{"task": c.args["task"], "flow": c.args["flow"]})
}

// write replaces an entry of a list of a module.
func (l listEntry) write(ctx context.Context, c *call, module string, config map[string]any) error {
	name := c.args["name"]
	config["name"] = name
	value := map[string]any{module + ":name": name, module + ":config": config}
	return c.sh.client.set(ctx, change{path: l.path(name), value: value, replace: true})
}

// runningFlyMon comes last, so that nothing is measured before all is said.
func (p *page) runningFlyMon(tam tree) {
	var lines page
	for _, e := range tam.sorted("flymon-tasks", "flymon-task") {
		lines.line("  task %s%s", quote(e.name()), flyMonTaskWords(e))
	}
	for _, e := range tam.sorted("flymon-queries", "flymon-query") {
		lines.line("  query %s%s", quote(e.name()), leafWords(e, "task", "flow"))
	}
	for _, f := range tam.items("features", "feature") {
		if f.name() == "FLYMON" && f.word("config", "status") == "ACTIVE" {
			lines.line("  enable")
		}
	}
	p.block("tam\n flymon", &lines)
}

// flyMonTaskWords are the words of the command behind a task's name.
func flyMonTaskWords(task tree) string {
	var b strings.Builder
	b.WriteString(leafWords(task, "key", "attribute"))
	for _, o := range flyMonOptions() {
		v := task.text("config", o.leaf)
		if v == "" || v == o.def {
			continue
		}
		b.WriteString(" " + o.leaf)
		if o.kind != nil {
			b.WriteString(" " + quote(v))
		}
	}
	return b.String()
}
