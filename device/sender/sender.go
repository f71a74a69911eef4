// Package sender runs the outputs that a switch sends without a request. It derives them from the flags of mgmtd and
// the rows of CONFIG_DB, and reports the state of each. It converts changes into messages for syslog servers.
//
// What belongs here: the conversion of rows to outputs, and of database changes to messages. The protocols are in
// mgmt/outputs. Nothing here delays writers of the databases: rows are read after Redis has reported a change, and
// messages go into spools.
package sender

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"tamtam/mgmt/metrics"
	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/dialout"
	"tamtam/mgmt/outputs/syslog"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/tick"
)

// Flags holds the outputs without a row in CONFIG_DB, and settings of all outputs.
type Flags struct {
	OTLP   []outputs.Target
	Period time.Duration // period of OTLP messages; 0 means DefaultPeriod
	Syslog []outputs.Target
	Alerts []outputs.Target // Alertmanagers
	TLS    *tls.Config      // for all outputs that use TLS; nil means that the host's CAs are trusted
	Bounds outputs.Bounds
}

// DefaultPeriod is the default time between two OTLP messages.
const DefaultPeriod = 10 * time.Second

// Config configures a Sender.
type Config struct {
	Flags
	Redis   *swss.Redis
	Metrics *metrics.Collector
	From    dialout.Subscriber
	Version string
	Log     *slog.Logger
	Standby func() bool // reports whether another mgmtd sends; nil means that none does
}

// A Sender runs the outputs of a switch.
type Sender struct {
	cfg  Config
	rows *swss.Table // table in STATE_DB of the outputs' status

	running  map[string]*running
	invalid  map[string]invalid // outputs in rows that are not valid, by name
	reported map[string]bool    // outputs that have a status row in STATE_DB
	host     string

	mu    sync.Mutex
	sinks []*syslog.Sink
}

// An invalid output is a row that does not describe a valid output.
type invalid struct {
	kind, why string
	since     time.Time
}

// A spec is the target state of an output.
type spec struct {
	name, kind, to string
	mark           string // text that differs between different specs
	make           func(s *Sender, out spec) *running
}

// A running output is an output that sends.
type running struct {
	spec
	out    *outputs.Output
	sink   *syslog.Sink // only for syslog
	cancel context.CancelFunc
	ended  chan struct{}
	run    func(ctx context.Context) error

	mu  sync.Mutex
	why string // reason why there is nothing to send; "" if there is something
}

// New returns a sender.
func New(cfg Config) *Sender {
	if cfg.Period == 0 {
		cfg.Period = DefaultPeriod
	}
	if cfg.Bounds == (outputs.Bounds{}) {
		cfg.Bounds = outputs.DefaultBounds()
	}
	if cfg.TLS == nil {
		cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Sender{
		cfg: cfg, rows: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateOutput),
		running: map[string]*running{}, invalid: map[string]invalid{}, reported: map[string]bool{},
	}
}

// Handler returns the log handler for clients' actions, which sends to all syslog servers.
func (s *Sender) Handler() slog.Handler { return syslog.NewHandler(s.Report) }

// Report sends a message to all syslog servers. It never waits.
func (s *Sender) Report(m syslog.Message) {
	s.mu.Lock()
	sinks := s.sinks
	s.mu.Unlock()
	for _, sink := range sinks {
		sink.Report(m)
	}
}

// Intervals of status reports, time until a status row expires, and limit for requests to the databases.
const (
	beat     = time.Second
	rowTTL   = 5 * time.Second
	redisFor = 2 * time.Second
)

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	listener := swss.NewListener(s.cfg.Redis)
	defer listener.Close()
	conf := s.configuration(listener)
	var news *changes
	defer func() {
		news.close()
		s.reconcile(ctx, nil)
	}()
	for {
		if s.cfg.Standby != nil && s.cfg.Standby() {
			news = news.close()
			s.reconcile(ctx, nil)
			clear(s.reported) // the rows belong to the other mgmtd
			conf.fresh = true
		} else {
			if conf.read(ctx) {
				s.reconcile(ctx, s.wanted(conf))
			}
			if len(s.syslogs()) == 0 {
				news = news.close()
			} else if news == nil {
				news = newChanges(s.cfg.Redis, s.Report)
			}
			s.report(ctx, time.Now())
		}
		if !s.wait(ctx, listener, news) {
			return nil
		}
	}
}

