package ping

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/host"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Network sends echo requests. Its methods are called on the daemon's goroutine.
type Network interface {
	// Hear starts or stops calls of [Service.Received].
	Hear(on bool) error
	// Source returns the address from which requests are sent. The error names why that is not possible.
	Source(p *schema.Ping) (netip.Addr, error)
	Send(e host.Echo) error
	// Hints returns what may explain that requests were not answered.
	Hints(p *schema.Ping) []string
	// Drops returns the number of frames that were dropped on their way from the chip to the host.
	Drops() uint64
}

// Config configures a [Service].
type Config struct {
	Daemon  *orch.Daemon
	Redis   *swss.Redis
	Network Network
}

// maxRuns is the maximum number of pings and traceroutes at the same time.
const maxRuns = 16

// maxName is the maximum length of a request's name, in bytes.
const maxName = 200

// A Service performs pings and traceroutes for clients. Its methods run on the daemon's goroutine.
type Service struct {
	d       *orch.Daemon
	redis   *swss.Redis
	network Network
	runs    []*run
	asked   []swss.KeyOpFieldsValues // requests that are not started yet
	refused []refusal                // refusals that are not published yet
}

// A refusal is the answer to a request that was not started.
type refusal struct{ channel, reason string }

// New registers the service on its daemon. Daemons call it after they have registered their own work on rows, so that a
// request finds the network as configured.
func New(cfg Config) *Service {
	s := &Service{d: cfg.Daemon, redis: cfg.Redis, network: cfg.Network}
	s.d.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, cfg.Redis.DB(swss.StateDB), schema.PingChannel)
	}, func(_ context.Context, q swss.KeyOpFieldsValues) error {
		s.asked = append(s.asked, q)
		return nil
	})
	s.d.AfterRows(s.busy, s.work)
	s.d.At(s.next, func(context.Context, time.Time) error {
		for _, r := range s.runs {
			r.advance(s.d.Now(), s.network.Send)
		}
		return nil
	})
	return s
}

// Received processes a message of the network.
func (s *Service) Received(m host.Message) {
	h, ok := parse(&m)
	if !ok {
		return
	}
	for _, r := range s.runs {
		if r.ident == h.ident && !r.done {
			r.receive(s.d.Now(), &h, m.TTL)
		}
	}
}

// next returns the time at which a run has work; zero if there is none.
func (s *Service) next() (first time.Time) {
	for _, r := range s.runs {
		for _, at := range []time.Time{r.due(), r.writable()} {
			if !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

func (s *Service) busy() bool {
	return len(s.asked)+len(s.refused) > 0 || slices.ContainsFunc(s.runs, s.mustWrite)
}

// mustWrite reports whether a run's answer must be written now.
func (s *Service) mustWrite(r *run) bool {
	at := r.writable()
	return !at.IsZero() && !s.d.Now().Before(at)
}

// work starts and ends runs as requested, and writes the answers that have changed.
func (s *Service) work(ctx context.Context) error {
	asked := s.asked
	s.asked = nil
	for _, q := range asked {
		s.take(q)
	}
	for len(s.refused) > 0 {
		if err := s.publish(ctx, s.refused[0].channel, schema.PacketTraceRefused, s.refused[0].reason); err != nil {
			return err
		}
		s.refused = s.refused[1:]
	}
	for _, r := range s.runs {
		if err := s.write(ctx, r); err != nil {
			return err
		}
	}
	if len(s.runs) == 0 {
		return nil
	}
	s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r.done })
	if len(s.runs) == 0 {
		return s.network.Hear(false)
	}
	return nil
}

// take starts or ends a run.
func (s *Service) take(q swss.KeyOpFieldsValues) {
	name, ok := strings.CutPrefix(q.Key, schema.PacketTraceAnswers)
	if !ok || name == "" || len(name) > maxName || strings.ContainsAny(name, "|: ") {
		return // no client can wait for the answer
	}
	same := slices.IndexFunc(s.runs, func(r *run) bool { return r.name == name })
	if q.Op == schema.PingCancel {
		if same >= 0 {
			s.runs[same].stop()
		}
		return
	}
	if q.Op != schema.PingAsk && q.Op != schema.TracerouteAsk {
		return
	}
	if err := s.start(q.Op, name, same >= 0, q.FieldValues()[schema.PacketTraceRequest]); err != nil {
		s.refused = append(s.refused, refusal{q.Key, err.Error()})
	}
}

func (s *Service) start(operation, name string, again bool, input string) error {
	switch {
	case again:
		return fmt.Errorf("id is %q: a ping or traceroute with this id runs already", name)
	case len(s.runs) >= maxRuns:
		return fmt.Errorf("%d pings and traceroutes run already: wait until one ends", maxRuns)
	}
	p, err := schema.ParsePing(operation, []byte(input))
	if err != nil {
		return err
	}
	source, err := s.network.Source(&p)
	if err != nil {
		return err
	}
	if len(s.runs) == 0 {
		if err := s.network.Hear(true); err != nil {
			return err
		}
	}
	r := newRun(p, operation, name, source, s.d.Now())
	for slices.ContainsFunc(s.runs, func(o *run) bool { return o.ident == r.ident }) {
		r.ident++
	}
	r.dropsBefore = s.network.Drops()
	s.runs = append(s.runs, r)
	return nil
}

// write writes a run's answer if it has changed. After the last one it informs the client.
func (s *Service) write(ctx context.Context, r *run) error {
	if !s.mustWrite(r) {
		return nil
	}
	if r.done && r.notes == nil {
		r.notes = s.notes(r)
	}
	text, err := json.Marshal(r.answer())
	if err != nil {
		return err
	}
	rows := swss.NewTable(s.redis.DB(swss.StateDB), schema.StatePacketTrace)
	row := swss.FieldValues{schema.PacketTraceJSON: string(text)}
	if err := rows.SetFor(ctx, r.name, row, schema.PacketTraceTTL+r.Interval+r.Timeout); err != nil {
		return err
	}
	if r.done {
		if err := s.publish(ctx, schema.PacketTraceAnswers+r.name, schema.PacketTraceDone, r.name); err != nil {
			return err
		}
	}
	r.changed, r.written = false, s.d.Now()
	return nil
}

// notes returns what may explain that requests of a finished run have no answer.
func (s *Service) notes(r *run) []string {
	notes := []string{}
	if r.strange > 0 {
		text := "%d messages with this identifier did not fit the requests: not counted"
		notes = append(notes, fmt.Sprintf(text, r.strange))
	}
	if !slices.ContainsFunc(r.probes, func(p probe) bool { return p.state == silent }) {
		return notes
	}
	if n := s.network.Drops(); n > r.dropsBefore { // it is less after a restart of syncd
		text := "the CPU port dropped %d frames meanwhile: replies may be among them"
		notes = append(notes, fmt.Sprintf(text, n-r.dropsBefore))
	}
	return append(notes, s.network.Hints(&r.Ping)...)
}

func (s *Service) publish(ctx context.Context, channel, word, text string) error {
	fields := []swss.Pair{{Field: word, Value: text}}
	return s.redis.DB(swss.StateDB).Client().Publish(ctx, channel, swss.EncodeFields(fields)).Err()
}
