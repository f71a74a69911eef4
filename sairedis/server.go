package sairedis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// ServerOptions of a [Server].
type ServerOptions struct {
	// TempView makes INIT_VIEW and APPLY_VIEW compare views, so that a
	// restarted orchagent keeps the ASIC running; without it they are answered
	// and otherwise ignored.
	TempView bool
	Logger   *slog.Logger // nil discards
}

// A Server is syncd: it takes requests from ASIC_DB, translates virtual to
// real object ids, calls the backend, and keeps in ASIC_DB what a restart
// needs. No request stops it: what would stop SONiC's syncd is answered with
// an error and logged.
//
// Two things differ from SONiC's syncd on purpose: rows are written before, in
// one transaction with, the answer; and a get does not write what it read into
// ASIC_STATE, which therefore holds configuration alone.
type Server struct {
	redis    *swss.Redis
	asic     *swss.DB
	requests *swss.Queue
	answers  *swss.Queue
	counters []*swss.Queue // of FLEX_COUNTER_DB: groups, objects
	backend  sai.API
	opts     ServerOptions
	log      *slog.Logger

	mu    sync.Mutex // held while a request is processed or counters are read
	ids   *idMap
	view  *view // the view being made, nil outside INIT_VIEW..APPLY_VIEW
	first bool  // INIT_VIEW of an empty ASIC_DB: the view is made directly
	flex  *flexCounters
	ready bool // state was read from ASIC_DB

	nmu  sync.Mutex         // guards late, and ids where mu is not held
	late []sai.Notification // about objects that were not yet known
}

