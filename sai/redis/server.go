package sairedis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/queries"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/tick"
)

// ServerOptions configure a [Server].
type ServerOptions struct {
	// TempView makes INIT_VIEW and APPLY_VIEW compare views, so that a restarted orchagent keeps the ASIC running.
	// Otherwise they are answered but ignored.
	TempView bool
	// Async serves a client in SONiC's mode redis_async: changes are not answered. If one fails, the client is asked to
	// stop, because it counts on its success.
	Async bool
	// Run names the process. It is part of the mark by which this syncd recognises its database.
	Run    string
	Logger *slog.Logger // nil discards messages
	// Now returns the time of day, which is stored as the time since which a counter counts. nil means the wall clock.
	Now func() time.Time
	// Renew, if set, reports whether a fresh chip may be requested if drift of the ASIC cannot be healed.
	Renew func() bool
	// Report, if set, is called with the reason when the server cannot work, and with "" when it works again.
	Report func(reason string)
}

// A Server is syncd. It dequeues requests from ASIC_DB, translates virtual to real object ids, calls the backend, and
// stores in ASIC_DB the state that a restart needs. No request stops it: a request that would stop SONiC's syncd is
// answered with an error and logged.
//
// Four things differ from SONiC's syncd on purpose. Rows are written before the answer, in the same transaction. A
// request leaves the queue in that transaction too, so that none is lost or executed twice whatever happens to the
// connection. A get does not write its result into ASIC_STATE, which therefore holds only configuration; in a view it
// keeps the setting that it read. A view that the ASIC refuses changes nothing.
//
// A server belongs to one chip, and the chip to the contents of ASIC_DB: see [swss.ErrReset].
type Server struct {
	Counters *flex.Counters // polls counters of the ASIC into COUNTERS_DB
	Notifier *Notifier      // publishes the ASIC's notifications
	Watch    *drift.Watch   // compares ASIC_STATE with the ASIC, see Compare
	Record   io.Writer      // receives each request and its answer, see [protocol.Exchange]; nil records nothing

	asic     *swss.DB
	requests *swss.Queue
	answers  *swss.Queue
	log      *slog.Logger

	async     bool        // true if changes are not answered
	unread    bool        // true if the switch was created and the client has not sent anything since
	mu        *sync.Mutex // held while a request is processed or counters are read
	processor *processor
	journal   *journal
	say       func(reason string)
	why       string // reason reported last; "" if the server works
	begun     bool   // true if the chip may have objects
	ready     bool   // true if the state was read from ASIC_DB
}

// NewServer returns a server in front of a backend that has no switch yet.
func NewServer(r *swss.Redis, chip sai.API, opts ServerOptions) *Server {
	asic, log, backend := r.DB(swss.ASICDB), opts.Logger, flex.NewBirths(chip, opts.Now)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	mu := &sync.Mutex{}
	objects := objectids.NewTranslator(asic, backend)
	counters := flex.New(r, mu, objects, backend, log)
	vs := &views{
		db: asic, backend: backend, checker: &sai.Gate{API: chip}, log: log, objects: objects, polled: counters.Groups,
		compares: opts.TempView,
	}
	counters.InView = vs.has
	s := &Server{
		Watch: drift.NewWatch(), Counters: counters, Notifier: newNotifier(asic, log, objects),
		asic: asic, requests: swss.NewQueue(asic, protocol.ASICState),
		answers: swss.NewQueue(asic, protocol.GetResponse), log: log,
		async: opts.Async, mu: mu, journal: newJournal(asic, opts.Run), say: opts.Report, why: "starting",
		processor: &processor{
			db: asic, backend: backend, log: log, objects: objects, counters: counters, views: vs,
			queries: queries.Server{Backend: backend, Objects: objects},
		},
	}
	s.Watch.Add(comparison{s, opts.Renew}.stage())
	return s
}

// idle is how long the server waits for a message before it checks the queue anyway. It bounds the delay of a request
// whose PUBLISH was lost.
const idle = time.Second

