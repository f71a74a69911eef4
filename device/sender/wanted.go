package sender

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/dialout"
	"tamtam/mgmt/outputs/otlp"
	"tamtam/mgmt/outputs/syslog"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Kinds of outputs.
const (
	kindOTLP    = "otlp"
	kindSyslog  = "syslog"
	kindAlerts  = "alertmanager"
	kindDialOut = "dial-out"
)

// A configuration holds the rows that configure outputs, as last read.
type configuration struct {
	tables []*swss.Subscriber
	rows   map[string]map[string]map[string]string // values by table, key and field
	fresh  bool                                    // true if the rows were not applied yet
}

func (s *Sender) configuration(l *swss.Listener) *configuration {
	c := &configuration{rows: map[string]map[string]map[string]string{}, fresh: true}
	for _, name := range []string{schema.CfgSyslogServer, schema.CfgTelemetryClient, schema.CfgDeviceMetadata} {
		c.tables = append(c.tables, swss.NewSubscriber(l, s.cfg.Redis.DB(swss.ConfigDB), name).Bound())
		c.rows[name] = map[string]map[string]string{}
	}
	return c
}

// read applies the changes since the last call, and reports whether there were any. Rows that cannot be read keep
// their old content.
func (c *configuration) read(ctx context.Context) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, redisFor)
	defer cancel()
	for _, t := range c.tables {
		items, err := t.Pops(ctx)
		if err != nil {
			break
		}
		for _, item := range items {
			changed = true
			if delete(c.rows[t.Name()], item.Key); item.Op == swss.OpSet {
				c.rows[t.Name()][item.Key] = fields(item)
			}
		}
	}
	changed, c.fresh = changed || c.fresh, false
	return changed
}

// fields returns the fields of a row. For an unread row it returns an error field.
func fields(item swss.KeyOpFieldsValues) map[string]string {
	switch {
	case item.Size == swss.TooMany:
		return schema.TooMany(0, 0)
	case item.Size > 0:
		return schema.TooLarge(item.Size, swss.MaxRow)
	}
	return item.FieldValues()
}

// most is the maximum number of outputs, since each needs a spool.
const most = 64

// wanted returns the outputs that should run, and records the rows that are not valid.
func (s *Sender) wanted(c *configuration) map[string]spec {
	meta, _ := schema.ParseDeviceMetadata(schema.MetadataKey, c.rows[schema.CfgDeviceMetadata][schema.MetadataKey])
	s.host = meta.Hostname // "" if it is not valid
	want, was := map[string]spec{}, s.invalid
	s.invalid = map[string]invalid{}
	bad := func(name, kind string, err error) {
		at, why := time.Now(), err.Error()
		if w := was[name]; w.why == why {
			at = w.since
		}
		if len(s.invalid) < most {
			s.invalid[name] = invalid{kind, why, at}
		}
	}
	add := func(sp spec) {
		if len(want) >= most {
			bad(sp.name, sp.kind, fmt.Errorf("there are %d outputs already", most))
			return
		}
		want[sp.name] = sp
	}
	for _, to := range s.cfg.OTLP {
		add(spec{name: nameOf(kindOTLP, to), kind: kindOTLP, to: to.String(), mark: s.host, make: otlpTo(to, s.host)})
	}
	for _, to := range s.cfg.Alerts {
		add(spec{name: nameOf(kindAlerts, to), kind: kindAlerts, to: to.String(), mark: s.host, make: alertsTo(to, s.host)})
	}
	for _, to := range s.cfg.Syslog {
		add(spec{name: nameOf(kindSyslog, to), kind: kindSyslog, to: to.String(), make: syslogTo(to, "", "info")})
	}
	for _, key := range sortedKeys(c.rows[schema.CfgSyslogServer]) {
		row, err := schema.ParseSyslogServer(key, c.rows[schema.CfgSyslogServer][key])
		if err != nil {
			bad(kindSyslog+"-"+key, kindSyslog, err)
			continue
		}
		to := outputs.Target{Scheme: row.Protocol, Host: row.Address, Port: strconv.Itoa(int(row.Port))}
		add(spec{name: nameOf(kindSyslog, to), kind: kindSyslog, to: to.String(), mark: row.Source + " " + row.Severity,
			make: syslogTo(to, row.Source, row.Severity)})
	}
	dials := newDials(c.rows[schema.CfgTelemetryClient])
	for _, name := range sortedKeys(dials.subscriptions) {
		sp, err := dials.spec(name, s.host)
		if err != nil {
			bad(kindDialOut+"-"+name, kindDialOut, err)
			continue
		}
		add(sp)
	}
	for name, err := range dials.bad {
		bad(name, kindDialOut, err)
	}
	return want
}

func nameOf(kind string, to outputs.Target) string {
	return kind + "-" + to.Scheme + "-" + to.Host + ":" + to.Port
}

// otlpTo returns a function that makes an output of metrics.
func otlpTo(to outputs.Target, host string) func(*Sender, spec) *running {
	return func(s *Sender, _ spec) *running {
		out := outputs.New(otlp.NewLink(to, s.cfg.TLS), s.cfg.Bounds)
		return &running{out: out, run: func(ctx context.Context) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				s.measure(ctx, out, host)
			}()
			defer func() { <-done }()
			return out.Run(ctx)
		}}
	}
}

