package dial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// An Answer is the estimate of a sketch task for one epoch: for one of its quantities, or for a flow of a query.
type Answer struct {
	Task, Key    string // Key is the quantity, or the flow
	Epoch        uint64
	Start, End   int64    // times of the epoch's start and end, in nanoseconds since 1970 by the chip's clock
	Flags        []string // defects of the epoch, and "saturated"
	Estimate     float64
	Lower, Upper *float64 // bounds; nil if unknown
}

// A SketchEvent is an answer of a target, or a change of its connection.
type SketchEvent struct {
	Target string
	Kind   EventKind // Answered, Synced, Lost or Bad
	Answer Answer
	Err    error // set for Lost and Bad
}

// Answered is the kind of an answer of a sketch task.
const Answered = Notice + 1

// Uncertain is the flag of an answer that may be from an epoch near the one that it names.
const Uncertain = "epoch not certain"

// WatchSketches calls report with the answers of a target's sketch tasks, until ctx ends, and reconnects whenever the
// connection is lost. It returns an error if the options are invalid.
//
// Quantities of a task are reported when its next epoch has ended, as all of the epoch is then known. Those of the last
// epoch before the subscription are not reported. Single flows are reported only by queries: these contain their epoch,
// unlike the target's lists of heavy flows.
func WatchSketches(ctx context.Context, target string, o Options, report func(SketchEvent)) error {
	lost := func(err error) { report(SketchEvent{Target: target, Kind: Lost, Err: err}) }
	return o.again(ctx, target, lost, func(conn *grpc.ClientConn) (synced bool, err error) {
		w := &sketchWatch{target: target, report: report, tasks: map[string]*sketchTask{}, queries: map[string]leafValues{}}
		err = w.once(ctx, conn, o)
		return w.synced, err
	})
}

var sketchLists = [][]string{
	{"tam", "flymon-tasks", "flymon-task", "state", "last-epoch"},
	{"tam", "flymon-tasks", "flymon-task", "metrics"},
	{"tam", "flymon-queries", "flymon-query", "state", "answer"},
}

func (o Options) subscribeSketches(ctx context.Context, conn *grpc.ClientConn) (gpb.GNMI_SubscribeClient, error) {
	if o.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", o.User, "password", o.Password)
	}
	stream, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		return nil, err
	}
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_JSON_IETF}
	for _, names := range sketchLists {
		p := &gpb.Path{}
		for i, name := range names {
			e := &gpb.PathElem{Name: name}
			if i == 2 {
				e.Key = map[string]string{"name": "*"}
			}
			p.Elem = append(p.Elem, e)
		}
		list.Subscription = append(list.Subscription, &gpb.Subscription{Mode: gpb.SubscriptionMode_ON_CHANGE, Path: p})
	}
	return stream, stream.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
}

type leafValues map[string][]string

type sketchTask struct {
	epoch      leafValues
	metrics    map[string]leafValues
	seen       bool // true if the start of the epoch was seen, so its quantities are complete
	incomplete bool // true if the target has left something out since
}

// Bounds of the state kept for a target.
const (
	maxTasks   = 1 << 10
	maxQueries = 1 << 14
	maxMetrics = 64
)

// A sketchWatch is one subscription. Data that the target read at one time arrives in several notifications, and is
// applied together.
type sketchWatch struct {
	target  string
	report  func(SketchEvent)
	tasks   map[string]*sketchTask
	queries map[string]leafValues
	synced  bool
	at      int64 // time at which the target read the waiting notifications
	waits   []*gpb.Notification
}

func (w *sketchWatch) once(ctx context.Context, conn *grpc.ClientConn, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := o.subscribeSketches(ctx, conn)
	if err != nil {
		return err
	}
	for {
		reply, err := stream.Recv()
		if err != nil {
			return err
		}
		switch r := reply.GetResponse().(type) {
		case *gpb.SubscribeResponse_Update:
			w.add(r.Update)
		case *gpb.SubscribeResponse_SyncResponse:
			w.apply()
			w.synced = true
			w.report(SketchEvent{Target: w.target, Kind: Synced})
		default:
			return errors.New("the server sends neither updates nor the end of the initial values")
		}
	}
}

// maxWaiting is the maximum number of notifications of one time that are applied together.
const maxWaiting = 1 << 12