// wait waits for the next beat or change of the configuration, and reports other changes meanwhile.
func (s *Sender) wait(ctx context.Context, conf *swss.Listener, news *changes) bool {
	next := tick.After(beat)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-next:
			news.look(ctx)
			return true
		case <-conf.Ready():
			return true
		case <-news.ready():
			news.look(ctx)
		}
	}
}

func (s *Sender) syslogs() []*syslog.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinks
}

// reconcile stops outputs that are no longer configured or have changed, and starts those that are missing.
func (s *Sender) reconcile(ctx context.Context, want map[string]spec) {
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		r := s.running[name]
		if w, ok := want[name]; ok && w.mark == r.mark {
			continue
		}
		r.cancel()
		<-r.ended
		delete(s.running, name)
		s.cfg.Log.Info("output ends", "output", name)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if s.running[name] == nil {
			s.start(ctx, want[name])
		}
	}
	var sinks []*syslog.Sink
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		if sink := s.running[name].sink; sink != nil {
			sink.Call(syslog.Sender{Host: s.host, Version: s.cfg.Version})
			sinks = append(sinks, sink)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks = sinks
}

func (s *Sender) start(ctx context.Context, want spec) {
	r := want.make(s, want)
	r.spec, r.ended = want, make(chan struct{})
	ctx, r.cancel = context.WithCancel(ctx)
	s.running[want.name] = r
	go func() {
		defer close(r.ended)
		if err := r.run(ctx); err != nil {
			s.cfg.Log.Error("output fails", "output", want.name, "because", err)
		}
	}()
	s.cfg.Log.Info("output begins", "output", want.name, "to", want.to)
}

// report writes the state of each output to STATE_DB.
func (s *Sender) report(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, redisFor)
	defer cancel()
	rows := map[string]swss.FieldValues{}
	for name, r := range s.running {
		rows[name] = r.row(now)
	}
	for name, bad := range s.invalid {
		rows[name] = swss.FieldValues{
			schema.OutputKind: bad.kind, schema.OutputStatus: schema.OutputInvalid, schema.OutputReason: bad.why,
			schema.OutputSince: bad.since.UTC().Format(time.RFC3339Nano),
		}
	}
	for name := range s.reported {
		if rows[name] == nil {
			if s.rows.Del(ctx, name) != nil {
				return
			}
			delete(s.reported, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if s.rows.SetFor(ctx, name, rows[name], rowTTL) != nil {
			return // the next beat writes it
		}
		s.reported[name] = true
	}
}

// row returns the row of an output in STATE_DB.
func (r *running) row(now time.Time) swss.FieldValues {
	st := r.out.Status(now)
	r.mu.Lock()
	why := r.why
	r.mu.Unlock()
	word := map[outputs.State]string{
		outputs.Connecting: schema.OutputConnecting, outputs.Active: schema.OutputActive, outputs.Failed: schema.OutputFailed,
	}[st.State]
	if why != "" {
		word, st.Reason = schema.OutputFailed, why
	}
	n := func(v uint64) string { return strconv.FormatUint(v, 10) }
	row := swss.FieldValues{
		schema.OutputKind: r.kind, schema.OutputTo: r.to, schema.OutputStatus: word, schema.OutputReason: st.Reason,
		schema.OutputSince: st.Since.UTC().Format(time.RFC3339Nano),
		schema.OutputBegan: st.Began.UTC().Format(time.RFC3339Nano),
		schema.OutputSent:  n(st.Sent), schema.OutputSentBytes: n(st.SentBytes), schema.OutputFailures: n(st.Failures),
		schema.OutputWaiting: strconv.Itoa(st.Waiting), schema.OutputWaitingBytes: strconv.Itoa(st.WaitingBytes),
		schema.OutputDropped + "full": n(st.Losses.Full), schema.OutputDropped + "old": n(st.Losses.Old),
		schema.OutputDropped + "refused": n(st.Losses.Refused), schema.OutputDropped + "too-large": n(st.Losses.TooLarge),
		schema.OutputOldest: "",
	}
	if !st.Oldest.IsZero() {
		row[schema.OutputOldest] = st.Oldest.UTC().Format(time.RFC3339Nano)
	}
	return row
}
