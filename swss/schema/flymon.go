package schema

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/tam/flymon"
)

// FlyMon in the databases.
const (
	FeatureFlyMon = "FLYMON"

	CfgTAMFlyMonTask    = "TAM_FLYMON_TASK_TABLE"
	CfgTAMFlyMonQuery   = "TAM_FLYMON_QUERY_TABLE"
	AppTAMFlyMonTask    = "TAM_FLYMON_TASK_TABLE"
	AppTAMFlyMonQuery   = "TAM_FLYMON_QUERY_TABLE"
	StateTAMFlyMonTask  = "TAM_STATE_FLYMON_TASK_TABLE"
	StateTAMFlyMonQuery = "TAM_STATE_FLYMON_QUERY_TABLE"
	// StateTAMFlyMonPlace stores where in the chip tasks are, and since when they count, for the next run.
	StateTAMFlyMonPlace  = "TAM_STATE_FLYMON_PLACE_TABLE"
	CountersFlyMonPlace  = "TAM_FLYMON_PLACEMENT"    // :task -> see FlyMonPlacement
	CountersFlyMonGroup  = "TAM_FLYMON_GROUPS"       // :group -> see FlyMonGroup
	CountersFlyMonResult = "TAM_FLYMON_RESULTS"      // :task -> see FlyMonResult
	CountersFlyMonFlows  = "TAM_FLYMON_FLOWS"        // :task -> flow -> see FormatFlyMonEstimate
	CountersFlyMonChange = "TAM_FLYMON_CHANGES"      // :task -> flow -> see FormatFlyMonChange
	CountersFlyMonSizes  = "TAM_FLYMON_DISTRIBUTION" // :task -> least size -> see FormatFlyMonEstimate
	CountersFlyMonAnswer = "TAM_FLYMON_ANSWERS"      // :query -> see FormatFlyMonEstimate
)

func flyMonTables() (configured, measured []Table) {
	configured = []Table{
		ofBoth(Table{Config: CfgTAMFlyMonTask, Appl: AppTAMFlyMonTask, State: StateTAMFlyMonTask,
			Words: "A task that measures flows by a sketch."}, FlyMonTask{}, FlyMonFlow{}),
		of(Table{Config: CfgTAMFlyMonQuery, Appl: AppTAMFlyMonQuery, State: StateTAMFlyMonQuery,
			Words: "A flow that a task is asked about in each epoch."}, FlyMonQuery{}),
	}
	const estimateForm = "JSON of an estimate"
	return configured, []Table{
		of(Table{Counters: CountersFlyMonPlace, Labels: []string{"task"},
			Words: "Where a task is, or, of a plan, would go, and what it takes."},
			FlyMonPlacement{}),
		of(Table{Counters: CountersFlyMonGroup, Labels: []string{"group"},
			Words: "What of a CMU group is in use."}, FlyMonGroup{}),
		of(Table{Counters: CountersFlyMonResult, Labels: []string{"task"},
			Words: "A task's last epoch; without epochs all that was counted so far."},
			FlyMonResult{}),
		{Counters: CountersFlyMonFlows, Words: "Flows of a task's last epoch.", Key: "the task's name",
			Fields: []Field{{Name: "flow", Form: estimateForm}}},
		{Counters: CountersFlyMonChange,
			Words: "Flows whose counts in a task's last two epochs differ by the change threshold. Both are whole.",
			Key:   "the task's name",
			Fields: []Field{{Name: "flow", Form: estimateForm,
				Words: "By how much, with the counts before and after as members."}}},
		{Counters: CountersFlyMonSizes,
			Words: "How many flows of a task's last epoch have which size.", Key: "the task's name",
			Fields: []Field{{Name: "least size", Form: estimateForm,
				Words: "Of the number of flows from it to less than its double."}}},
		{Counters: CountersFlyMonAnswer, Words: "The last answer to a query.", Key: "the query's name", Fields: withLeaves(
			Field{Name: "TASK", Form: "a name", Words: "The task that was asked."},
			Field{Name: "FLOW", Form: "text", Words: "Of which flow."},
			Field{Name: "EPOCH", Form: "a number", Words: "Number of the epoch."},
			Field{Name: "START", Form: "a number", Words: "In ns since 1970."},
			Field{Name: "END", Form: "a number", Words: "In ns since 1970."},
			Field{Name: "FLAGS", Form: "text", Words: "What is wrong with the epoch.", Parts: ","},
			Field{Name: "ESTIMATE", Form: estimateForm, Words: "The answer.", Leaf: noLeaf})},
	}
}