// Serve answers requests. It returns nil when ctx ends, [ErrShutdown] when RESTARTQUERY asks it to stop, and
// [swss.ErrReset] when chip and database no longer belong together. First it brings the backend to the state that
// ASIC_DB holds. It waits while Redis is away or refuses writes.
func (s *Server) Serve(ctx context.Context) error {
	for ctx.Err() == nil {
		err := s.serve(ctx)
		if errors.Is(err, ErrShutdown) || ctx.Err() != nil {
			break
		}
		if errors.Is(err, swss.ErrReset) {
			_, mendErr := s.asic.Redis().Mend(ctx)
			return errors.Join(err, mendErr)
		}
		s.unwell(ctx, err)
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

// unwell reports why the server does not work, and repairs keys of the wrong type.
func (s *Server) unwell(ctx context.Context, err error) {
	s.report(swss.Why(err))
	if !swss.IsMisuse(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mend(ctx, nil); err != nil {
		s.log.Error("syncd: mending", "error", err)
	}
}

// report logs and reports a changed reason.
func (s *Server) report(reason string) {
	if reason == s.why {
		return
	}
	if s.why = reason; reason == "" {
		s.log.Info("syncd: works")
	} else {
		s.log.Error("syncd: does not work", "because", reason)
	}
	if s.say != nil {
		s.say(reason)
	}
}

// serve works on one connection to Redis.
func (s *Server) serve(ctx context.Context) error {
	channels := []string{s.requests.Channel(), protocol.RestartQuery}
	for _, q := range s.Counters.Queues {
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
	s.report("")
	due := tick.Next(time.Now(), idle)
	for silent := 0; ; silent++ {
		msg, err := conn.ReceiveTimeout(ctx, max(time.Until(due), time.Millisecond))
		switch {
		case err == nil:
			silent = 0
			err = s.hear(ctx, msg)
		case ctx.Err() == nil && swss.IsTimeout(err):
			err = s.alive(ctx, conn, silent)
		}
		if now := time.Now(); err == nil && !now.Before(due) { // regardless of the number of requests
			err = s.look(ctx)
			due = tick.Next(now, idle)
		}
		if err != nil {
			return err
		}
	}
}

// quiet is a time in units of idle. If the connection that announces requests is silent for that time, it is tested. If
// it stays silent for the same time again, it counts as dead.
const quiet = 5

// alive tests the connection after a silence, and fails when it is dead.
func (s *Server) alive(ctx context.Context, conn swss.Subscription, silent int) error {
	switch silent {
	case quiet:
		return conn.Ping(ctx, "alive")
	case 2 * quiet:
		s.asic.Redis().Cut() // the other connections are probably dead too
		return fmt.Errorf("%w: the connection is silent for %s", swss.ErrUnavailable, 2*quiet*idle)
	}
	return nil
}

// hear handles a message from Redis.
func (s *Server) hear(ctx context.Context, msg any) error {
	m, ok := msg.(*redis.Message)
	switch {
	case !ok:
		return nil // the message is about the subscription itself
	case m.Channel == protocol.RestartQuery:
		s.log.Info("syncd: asked to shut down", "query", m.Payload)
		return ErrShutdown
	case m.Channel == s.requests.Channel():
		return s.drain(ctx)
	}
	return s.Counters.ApplyRows(ctx)
}

// look answers all queued requests, even if no message announced them. Before that it repairs keys of the wrong type
// that earlier requests found.
func (s *Server) look(ctx context.Context) error {
	s.mu.Lock()
	err := s.lookAtMaps(ctx)
	if err == nil {
		err = s.mend(ctx, nil)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.Counters.ApplyRows(ctx); err != nil {
		return err
	}
	return s.drain(ctx)
}

// lookAtMaps finds maps of ids that are no longer hashes. Some maps are used only at the next start, which would be too
// late to find the fault.
func (s *Server) lookAtMaps(ctx context.Context) error {
	_, err := s.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range []string{
			protocol.KeyVIDToRID, protocol.KeyRIDToVID, protocol.KeyColdVIDs, protocol.KeyHidden, protocol.KeyLanes,
		} {
			p.HLen(ctx, key)
		}
		return nil
	})
	if swss.IsMisuse(err) {
		err = nil // the error is recorded, and mend repairs the key
	}
	return err
}

// Load brings the backend to the state of ASIC_DB. Serve does the same at its start. A simulation calls Load, so that
// the ASIC is complete before time advances.
func (s *Server) Load(ctx context.Context) error { return s.load(ctx) }

// load reads ASIC_DB once and brings the backend to its state. The backend stays unchanged until the database has
// been read and accepts writes. A load that fails half-way is not repeated on the same chip.
func (s *Server) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return nil // each look at the queue checks that the database still belongs to the chip
	}
	if s.begun {
		return fmt.Errorf("the chip has half of an earlier run: %w", swss.ErrReset)
	}
	earlier, err := s.processor.views.read(ctx)
	if err != nil {
		return err
	}
	if err := s.journal.begin(ctx); err != nil {
		return err
	}
	s.begun = true
	if err := s.processor.views.replay(ctx, earlier); err != nil {
		return fmt.Errorf("replay: %w: %w", err, swss.ErrReset)
	}
	if err := s.Counters.Load(ctx); err != nil {
		return fmt.Errorf("counters of an earlier run: %w: %w", err, swss.ErrReset)
	}
	s.ready = true
	return nil
}

// drain answers all queued requests. The journal is read after the queue: requests in a database that does not belong
// to the chip are left to the next syncd. This needs no transaction, which would cost two more commands per request.
// Only this syncd writes its id and counts its outcomes, and it writes nothing in between. So if the database belongs
// to the chip when the journal is read, it did when the queue was read.
func (s *Server) drain(ctx context.Context) error {
	for {
		var mine *redis.SliceCmd
		var queue swss.Peek
		if _, err := s.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			queue = s.requests.PeekIn(ctx, p)
			mine = s.journal.ask(ctx, p)
			return nil
		}); err != nil {
			return fmt.Errorf("reading the requests: %w", err)
		}
		if err := s.journal.fits(mine); err != nil {
			return err
		}
		entries := queue.Entries()
		if s.unread && len(entries) > 0 {
			s.unread = false
			if err := s.checkRead(ctx); err != nil {
				return err
			}
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
func (s *Server) answer(ctx context.Context, e swss.Peeked) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := s.processor.process(ctx, e.Entry)
	op := strings.TrimLeft(e.Op, "SD")
	res.Unanswered = s.async && protocol.IsChange(op)
	if err := s.commit(ctx, e, res); err != nil {
		return err
	}
	s.keep(e.Entry, res)
	switch {
	case res.Unanswered && res.Status != sai.StatusSuccess:
		s.log.Error("syncd: a change has failed that the client counts on; it is asked to stop", "key", e.Key, "op", op)
		if rid, ok := s.processor.objects.IDs.RID(protocol.SwitchVID); ok {
			s.Notifier.Add(sai.ShutdownRequest{Switch: rid}, 1)
		}
	case !res.Unanswered && op == protocol.OpCreate && strings.HasPrefix(e.Key, sai.ObjectTypeSwitch.String()+":"):
		s.unread = true
	}
	s.Notifier.notifyLate(ctx)
	return nil
}

// keep records a request with its outcome. A recording that cannot be written ends.
func (s *Server) keep(request swss.Entry, res *protocol.Result) {
	if s.Record == nil {
		return
	}
	e := protocol.Exchange{Request: request}
	if !res.Unanswered {
		answer := protocol.Message{Key: res.Status.String(), Op: res.Op, Fields: res.Fields}
		e.Answer = answer.Entry()
	}
	if _, err := io.WriteString(s.Record, e.String()); err != nil {
		s.log.Error("syncd: the recording ends", "error", err)
		s.Record = nil
	}
}

// checkRead reports a client that does not read its answers. A client that does has read the answer to its last request
// when it sends another.
func (s *Server) checkRead(ctx context.Context) error {
	n, err := s.answers.Len(ctx)
	if err == nil && n > 0 {
		s.log.Error("syncd: the client does not read answers, as in SONiC's mode redis_async; " +
			"it takes them for those of later requests. Run both sides in one mode: syncd with --sairedis redis_async, " +
			"or orchagent with -z redis_sync")
	}
	return err
}
