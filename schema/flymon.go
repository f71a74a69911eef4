package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/tam/flymon"
)

// FlyMonTask is a row of TAM_FLYMON_TASK_TABLE. In CONFIG_DB it may name a flow
// group; in APPL_DB the group's match is the filter (FlyMonFlow).
type FlyMonTask struct {
	Name      string
	FlowGroup string // "": Filter is given
	flymon.Task
}

// ParseFlyMonTask reads TAM_FLYMON_TASK_TABLE of CONFIG_DB. Fields that are not given
// have their defaults.
func ParseFlyMonTask(key string, fields map[string]string) (FlyMonTask, error) {
	r := newReader(CfgTAMFlyMonTask, key, fields)
	r.tamKey(key)
	if len(key) > maxTaskName {
		r.bad("", key, fmt.Sprintf("at most %d characters", maxTaskName))
	}
	t := FlyMonTask{Name: key, FlowGroup: r.name("flowgroup", "")}
	t.Filter = parsed(r, "filter", "any", flymon.FilterWords, flymon.ParseFilter)
	if t.FlowGroup != "" && r.fields["filter"] != "" {
		r.bad("filter", r.fields["filter"], "either filter or flowgroup")
	}
	t.Key = parsed(r, "key", "none", flymon.KeyWords, flymon.ParseKey)
	t.Attribute = parsed(r, "attribute", "", flymon.AttributeWords, flymon.ParseAttribute)
	t.Algorithm = flymon.Algorithm(r.word("algorithm", string(flymon.Auto), algorithmWords()...))
	t.Memory = uint32(r.number("memory", 1, flymon.MaxMemory, flymon.DefaultMemory))
	t.Rows = uint8(r.number("rows", 1, flymon.MaxRows, 0))
	t.Accurate = r.word("allocation", "accurate", "accurate", "efficient") == "accurate"
	const ms = uint64(time.Millisecond)
	epoch := r.number("epoch", 0, flymon.MaxEpoch/ms, uint64(flymon.DefaultEpoch)/ms)
	t.Epoch = time.Duration(epoch * ms)
	t.Threshold = r.number("threshold", 0, 1<<32-1, 0)
	t.Live = r.word("readout", "banked", "banked", "live") == "live"
	t.Shifted = r.word("translation", "tcam", "tcam", "shift") == "shift"
	t.Share = parsed(r, "share", "1", "1, 1/2, 1/4 ... 1/128", parseShare)
	t.Plan = r.flag("plan", false, "true", "false")
	r.unknown()
	if len(r.errs) == 0 {
		for _, err := range flatten(t.Check()) {
			r.errs = append(r.errs, &FieldError{Object: r.object, Whole: err.Error()})
		}
	}
	return t, r.err()
}

// maxTaskName is what a chip takes.
const maxTaskName = 64

// FlyMonFilter is what a flow group's rule matches, as a task's filter. What filters
// do not have is an error: it is never left out.
func FlyMonFilter(rule ACLRule) (flymon.Filter, error) {
	var f flymon.Filter
	var errs []error
	for _, m := range rule.Matches {
		if want := filterMatch(&f, m); want != "" {
			name := matchSpecs[m.Field].name
			errs = append(errs, &FieldError{
				Object: CfgACLRule + "|" + rule.Key.Config(), Field: name, Value: rule.Fields()[name], Want: want,
			})
		}
	}
	return f, errors.Join(errs...)
}

// filterMatch adds a match to a filter, and says what a filter could have in its place if it cannot have it.
func filterMatch(f *flymon.Filter, m ACLMatch) (want string) {
	switch m.Field {
	case MatchSrcIP, MatchSrcIPv6:
		return filterAddr(f, &f.SrcIP, m)
	case MatchDstIP, MatchDstIPv6:
		return filterAddr(f, &f.DstIP, m)
	case MatchIPProtocol, MatchNextHeader:
		f.Protocol, f.HasProtocol = uint8(m.Value), true
	case MatchL4SrcPort:
		f.SrcPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4DstPort:
		f.DstPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4SrcPortRange:
		f.SrcPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchL4DstPortRange:
		f.DstPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchEtherType:
		return filterVersion(f, etherTypeVersions, m.Value,
			"0x0800 or 0x86DD: the filter of a task tells IPv4 and IPv6 apart")
	case MatchIPType:
		return filterVersion(f, ipTypeVersions, IPType(m.Value), "ANY, IPV4ANY or IPV6ANY")
	default:
		return "no such match: the filter of a task has addresses, ports, the protocol and the IP version"
	}
	return ""
}