// FlyMonTask is a row of TAM_FLYMON_TASK_TABLE. In CONFIG_DB it may name a flow group. In APPL_DB the group's match
// is the filter (FlyMonFlow).
type FlyMonTask struct {
	Name      string
	FlowGroup string // "" if Filter is given
	flymon.Task
}

// taskName returns the key of tasks: a chip accepts only names of limited length.
func taskName(at *string) key {
	const form = "at most 64 characters"
	name := named(at)
	return key{form: "a name of " + form, read: func(r *reader, key string) {
		if name.parse(r, key); len(key) > 64 {
			r.bad("", key, form)
		}
	}}
}

func (t *FlyMonTask) layout() layout {
	return layout{
		table: CfgTAMFlyMonTask,
		key:   taskName(&t.Name),
		fields: append([]field{
			own("flowgroup", "a name",
				"The flow group whose packets are measured. Either this or filter. In APPL_DB its match is the filter.",
				func(r *reader) {
					if t.FlowGroup = r.name("flowgroup", ""); t.FlowGroup != "" && r.fields["filter"] != "" {
						r.bad("filter", r.fields["filter"], "either filter or flowgroup")
					}
				}, func() string { return t.FlowGroup }).to(CfgTAMFlowGroup),
		}, flyMonTaskFields(&t.Task)...),
		check: func(r *reader) {
			r.unknown()
			r.whole(t.Check)
		},
		format: func(f map[string]string) {
			if t.FlowGroup != "" {
				delete(f, "filter")
			}
		},
	}
}

// flyMonTaskFields returns the fields that a task has in both databases.
func flyMonTaskFields(t *flymon.Task) []field {
	return []field{
		parsed("filter", "any", flymon.FilterWords, flymon.ParseFilter, &t.Filter, "Which packets are measured."),
		parsed("key", "none", flymon.KeyWords, flymon.ParseKey, &t.Key, "The packet fields that identify a flow."),
		parsed("attribute", "", flymon.AttributeWords, flymon.ParseAttribute, &t.Attribute, "What is measured of each flow."),
		word("algorithm", string(flymon.Auto), algorithms(), (*string)(&t.Algorithm),
			"How it is measured; auto: the planner chooses."),
		number("memory", 1, flymon.MaxMemory, flymon.DefaultMemory, &t.Memory, "Buckets of all rows together."),
		optional("rows", 1, flymon.MaxRows, &t.Rows,
			"Rows of the sketch; without it, as many as the algorithm has by itself."),
		flag("allocation", "accurate", "efficient", true, &t.Accurate,
			"At least the memory that is wanted, or what is nearest to it."),
		duration("epoch", time.Millisecond, 0, flymon.MaxEpoch/uint64(time.Millisecond), flymon.DefaultEpoch, &t.Epoch,
			"How long it is counted, in ms; 0: until it is cleared."),
		number("threshold", 0, 1<<32-1, 0, &t.Threshold,
			"Lowest value at which a flow is heavy, or has too many distinct values; 0 if there is none."),
		number("change-threshold", 0, 1<<32-1, 0, &t.ChangeThreshold,
			"Lowest change of a flow's count between epochs that is heavy; 0 if there is none."),
		either("readout", "banked", "live", &t.Live,
			"Banked: of two banks one is read while the other counts; live: one is read while it counts."),
		either("translation", "tcam", "shift", &t.Shifted, "How addresses are translated."),
		own("share", shareForm, "The part of the packets that the task sees.", func(r *reader) {
			v, ok := r.value("share")
			if n, good := parseShare(v); good {
				t.Share = n
			} else if ok {
				r.bad("share", v, shareForm)
			}
		}, func() string {
			if t.Share == 0 {
				return "1"
			}
			return "1/" + utoa(uint32(1)<<t.Share)
		}).or("1"),
		boolean("pinned", false, &t.Pinned,
			"Whether the task stays where it is: the planner never moves it, for another task or with a new filter."),
		boolean("plan", false, &t.Plan, "Whether only the cost of the task is reported, and nothing deployed."),
	}
}