// measure reads the metrics every period and puts them into a spool, until ctx ends.
func (s *Sender) measure(ctx context.Context, out *outputs.Output, host string) {
	tick := time.NewTicker(s.cfg.Period)
	defer tick.Stop()
	for {
		now := time.Now()
		who := otlp.Resource{Host: host, Version: s.cfg.Version, SwitchID: s.switchID(ctx)}
		all := s.cfg.Metrics.Read(ctx, now)
		if ctx.Err() != nil {
			return
		}
		if data, err := otlp.Encode(who, all, now); err == nil {
			out.Put(now, data)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// switchID returns the id of the switch in its stamps, "" if it is unknown.
func (s *Sender) switchID(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, redisFor)
	defer cancel()
	row, _, err := swss.NewTable(s.cfg.Redis.DB(swss.ApplDB), schema.AppTAMSwitch).Get(ctx, schema.TAMGlobalKey)
	if err != nil {
		return ""
	}
	return row["op-switch-id"]
}

// syslogTo returns a function that makes an output of messages.
func syslogTo(to outputs.Target, source, severity string) func(*Sender, spec) *running {
	return func(s *Sender, _ spec) *running {
		out := outputs.New(syslog.NewLink(to, source, s.cfg.TLS), s.cfg.Bounds)
		least, some := syslog.SeverityNamed(severity)
		return &running{out: out, sink: &syslog.Sink{Out: out, Least: least, None: !some}, run: out.Run}
	}
}

// dials holds the rows of TELEMETRY_CLIENT.
type dials struct {
	global        schema.TelemetryGlobal
	destinations  map[string]schema.TelemetryDestinations
	subscriptions map[string]schema.TelemetrySubscription
	bad           map[string]error // by the name of the output that is not valid
}

func newDials(rows map[string]map[string]string) dials {
	d := dials{
		global:        schema.TelemetryGlobal{Retry: 30 * time.Second},
		destinations:  map[string]schema.TelemetryDestinations{},
		subscriptions: map[string]schema.TelemetrySubscription{}, bad: map[string]error{},
	}
	for key, f := range rows {
		row, err := schema.ParseTelemetryClient(key, f)
		if err != nil {
			d.bad[kindDialOut+"-"+strings.TrimPrefix(key, "Subscription_")] = err
			continue
		}
		switch row := row.(type) {
		case schema.TelemetryGlobal:
			d.global = row
		case schema.TelemetryDestinations:
			d.destinations[row.Name] = row
		case schema.TelemetrySubscription:
			d.subscriptions[row.Name] = row
		}
	}
	return d
}

// spec returns the output of a subscription.
func (d dials) spec(name, host string) (spec, error) {
	sub := d.subscriptions[name]
	at := schema.CfgTelemetryClient + "|Subscription_" + name
	if sub.Group == "" {
		return spec{}, fmt.Errorf("%s: dst_group: want the NAME of a row DestinationGroup_NAME", at)
	}
	group, ok := d.destinations[sub.Group]
	if !ok {
		return spec{}, fmt.Errorf("%s: dst_group %q: there is no good row %s|DestinationGroup_%s", at, sub.Group,
			schema.CfgTelemetryClient, sub.Group)
	}
	ask := dialout.Subscription{
		Target: host, Database: sub.Database, Paths: sub.Paths, Interval: sub.Interval,
		Once: sub.Report == schema.ReportOnce, Sampled: sub.Report == schema.ReportPeriodic,
	}
	if ask.Database == "OC_YANG" {
		ask.Database = ""
	}
	list, err := ask.List()
	if err != nil {
		return spec{}, fmt.Errorf("%s: %w", at, err)
	}
	var to []outputs.Target
	var texts []string
	for _, a := range group.Addresses {
		t, err := outputs.ParseTarget(group.Protocol+"://"+bracketed(a), dialout.Schemes())
		if err != nil {
			return spec{}, err
		}
		to, texts = append(to, t), append(texts, t.String())
	}
	text := strings.Join(texts, ", ")
	return spec{
		name: kindDialOut + "-" + name, kind: kindDialOut, to: text,
		mark: fmt.Sprint(text, ask, d.global.Retry),
		make: func(s *Sender, _ spec) *running {
			out := outputs.New(dialout.NewLink(to, name, s.cfg.TLS), s.cfg.Bounds)
			out.Least = d.global.Retry
			r := &running{out: out}
			p := &dialout.Publisher{From: s.cfg.From, List: list, Out: out, Room: s.cfg.Bounds.Bytes / 2, Fails: r.fails}
			r.run = p.Run
			return r
		},
	}, nil
}

// fails records the reason why there is nothing to send; nil means that there is something to send.
func (r *running) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why = ""; err != nil {
		r.why = "the subscription: " + err.Error()
	}
}

// bracketed returns HOST:PORT in the form of a URL.
func bracketed(hostPort string) string {
	if a, err := netip.ParseAddrPort(hostPort); err == nil {
		return a.String()
	}
	return hostPort
}
