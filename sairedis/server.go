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
	// TempView makes INIT_VIEW and APPLY_VIEW compare views, so that a restarted orchagent keeps
	// the ASIC running; otherwise they are answered but ignored.
	TempView bool
	Logger   *slog.Logger // nil discards
}

// A Server is syncd: it takes requests from ASIC_DB, translates virtual to
// real object ids, calls the backend, and keeps in ASIC_DB what a restart
// needs. No request stops it: what would stop SONiC's syncd is answered with
// an error and logged.
//
// Two things differ from SONiC's syncd on purpose: rows are written before the answer, in the same
// transaction; and a get does not write what it read into ASIC_STATE, which therefore holds only
// configuration.
type Server struct {
	Counters *FlexCounters // what is read of the ASIC into COUNTERS_DB
	Notifier *Notifier     // publishes the ASIC's notifications

	asic     *swss.DB
	requests *swss.Queue
	answers  *swss.Queue
	log      *slog.Logger

	mu        *sync.Mutex // held while a request is processed or counters are read
	processor *processor
	ready     bool // state was read from ASIC_DB
}

// NewServer returns a server in front of a backend that has no switch yet.
func NewServer(r *swss.Redis, backend sai.API, opts ServerOptions) *Server {
	asic, log := r.DB(swss.ASICDB), opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	mu := &sync.Mutex{}
	objects := newTranslator(asic, backend)
	counters := newFlexCounters(r, mu, objects, backend, log)
	vs := &views{
		db: asic, backend: backend, log: log, objects: objects, polled: counters.groups, compares: opts.TempView,
	}
	return &Server{
		Counters: counters, Notifier: &Notifier{db: asic, log: log, objects: objects},
		asic: asic, requests: swss.NewQueue(asic, asicState), answers: swss.NewQueue(asic, getResponse), log: log,
		mu: mu,
		processor: &processor{
			db: asic, backend: backend, log: log, objects: objects, counters: counters, views: vs,
			queries: queries{backend, objects},
		},
	}
}

// idle is how long the server waits for a message before it checks the queue anyway: a request
// whose PUBLISH was lost waits at most this long.
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
	for _, q := range s.Counters.queues {
		channels = append(channels, q.Channel())
	}
	conn := s.asic.Subscribe(ctx, channels...)
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

// hear acts on a message from Redis.
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
	return s.Counters.takeRows(ctx)
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// look answers what is queued, announced or not.
func (s *Server) look(ctx context.Context) error {
	if err := s.Counters.takeRows(ctx); err != nil {
		return err
	}
	n, err := s.requests.Len(ctx)
	if err != nil || n == 0 {
		return err
	}
	return s.drain(ctx)
}

// Load brings the backend to the state of ASIC_DB; Serve does so first unless it is done. A
// simulation calls it, so that the ASIC is complete before time advances.
func (s *Server) Load(ctx context.Context) error { return s.load(ctx) }

// load reads ASIC_DB once and brings the backend to its state.
func (s *Server) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return nil
	}
	if err := s.processor.views.replay(ctx); err != nil {
		return err
	}
	if err := s.Counters.load(ctx); err != nil {
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
	res := s.processor.process(ctx, e)
	if err := s.commit(ctx, res); err != nil {
		return err
	}
	s.Notifier.notifyLate(ctx)
	return nil
}

// commit writes the rows and sends the answer, as one transaction. As the backend has already
// changed, it tries until it succeeds. The answer, however, is sent only once: if it is not known
// whether it was sent (the connection broke), it is not repeated, since the client would take the
// second one for the answer to its next request; if it was not sent, the client times out.
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
			// Someone replaced a row by another type of key. The rest of the transaction was
			// executed, including the answer.
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