func (w *sketchWatch) add(n *gpb.Notification) {
	if n.GetTimestamp() != w.at || len(w.waits) == maxWaiting {
		w.apply()
	}
	w.at = n.GetTimestamp()
	w.waits = append(w.waits, n)
}

type sketchLeaf struct {
	list, entry string // flymon-tasks or flymon-queries, and the name
	metric      string // quantity; empty for a leaf of last-epoch, or of an answer
	name        string
}

// apply processes the waiting notifications. It applies leaves that begin an epoch first, since they end the epoch
// before.
func (w *sketchWatch) apply() {
	type change struct {
		sketchValue
		uncertain bool
	}
	var changes []change
	var gone [][]*gpb.PathElem
	answered := map[string]bool{}
	for _, n := range w.waits {
		for _, p := range n.GetDelete() {
			gone = append(gone, join(n.GetPrefix(), p))
		}
		for _, u := range n.GetUpdate() {
			leaves, err := sketchLeaves(join(n.GetPrefix(), u.GetPath()), u.GetVal())
			if err != nil {
				w.bad(err)
				continue
			}
			for _, l := range leaves {
				changes = append(changes, change{l, u.GetDuplicates() > 0})
			}
		}
	}
	w.waits = nil
	for _, c := range changes {
		if c.list == "flymon-tasks" && c.metric == "" && c.name == "epoch" {
			w.ended(c.entry)
		}
	}
	for _, elems := range gone {
		w.remove(elems)
	}
	for _, c := range changes {
		if c.list == "flymon-queries" {
			w.query(c.sketchLeaf, c.values)
			answered[c.entry] = true
			continue
		}
		w.task(c.sketchLeaf, c.values, c.uncertain)
	}
	for _, name := range slices.Sorted(maps.Keys(answered)) {
		if q := w.queries[name]; len(q["epoch"]) > 0 {
			w.answer(first(q["task"]), first(q["flow"]), q, q, nil)
		}
	}
}

func (w *sketchWatch) bad(err error) { w.report(SketchEvent{Target: w.target, Kind: Bad, Err: err}) }

func (w *sketchWatch) query(at sketchLeaf, values []string) {
	q := w.queries[at.entry]
	if q == nil {
		if len(w.queries) == maxQueries {
			w.bad(fmt.Errorf("query %.40q is one more than the %d that are read", at.entry, maxQueries))
			return
		}
		q = leafValues{}
		w.queries[at.entry] = q
	}
	q[at.name] = values
}

func (w *sketchWatch) task(at sketchLeaf, values []string, uncertain bool) {
	t := w.tasks[at.entry]
	if t == nil {
		if len(w.tasks) == maxTasks {
			w.bad(fmt.Errorf("task %.40q is one more than the %d that are read", at.entry, maxTasks))
			return
		}
		t = &sketchTask{epoch: leafValues{}, metrics: map[string]leafValues{}}
		w.tasks[at.entry] = t
	}
	t.incomplete = t.incomplete || uncertain
	if at.metric == "" {
		t.epoch[at.name] = values
		return
	}
	m := t.metrics[at.metric]
	if m == nil && len(t.metrics) < maxMetrics {
		m = leafValues{}
		t.metrics[at.metric] = m
	}
	if m != nil {
		m[at.name] = values
	}
}

// ended reports the quantities of a task's epoch once the next epoch has ended.
func (w *sketchWatch) ended(name string) {
	t := w.tasks[name]
	if t == nil {
		return
	}
	if t.seen {
		for _, quantity := range slices.Sorted(maps.Keys(t.metrics)) {
			var flags []string
			if t.incomplete {
				flags = []string{Uncertain}
			}
			w.answer(name, quantity, t.epoch, t.metrics[quantity], flags)
		}
	}
	t.seen, t.incomplete = w.synced, false
}