func algorithms() (words []string) {
	for _, a := range flymon.Algorithms() {
		words = append(words, string(a))
	}
	return words
}

const shareForm = "1, 1/2, 1/4 ... 1/128"

func parseShare(s string) (uint8, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "1/"), 10, 8)
	for i := range uint8(flymon.MaxShare + 1) {
		if err == nil && n == 1<<i && (i == 0) == (s == "1") {
			return i, true
		}
	}
	return 0, false
}

// FlyMonFlow is a row of APPL_DB TAM_FLYMON_TASK_TABLE: the task with the match of its flow group as filter.
type FlyMonFlow struct {
	Name string
	Of   string // name of the flow group whose match is the filter; "" if there is none
	flymon.Task
}

func (t *FlyMonFlow) layout() layout {
	return layout{
		table: AppTAMFlyMonTask,
		key:   taskName(&t.Name),
		fields: append([]field{
			own("flowgroup", "a name", "The flow group whose match is the filter, if it is one.", func(r *reader) {
				if t.Of = r.text("flowgroup"); t.Of != "" && r.fields["filter"] == "" {
					r.bad("flowgroup", t.Of, "its match beside it, as filter")
				}
			}, func() string { return t.Of }),
		}, flyMonTaskFields(&t.Task)...),
		check: func(r *reader) {
			r.unknown()
			r.whole(t.Check)
		},
	}
}

// FlyMonQuery is a row of TAM_FLYMON_QUERY_TABLE: a flow whose estimate is computed in each epoch.
type FlyMonQuery struct {
	Name, Task string
	Flow       string // a flow in the syntax of flymon.Key.Flow, for the key of the task or else of its attribute
}

func (q *FlyMonQuery) layout() layout {
	return layout{
		table: CfgTAMFlyMonQuery,
		key:   named(&q.Name),
		fields: []field{
			name("task", "", &q.Task, "The task that is asked.").must("the name of a task").to(CfgTAMFlyMonTask),
			own("flow", flowForm, "Of which flow.", func(r *reader) {
				if q.Flow = r.text("flow"); q.Flow == "" || len(q.Flow) > 256 {
					r.bad("flow", q.Flow, flowForm)
				}
			}, func() string { return q.Flow }).must(""),
		},
	}
}

const flowForm = "the values of the task's key, with commas between"

// FlyMonPlacement is a row of COUNTERS_DB TAM_FLYMON_PLACEMENT: the place and resources of a task. If Planned is set,
// they are only planned.
type FlyMonPlacement struct {
	Planned   bool
	Algorithm flymon.Algorithm
	Rows      uint32
	Buckets   uint32 // number of buckets that the task uses in one bank
	Banks     uint32
	Bytes     uint64 // size of all banks in bytes
	Groups    []int
	Units     []string // group.cmu:base+size
	Keys      []string // group.unit=key
	Rules     uint32
	Tcam      uint32 // number of TCAM entries for address translation and maps
	Expected  string // the expected error, in words
	// Translation describes the translation of addresses and its resources, in words.
	Translation string
}

func (p *FlyMonPlacement) layout() layout {
	return layout{
		table: CountersFlyMonPlace, open: true,
		key: about("the task's name"),
		fields: []field{
			boolean("PLANNED", false, &p.Planned, "Whether it is only planned."),
			text("ALGORITHM", (*string)(&p.Algorithm), "How it is measured.").always(),
			count("ROWS", &p.Rows, "Rows of the sketch."),
			count("BUCKETS", &p.Buckets, "Buckets of one bank.").metric("flymon_buckets", ""),
			count("BANKS", &p.Banks, "Banks, which count in turn."),
			count("BYTES", &p.Bytes, "Bytes of all banks.").metric("flymon_bytes", ""),
			parts("GROUPS", ",", &p.Groups, intPart, "The CMU groups."),
			parts("UNITS", ",", &p.Units, stringPart, "group.cmu:base+size of each row."),
			parts("KEYS", ";", &p.Keys, stringPart, "group.unit=key of the hash units.").leaf("hash-units"),
			count("RULES", &p.Rules, "Rules in the chip.").metric("flymon_rules", ""),
			count("TCAM_ENTRIES", &p.Tcam, "Entries of address translation and maps."),
			text("EXPECTED", &p.Expected, "What error to expect, in words.").always(),
			text("TRANSLATION", &p.Translation, "How addresses are translated, and what that takes, in words.").always(),
		},
	}
}