// filterAddr adds a match of a source or destination address, and the IP version that goes with it.
func filterAddr(f *flymon.Filter, to *netip.Prefix, m ACLMatch) (want string) {
	p, ok := prefixOf(m.Addr, m.AddrMask)
	if !ok {
		want = "a prefix: the filter of a task has no other masks"
	}
	*to = p
	f.Version = 4
	if m.Addr.Is6() {
		f.Version = 6
	}
	return want
}

// What EtherType and IP_TYPE say of the IP version; 0: any.
var (
	etherTypeVersions = map[uint64]uint8{0x0800: 4, 0x86dd: 6}
	ipTypeVersions    = map[IPType]uint8{IPTypeAny: 0, IPTypeIPv4Any: 4, IPTypeIPv6Any: 6}
)

// filterVersion adds the IP version that a value stands for; it gives want back if it stands for none.
func filterVersion[T comparable](f *flymon.Filter, versions map[T]uint8, v T, want string) string {
	version, ok := versions[v]
	if !ok {
		return want
	}
	if version != 0 {
		f.Version = version
	}
	return ""
}

// prefixOf is an address under a mask as a prefix.
func prefixOf(a, mask netip.Addr) (netip.Prefix, bool) {
	if !mask.IsValid() {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	n := 0
	for _, b := range mask.AsSlice() {
		n += bits.LeadingZeros8(^b)
		if b != 0xff {
			break
		}
	}
	p := netip.PrefixFrom(a, n).Masked()
	for i, b := range mask.AsSlice() {
		want := uint8(0xff)
		if n < 8*i+8 {
			want <<= min(8, 8*i+8-n)
		}
		if b != want {
			return p, false
		}
	}
	return p, true
}

// parsed takes a field that another package reads.
func parsed[T any](r *reader, field, def, want string, parse func(string) (T, error)) T {
	v, ok := r.take(field)
	if !ok {
		v = def
	}
	if v == "" {
		var zero T
		r.bad(field, "", want)
		return zero
	}
	x, err := parse(v)
	if err != nil {
		r.bad(field, v, want)
	}
	return x
}

func parseShare(s string) (uint8, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "1/"), 10, 8)
	for i := range uint8(flymon.MaxShare + 1) {
		if err == nil && n == 1<<i && (i == 0) == (s == "1") {
			return i, nil
		}
	}
	return 0, strconv.ErrSyntax
}

func algorithmWords() []string {
	var words []string
	for _, a := range flymon.Algorithms() {
		words = append(words, string(a))
	}
	return words
}

// Fields formats the row.
func (t FlyMonTask) Fields() map[string]string {
	f := map[string]string{
		"key": t.Key.String(), "attribute": t.Attribute.String(), "algorithm": string(t.Algorithm), "memory": utoa(t.Memory),
		"allocation": "efficient", "epoch": utoa(uint64(t.Epoch / time.Millisecond)), "threshold": utoa(t.Threshold),
		"readout": "banked", "translation": "tcam", "share": "1", "plan": strconv.FormatBool(t.Plan),
	}
	if t.FlowGroup != "" {
		f["flowgroup"] = t.FlowGroup
	} else {
		f["filter"] = t.Filter.String()
	}
	if t.Accurate {
		f["allocation"] = "accurate"
	}
	if t.Rows > 0 {
		f["rows"] = utoa(uint32(t.Rows))
	}
	if t.Live {
		f["readout"] = "live"
	}
	if t.Shifted {
		f["translation"] = "shift"
	}
	if t.Share > 0 {
		f["share"] = "1/" + utoa(uint32(1)<<t.Share)
	}
	return f
}

// FlyMonFlow is a row of APPL_DB TAM_FLYMON_TASK_TABLE: the task with the match of its
// flow group as filter.
type FlyMonFlow struct {
	Name string
	Of   string // the flow group that the filter is the match of; "": none
	flymon.Task
}

