package dropmonitor

import (
	"context"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A Sender sends the reports of another feature. It holds a report and collectors in the ASIC. The collectors follow
// the routes, as those of the drop monitor's own sessions do.
type Sender struct {
	Report     sai.OID
	Collectors sai.OIDs
	Note       string // why some of the sender's collectors receive nothing; "" if all receive
	Idle       bool   // whether no collector receives anything, as far as is known
	reach      string // collectors that cannot be reached, with the reasons
	names      []string
	templates  uint32
	b          binding
	steps      feature.Steps
}

// SendTo sets the collectors of other features' sessions, by session, so that the routes to them are watched. The names
// of these sessions must differ from those of the drop monitor.
func (o *Orch) SendTo(ctx context.Context, collectors map[string][]string) {
	if !reflect.DeepEqual(o.others, collectors) {
		o.others = maps.Clone(collectors)
		o.wantPaths(ctx)
	}
}

// CollectorChanges signals that rows of collectors may have changed.
func (o *Orch) CollectorChanges() *orch.Topic[struct{}] { return &o.changed }

// Reachable returns an error if reports reach none of the collectors. The note contains the reasons for the collectors
// that reports do not reach.
func (o *Orch) Reachable(collectors []string) (note string, err error) {
	_, note, err = o.senderPlan("", collectors, 1)
	return note, err
}

func (o *Orch) senderPlan(session string, names []string, templates uint32) (p plan, note string, err error) {
	targets, why := o.targets(names)
	if len(targets) == 0 {
		return p, "", unreachable(names, why)
	}
	return plan{port: o.port(session), targets: targets, report: []sai.Attr{
		{ID: sai.TAMReportAttrType, Value: sai.TAMReportTypeIPFIX},
		{ID: sai.TAMReportAttrTemplateReportInterval, Value: sai.Uint(templates)},
	}}, strings.Join(why, "; "), nil
}

func unreachable(names, why []string) error {
	return orch.Wait("collector", names[0], "no collector can be reached: %s", strings.Join(why, "; "))
}

// Open makes the objects of a sender. A sender returned with an error has only some of them, and must be closed too.
func (o *Orch) Open(ctx context.Context, session string, collectors []string, templates uint32) (*Sender, error) {
	p, note, err := o.senderPlan(session, collectors, templates)
	if err != nil {
		return nil, err
	}
	x := &Sender{Note: note, reach: note, names: collectors, templates: templates, b: binding{plan: p}}
	if err = o.makeCollectors(ctx, &x.steps, &x.b); err == nil {
		x.Report, err = x.steps.Create(ctx, o.SAI, "report", sai.ObjectTypeTAMReport, p.report...)
	}
	if err != nil {
		return x, err
	}
	x.Collectors = x.b.collectors
	return x, nil
}

// Follow updates the collectors of a sender in place when routes change. It returns false if the sender must be
// recreated.
func (o *Orch) Follow(ctx context.Context, session string, x *Sender) bool {
	p, note, err := o.senderPlan(session, x.names, x.templates)
	if err != nil || !reflect.DeepEqual(without(p), without(x.b.plan)) ||
		!slices.EqualFunc(p.targets, x.b.plan.targets, target.near) {
		return false
	}
	if err := o.follow(ctx, &x.b, p.targets); err != nil {
		o.Log.Error("collectors", "session", session, "err", err)
		return false
	}
	x.b.plan, x.reach = p, note
	x.judge()
	return true
}

// judge updates the state of the collectors.
func (x *Sender) judge() {
	wrong := x.b.wrong()
	x.Idle = len(wrong) == len(x.b.plan.targets)
	if x.reach != "" {
		wrong = append([]string{x.reach}, wrong...)
	}
	x.Note = strings.Join(wrong, "; ")
}

// Close removes the objects of a sender. If it fails, it can be called again to remove the rest.
func (o *Orch) Close(ctx context.Context, x *Sender) error { return x.steps.Undo(ctx) }

// Sent returns the known counts of a sender's messages by the fields of a row of counters: sent, not sendable and lost.
// The state of the host may change the sender's note.
func (o *Orch) Sent(ctx context.Context, x *Sender) (map[string]uint64, error) {
	if !o.counts {
		return nil, nil
	}
	var streams []string
	for _, t := range x.b.plan.targets {
		streams = append(streams, stream(t, x.b.plan.port))
	}
	words, err := o.ask(ctx, streams)
	if err != nil {
		return nil, err
	}
	c := countersOf(words)
	failed, err := o.askHosts(ctx, &x.b, streams, words)
	x.judge()
	if err != nil {
		return nil, err
	}
	if c.Counts[schema.CountUnsendable] += failed; x.b.gap() {
		c.Gap()
	}
	maps.DeleteFunc(c.Counts, func(name string, _ uint64) bool {
		return name != schema.CountMessages && name != schema.CountUnsendable && name != schema.CountLost
	})
	return c.Counts, nil
}

// wantPaths registers the addresses of the collectors at the routes.
func (o *Orch) wantPaths(ctx context.Context) {
	var to []netip.Addr
	want := func(d *destination) {
		if d != nil && d.row.VRF == schema.VRFDefault && d.row.Addr.IsValid() {
			to = append(to, d.row.Addr)
		}
	}
	if o.Running && o.Active {
		for _, d := range o.all() {
			want(d)
		}
	}
	for _, names := range o.others {
		for _, name := range names {
			want(o.destination(name))
		}
	}
	slices.SortFunc(to, netip.Addr.Compare)
	o.routes.Want(ctx, slices.Compact(to))
}