// A part defines how an element of a list is parsed and formatted.
type part[E any] struct {
	parse  func(string) (E, error)
	format func(E) string
}

var (
	stringPart = part[string]{func(s string) (string, error) { return s, nil }, func(s string) string { return s }}
	intPart    = part[int]{strconv.Atoi, strconv.Itoa}
	countPart  = part[uint32]{func(s string) (uint32, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err
	}, utoa[uint32]}
)

// parts returns a field with a list, in order.
func parts[E any](name, separator string, at *[]E, of part[E], words string) field {
	form := "list, separated by " + separator
	return own(name, form, words, func(r *reader) {
		v := r.text(name)
		if v == "" {
			return
		}
		for e := range strings.SplitSeq(v, separator) {
			x, err := of.parse(e)
			if err != nil {
				r.bad(name, v, form)
				return
			}
			*at = append(*at, x)
		}
	}, func() string {
		words := make([]string, len(*at))
		for i, e := range *at {
			words[i] = of.format(e)
		}
		return strings.Join(words, separator)
	}).always().parted(separator)
}

// FlyMonGroup is a row of COUNTERS_DB TAM_FLYMON_GROUPS: the used and free resources of a CMU group.
type FlyMonGroup struct {
	Tasks uint32
	Keys  []string // keys of the hash units; "" for a free unit
	Free  []uint32 // number of free buckets of each CMU
	Most  []uint32 // size of the largest free partition of each CMU, in buckets
}

func (g *FlyMonGroup) layout() layout {
	return layout{
		open: true,
		key:  about("the group's number"),
		fields: []field{
			count("TASKS", &g.Tasks, "Tasks that use the group.").metric("flymon_group_tasks", ""),
			parts("KEYS", ";", &g.Keys, part[string]{
				func(s string) (string, error) { return strings.TrimPrefix(s, freeUnit), nil },
				func(s string) string { return cmp.Or(s, freeUnit) },
			}, "The keys of the hash units.").leaf("hash-units"),
			parts("FREE_BUCKETS", ",", &g.Free, countPart, "Free buckets, by CMU."),
			parts("LARGEST_FREE", ",", &g.Most, countPart, "The largest partition that is free, by CMU."),
		},
	}
}

// freeUnit stands for the key of a free hash unit.
const freeUnit = "free"

// FlyMonResult is a row of COUNTERS_DB TAM_FLYMON_RESULTS: a task's last epoch. Without epochs it covers everything
// counted so far.
type FlyMonResult struct {
	Epoch      uint64 // number of the epoch: floor(time of day / length of an epoch)
	Start, End int64  // nanoseconds since 1970, by the chip's clock
	Flags      flymon.Flags
	Load       float64 // fraction of the buckets that are not 0
	Full       float64 // fraction of the buckets that are saturated
	Flows      string  // source of the keys of TAM_FLYMON_FLOWS: "digests", "queries" or ""
	// DigestsLost counts the packets whose flow reached the threshold when the chip had no capacity for another key.
	// It is an upper bound of the missing heavy flows. FlowsCut and ChangesCut count the flows and changes, the
	// smallest ones, that exceed the capacity of TAM_FLYMON_FLOWS and TAM_FLYMON_CHANGES.
	DigestsLost, FlowsCut, ChangesCut uint64
	Metrics                           map[string]flymon.Estimate
}