// ParseFlyMonFlow reads TAM_FLYMON_TASK_TABLE of APPL_DB.
func ParseFlyMonFlow(key string, fields map[string]string) (FlyMonFlow, error) {
	rest := maps.Clone(fields)
	delete(rest, "flowgroup")
	t, err := ParseFlyMonTask(key, rest)
	of := fields["flowgroup"]
	if of != "" && fields["filter"] == "" {
		err = errors.Join(err, &FieldError{
			Object: AppTAMFlyMonTask + ":" + key, Field: "flowgroup", Value: of, Want: "its match beside it, as filter",
		})
	}
	return FlyMonFlow{Name: key, Of: of, Task: t.Task}, err
}

// Fields formats the row.
func (t FlyMonFlow) Fields() map[string]string {
	f := FlyMonTask{Name: t.Name, Task: t.Task}.Fields()
	if t.Of != "" {
		f["flowgroup"] = t.Of
	}
	return f
}

// FlyMonQuery is a row of TAM_FLYMON_QUERY_TABLE: a flow to be answered for each epoch.
type FlyMonQuery struct {
	Name, Task string
	Flow       string // as flymon.Key.Flow reads it, of the task's key or, without one, of its attribute's
}

// ParseFlyMonQuery reads TAM_FLYMON_QUERY_TABLE.
func ParseFlyMonQuery(key string, fields map[string]string) (FlyMonQuery, error) {
	r := newReader(CfgTAMFlyMonQuery, key, fields)
	r.tamKey(key)
	q := FlyMonQuery{Name: key, Task: r.name("task", ""), Flow: r.text("flow")}
	if q.Task == "" && len(r.errs) == 0 {
		r.bad("task", "", "the name of a task")
	}
	if q.Flow == "" || len(q.Flow) > 256 {
		r.bad("flow", q.Flow, "the values of the task's key, with commas between")
	}
	r.unknown()
	return q, r.err()
}

// Fields formats the row.
func (q FlyMonQuery) Fields() map[string]string {
	return map[string]string{"task": q.Task, "flow": q.Flow}
}

// FlyMonPlacement is a row of COUNTERS_DB TAM_FLYMON_PLACEMENT: where a task is, or, of
// a plan, would go, and what it takes.
type FlyMonPlacement struct {
	Planned   bool
	Algorithm flymon.Algorithm
	Rows      uint32
	Buckets   uint32 // of one bank
	Banks     uint32
	Bytes     uint64 // of all banks
	Groups    []int
	Units     []string // group.cmu:base+size
	Keys      []string // group.unit=key
	Rules     uint32
	Tcam      uint32 // entries of address translation and maps
	Expected  string // what error to expect, in words
	// Translation is how addresses are translated, and what that takes, in words.
	Translation string
}

// Fields formats the row.
func (p FlyMonPlacement) Fields() map[string]string {
	groups := make([]string, len(p.Groups))
	for i, g := range p.Groups {
		groups[i] = strconv.Itoa(g)
	}
	return map[string]string{
		"PLANNED": strconv.FormatBool(p.Planned), "ALGORITHM": string(p.Algorithm),
		"ROWS": utoa(p.Rows), "BUCKETS": utoa(p.Buckets),
		"BANKS": utoa(p.Banks), "BYTES": utoa(p.Bytes),
		"GROUPS": strings.Join(groups, ","), "UNITS": strings.Join(p.Units, ","),
		"KEYS": strings.Join(p.Keys, ";"), "RULES": utoa(p.Rules), "TCAM_ENTRIES": utoa(p.Tcam),
		"EXPECTED": p.Expected, "TRANSLATION": p.Translation,
	}
}

// FlyMonGroup is a row of COUNTERS_DB TAM_FLYMON_GROUPS: what of a CMU group is in use.
type FlyMonGroup struct {
	Tasks uint32
	Keys  []string // of the hash units; "" one that is free
	Free  []uint32 // buckets, by CMU
	Most  []uint32 // the largest partition that is free, by CMU
}