// answer reports the answer that leaves make up.
func (w *sketchWatch) answer(task, key string, epoch, estimate leafValues, flags []string) {
	r := &reader{leaves: epoch, what: fmt.Sprintf("task %s, %s", task, key)}
	a := Answer{Task: task, Key: key, Epoch: r.counter("epoch"), Start: int64(r.nanos("start", 0, 0)),
		End: int64(r.nanos("end", 0, 0))}
	// The estimate has the flags of all epochs that it is computed from.
	for _, f := range slices.Concat(epoch["flags"], estimate["flags"], flags) {
		if !slices.Contains(a.Flags, f) {
			a.Flags = append(a.Flags, f)
		}
	}
	if !r.has("end") || task == "" {
		r.refuse("end", r.text("end"), "when the epoch of a task ended")
	}
	r.leaves = estimate
	if v := r.amount("estimate"); v != nil {
		a.Estimate = *v
	} else {
		r.refuse("estimate", r.text("estimate"), "a number")
	}
	a.Lower, a.Upper = r.amount("lower"), r.amount("upper")
	if r.text("saturated") == "true" {
		a.Flags = append(a.Flags, "saturated")
	}
	if err := errors.Join(r.errs...); err != nil {
		w.bad(err)
		return
	}
	w.report(SketchEvent{Target: w.target, Kind: Answered, Answer: a})
}

// amount reads a number. It returns nil if there is none.
func (r *reader) amount(name string) *float64 {
	if !r.has(name) {
		return nil
	}
	v, err := strconv.ParseFloat(r.text(name), 64)
	if err != nil || v-v != 0 {
		r.refuse(name, r.text(name), "a number")
		return nil
	}
	return &v
}

func first(values []string) string { return strings.Join(values, ",") }

func (w *sketchWatch) remove(elems []*gpb.PathElem) {
	at, ok := sketchAt(elems)
	if !ok {
		return
	}
	t := w.tasks[at.entry]
	switch {
	case at.list == "flymon-queries":
		if at.name == "" {
			delete(w.queries, at.entry)
		} else {
			delete(w.queries[at.entry], at.name)
		}
	case t == nil:
	case at.metric != "" && at.name == "":
		delete(t.metrics, at.metric)
	case at.metric != "":
		delete(t.metrics[at.metric], at.name)
	case at.name != "":
		delete(t.epoch, at.name)
	default: // the whole task, or one of its containers
		delete(w.tasks, at.entry)
	}
}

// sketchAt returns the leaf or container of a path; a container has no name.
func sketchAt(elems []*gpb.PathElem) (at sketchLeaf, ok bool) {
	names := namesOf(elems)
	if len(names) < 3 || names[0] != "tam" {
		return at, false
	}
	at.list, at.entry = names[1], elems[2].GetKey()["name"]
	name := func(n int) string {
		if len(names) > n {
			return names[n]
		}
		return ""
	}
	switch {
	case at.list == "flymon-queries" && (len(names) == 3 || name(3) == "state" && cmp.Or(name(4), "answer") == "answer"):
		at.name = name(5)
	case at.list == "flymon-tasks" && (len(names) == 3 || name(3) == "state" && name(4) == "last-epoch"):
		at.name = name(5)
	case at.list == "flymon-tasks" && name(3) == "metrics" && name(4) == "metric":
		at.metric, at.name = elems[4].GetKey()["quantity"], name(6)
	default:
		return at, false
	}
	return at, at.entry != ""
}

type sketchValue struct {
	sketchLeaf
	values []string
}

func sketchLeaves(elems []*gpb.PathElem, v *gpb.TypedValue) (all []sketchValue, err error) {
	x, err := jsonOf(elems, v)
	if err != nil {
		return nil, err
	}
	var walk func(elems []*gpb.PathElem, x any)
	walk = func(elems []*gpb.PathElem, x any) {
		object, ok := x.(map[string]any)
		if !ok {
			if at, ok := sketchAt(elems); ok && at.name != "" {
				all = append(all, sketchValue{at, valuesOf(x)})
			}
			return
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			list, isList := object[name].([]any)
			if _, after, found := strings.Cut(name, ":"); found {
				object[after] = object[name]
				name = after
			}
			if name != "metric" || !isList {
				walk(append(slices.Clip(elems), &gpb.PathElem{Name: name}), object[name])
				continue
			}
			for _, entry := range list {
				if m, ok := entry.(map[string]any); ok {
					key := map[string]string{"quantity": first(valuesOf(m["quantity"]))}
					walk(append(slices.Clip(elems), &gpb.PathElem{Name: name, Key: key}), m)
				}
			}
		}
	}
	walk(elems, x)
	return all, nil
}