func (a *FlyMonResult) layout() layout {
	return layout{
		table: CountersFlyMonResult, open: true,
		key: about("the task's name"),
		fields: []field{
			count("EPOCH", &a.Epoch, "Number of the epoch.").metric("flymon_epoch", ""),
			text("FLOWS_FROM", &a.Flows, "Where the keys of TAM_FLYMON_FLOWS are from: digests, queries, or nothing.").always(),
			instant("START", &a.Start, "In ns since 1970."),
			instant("END", &a.End, "In ns since 1970.").metric("flymon_epoch_end_timestamp_seconds", ""),
			count("DIGESTS_LOST", &a.DigestsLost,
				"Packets whose flow the chip had no room to report: at most so many flows are missing.").
				metric("flymon_left_out", "digests"),
			count("FLOWS_CUT", &a.FlowsCut, "Flows that TAM_FLYMON_FLOWS has no room for, the smallest ones.").
				metric("flymon_left_out", "flows"),
			number("CHANGES_CUT", 0, 1<<64-1, 0, &a.ChangesCut,
				"Changes that TAM_FLYMON_CHANGES has no room for, the smallest ones.").metric("flymon_left_out", "changes"),
			own("FLAGS", "flags of an epoch, with commas between",
				"What is wrong with the epoch.", func(r *reader) {
					var err error
					if a.Flags, err = flymon.ParseFlags(r.text("FLAGS")); err != nil {
						r.bad("FLAGS", r.fields["FLAGS"], "flags of an epoch")
					}
				}, func() string { return a.Flags.String() }).always().parted(",").metric("flymon_epoch_flag", ""),
			fraction("LOAD", &a.Load, "Part of the buckets that are not 0.").metric("flymon_load_ratio", ""),
			fraction("FULL", &a.Full, "Part of the buckets that are as high as they can be.").
				metric("flymon_full_ratio", ""),
			own("METRIC", "JSON of an estimate", "The estimates of the whole epoch, a field in small letters for each: "+
				"packets, bytes, cardinality, entropy, heavy-flows, false-flows, heavy-changers, members, similarity, "+
				"difference.", nil, nil).hidden(),
		},
		check: func(r *reader) {
			a.Metrics = map[string]flymon.Estimate{}
			for _, name := range slices.Sorted(maps.Keys(r.fields)) {
				if name != strings.ToLower(name) {
					continue
				}
				e, err := ParseFlyMonEstimate(r.fields[name])
				if err != nil {
					r.bad(name, r.fields[name], "JSON of an estimate")
				}
				a.Metrics[name] = e
			}
		},
		format: func(f map[string]string) {
			for name, e := range a.Metrics {
				f[name] = FormatFlyMonEstimate(e)
			}
		},
	}
}

// instant returns a field with a time in ns since 1970.
func instant(name string, at *int64, words string) field {
	f := within(name, 0, 1<<63-1, words, func(r *reader) { *at = int64(r.number(name, 0, 1<<63-1, 0)) },
		func() string { return strconv.FormatInt(*at, 10) }).needed()
	f.kind = numberKind
	return f
}

// fraction returns a field with a number from 0 to 1.
func fraction(name string, at *float64, words string) field {
	return own(name, "0 to 1", words, func(r *reader) {
		v, err := strconv.ParseFloat(r.text(name), 64)
		if err != nil || !(v >= 0 && v <= 1) {
			r.bad(name, r.fields[name], "0 to 1")
		}
		*at = v
	}, func() string { return strconv.FormatFloat(*at, 'g', 6, 64) }).must("")
}

// FormatFlyMonEstimate formats an estimate as JSON. It is the value in TAM_FLYMON_FLOWS (:task, flow -> estimate). In
// TAM_FLYMON_DISTRIBUTION (:task, least size -> estimate) it is the number of flows from that size to less than the
// double. In TAM_FLYMON_ANSWERS (:query; TASK, FLOW, EPOCH, START, END, FLAGS, ESTIMATE) it is the field ESTIMATE.
func FormatFlyMonEstimate(e flymon.Estimate) string {
	b, _ := json.Marshal(e) // numbers, strings and a flag always encode
	return string(b)
}

// ParseFlyMonEstimate parses the output of FormatFlyMonEstimate.
func ParseFlyMonEstimate(s string) (e flymon.Estimate, err error) {
	err = json.Unmarshal([]byte(s), &e)
	return e, err
}

// FormatFlyMonChange formats a value of TAM_FLYMON_CHANGES (:task, flow -> change) as JSON.
func FormatFlyMonChange(c flymon.Change) string {
	b, _ := json.Marshal(c) // numbers, strings and a flag always encode
	return string(b)
}

// ParseFlyMonChange parses the output of FormatFlyMonChange.
func ParseFlyMonChange(s string) (c flymon.Change, err error) {
	err = json.Unmarshal([]byte(s), &c)
	return c, err
}