// Fields formats the row.
func (g FlyMonGroup) Fields() map[string]string {
	keys := slices.Clone(g.Keys)
	for i := range keys {
		keys[i] = cmp.Or(keys[i], "free")
	}
	join := func(ns []uint32) string {
		words := make([]string, len(ns))
		for i, n := range ns {
			words[i] = utoa(n)
		}
		return strings.Join(words, ",")
	}
	return map[string]string{
		"TASKS": utoa(g.Tasks), "KEYS": strings.Join(keys, ";"),
		"FREE_BUCKETS": join(g.Free), "LARGEST_FREE": join(g.Most),
	}
}

// FlyMonResult is a row of COUNTERS_DB TAM_FLYMON_RESULTS: a task's last epoch. Without
// epochs it is all that was counted so far.
type FlyMonResult struct {
	Epoch      uint64 // floor(time of day / epoch)
	Start, End int64  // nanoseconds since 1970, by the chip's clock
	Flags      flymon.Flags
	Load       float64 // part of the buckets that are not 0
	Full       float64 // part of the buckets that are as high as they can be
	Flows      string  // where the keys of TAM_FLYMON_FLOWS are from: "digests", "queries" or ""
	// DigestsLost counts the packets whose flow reached the threshold when the chip had no room for
	// another key: of the heavy flows at most so many are missing. FlowsCut are the flows that
	// TAM_FLYMON_FLOWS has no room for, the smallest.
	DigestsLost, FlowsCut uint64
	Metrics               map[string]flymon.Estimate
}

// Fields formats the row. Metrics are JSON, by their names.
func (a FlyMonResult) Fields() map[string]string {
	f := map[string]string{
		"EPOCH": utoa(a.Epoch), "START": strconv.FormatInt(a.Start, 10), "END": strconv.FormatInt(a.End, 10),
		"FLAGS": a.Flags.String(),
		"LOAD":  strconv.FormatFloat(a.Load, 'g', 6, 64), "FULL": strconv.FormatFloat(a.Full, 'g', 6, 64),
		"FLOWS_FROM":   a.Flows,
		"DIGESTS_LOST": utoa(a.DigestsLost), "FLOWS_CUT": utoa(a.FlowsCut),
	}
	for name, e := range a.Metrics {
		f[name] = FormatFlyMonEstimate(e)
	}
	return f
}

// ParseFlyMonResult reads TAM_FLYMON_RESULTS.
func ParseFlyMonResult(task string, fields map[string]string) (FlyMonResult, error) {
	r := newReader(CountersFlyMonResult, task, fields)
	a := FlyMonResult{Epoch: r.number("EPOCH", 0, 1<<64-1, 0), Flows: r.text("FLOWS_FROM")}
	a.Metrics = map[string]flymon.Estimate{}
	a.Start, a.End = int64(r.number("START", 0, 1<<63-1, 0)), int64(r.number("END", 0, 1<<63-1, 0))
	a.DigestsLost, a.FlowsCut = r.number("DIGESTS_LOST", 0, 1<<64-1, 0), r.number("FLOWS_CUT", 0, 1<<64-1, 0)
	var err error
	if a.Flags, err = flymon.ParseFlags(r.text("FLAGS")); err != nil {
		r.bad("FLAGS", r.fields["FLAGS"], "flags of an epoch")
	}
	part := func(field string) float64 {
		v, err := strconv.ParseFloat(cmp.Or(r.text(field), "0"), 64)
		if err != nil || !(v >= 0 && v <= 1) {
			r.bad(field, r.fields[field], "0 to 1")
		}
		return v
	}
	a.Load, a.Full = part("LOAD"), part("FULL")
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
	return a, r.err()
}

// FormatFlyMonEstimate and ParseFlyMonEstimate are the values of TAM_FLYMON_FLOWS
// (:task, flow -> estimate), TAM_FLYMON_DISTRIBUTION (:task, least size -> estimate
// of the number of flows from it to less than the double) and of the field ESTIMATE of
// TAM_FLYMON_ANSWERS (:query; TASK, FLOW, EPOCH, START, END, FLAGS, ESTIMATE).
func FormatFlyMonEstimate(e flymon.Estimate) string {
	b, _ := json.Marshal(e) // of numbers, strings and a flag
	return string(b)
}

// ParseFlyMonEstimate is the counterpart of FormatFlyMonEstimate.
func ParseFlyMonEstimate(s string) (e flymon.Estimate, err error) {
	err = json.Unmarshal([]byte(s), &e)
	return e, err
}