// NewServer returns a server in front of a backend that has no switch yet.
func NewServer(r *swss.Redis, backend sai.API, opts ServerOptions) *Server {
	asic, flex := r.DB(swss.ASICDB), r.DB(swss.FlexCounterDB)
	s := &Server{
		redis: r, asic: asic, backend: backend, opts: opts, log: opts.Logger,
		requests: swss.NewQueue(asic, asicState), answers: swss.NewQueue(asic, getResponse),
		counters: []*swss.Queue{swss.NewQueue(flex, flexGroup), swss.NewQueue(flex, flexTable)},
		ids:      newIDMap(), flex: newFlexCounters(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// idle is how long the server waits for a message before it looks at the queue
// anyway: a request whose PUBLISH was lost waits no longer.
const idle = time.Second

// Serve answers requests until ctx ends (then it returns nil) or RESTARTQUERY
// asks it to stop (then [ErrShutdown]). First it brings the backend to the
// state that ASIC_DB holds. While Redis is away it waits.
func (s *Server) Serve(ctx context.Context) error {
	for ctx.Err() == nil {
		err := s.serve(ctx)
		if errors.Is(err, ErrShutdown) || ctx.Err() != nil {
			break
		}
		s.log.Error("syncd: " + err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return ErrShutdown
}

// serve works on one connection to Redis.
func (s *Server) serve(ctx context.Context) error {
	channels := []string{s.requests.Channel(), restartQuery}
	for _, q := range s.counters {
		channels = append(channels, q.Channel())
	}
	conn := s.asic.Client().Subscribe(ctx, channels...)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Receive(ctx); err != nil {
		return err
	}
	for _, begin := range []func(context.Context) error{s.requests.Load, s.load, s.look} {
		if err := begin(ctx); err != nil {
			return err
		}
	}
	for {
		msg, err := conn.ReceiveTimeout(ctx, idle)
		if err == nil {
			err = s.hear(ctx, msg)
		} else if ctx.Err() == nil && isTimeout(err) {
			err = s.look(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// hear does what a message from Redis asks for.
func (s *Server) hear(ctx context.Context, msg any) error {
	m, ok := msg.(*redis.Message)
	switch {
	case !ok:
		return nil // of the subscription itself
	case m.Channel == restartQuery:
		s.log.Info("syncd: asked to shut down", "query", m.Payload)
		return ErrShutdown
	case m.Channel == s.requests.Channel():
		return s.drain(ctx)
	}
	return s.popFlex(ctx)
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// look answers what is queued, told of or not.
func (s *Server) look(ctx context.Context) error {
	if err := s.popFlex(ctx); err != nil {
		return err
	}
	n, err := s.requests.Len(ctx)
	if err != nil || n == 0 {
		return err
	}
	return s.drain(ctx)
}

// Load brings the backend to the state of ASIC_DB, which Serve does first of
// all unless it is done. A simulation calls it, so that the ASIC is whole before
// time goes on.
func (s *Server) Load(ctx context.Context) error { return s.load(ctx) }

// load reads ASIC_DB once and brings the backend to its state.
func (s *Server) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return nil
	}
	if err := s.replay(ctx); err != nil {
		return err
	}
	if err := s.loadFlex(ctx); err != nil {
		return err
	}
	s.ready = true
	return nil
}

// drain answers all queued requests.
func (s *Server) drain(ctx context.Context) error {
	for {
		entries, err := s.requests.Pop(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := s.answer(ctx, e); err != nil {
				return err
			}
		}
		if len(entries) < swss.PopSize {
			return nil
		}
	}
}

// answer processes one request and commits its outcome.
func (s *Server) answer(ctx context.Context, e swss.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := s.process(ctx, e)
	if err := s.commit(ctx, res); err != nil {
		return err
	}
	s.notifyLate(ctx)
	return nil
}

// A result is the outcome of a request: what to write, and the answer.
type result struct {
	status sai.Status
	op     string // of the answer
	fields []swss.Pair
	writes []func(redis.Pipeliner)
	mapped []any // virtual id, real id, ...: new entries of VIDTORID
}

func (r *result) write(f func(redis.Pipeliner)) { r.writes = append(r.writes, f) }

// commit writes the rows and sends the answer, as one transaction. As the
// backend has changed already, it tries until it succeeds. The answer however
// is sent once: where nobody knows whether it was (the connection broke), it is
// not sent again, since the client would take the second one for the answer to
// its next request; if there was none, the client learns of it by waiting.
func (s *Server) commit(ctx context.Context, r *result) error {
	m := message{key: r.status.String(), op: r.op, fields: r.fields}
	written, sent := false, false
	for {
		var push *redis.Cmd
		_, err := s.asic.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
			if !written {
				for _, w := range r.writes {
					w(p)
				}
				r.writeMaps(ctx, p)
			}
			if !sent {
				push = s.answers.PushIn(ctx, p, m.entry())
			}
			return nil
		})
		if err == nil {
			return nil
		}
		s.log.Error("syncd: write of a request's outcome: " + err.Error())
		switch {
		case push != nil && push.Err() == nil, redis.HasErrorPrefix(err, "WRONGTYPE"):
			// Someone put another type of key in the place of a row. The rest of
			// the transaction has been done, the answer too.
			return nil
		case push != nil && swss.IsNoScript(push.Err()):
			written = true
			if err := s.answers.Load(ctx); err == nil {
				continue
			}
		case !swss.NothingSent(err):
			sent = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// writeMaps adds the new ids to VIDTORID and RIDTOVID.
func (r *result) writeMaps(ctx context.Context, p redis.Pipeliner) {
	if len(r.mapped) == 0 {
		return
	}
	back := make([]any, len(r.mapped))
	for i := 0; i < len(back); i += 2 {
		back[i], back[i+1] = r.mapped[i+1], r.mapped[i]
	}
	p.HSet(ctx, vidToRID, r.mapped...)
	p.HSet(ctx, ridToVID, back...)
}

// setIDs replaces the translation of object ids.
func (s *Server) setIDs(ids *idMap) {
	s.nmu.Lock()
	defer s.nmu.Unlock()
	s.ids = ids
}

// currentIDs returns the translation of object ids; mu need not be held.
func (s *Server) currentIDs() *idMap {
	s.nmu.Lock()
	defer s.nmu.Unlock()
	return s.ids
}
