package sairedis

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/swss"
)

// ClientOptions of a [Client].
type ClientOptions struct {
	Timeout  time.Duration    // how long to wait for an answer; 0 means 60 s
	Recorder io.Writer        // every call as in SONiC's sairedis.rec; nil records nothing
	Now      func() time.Time // the time in the recording; nil means wall time
	Logger   *slog.Logger     // nil discards
}

// A Client is the SAI API over ASIC_DB: it checks each call as libsairedis
// does, so that nothing reaches syncd that would stop it, gives new objects
// their virtual ids, and waits for syncd's answer. One request is outstanding
// at a time; calls are safe for concurrent use.
//
// If no answer comes in time, it is not known what the ASIC did: that call and all
// later ones fail with [ErrUnknown], an error without a [sai.Status], and orchagent
// has to start again with a new Client.
type Client struct {
	asic     *swss.DB
	polled   *swss.Table // what syncd polls, in FLEX_COUNTER_DB
	requests *swss.Queue
	answers  *swss.Inbox
	timeout  time.Duration
	log      *slog.Logger
	rec      *recorder

	turn     chan struct{} // holds a value while a call is under way; guards what follows
	check    *sai.Validator
	children map[sai.OID][]sai.Key // by port: what comes and goes with it, as far as known
	broken   error                 // why the ASIC's state is unknown
	inView   bool                  // between InitView and ApplyView
	held     []heldPoll            // start_poll put off until the view is applied
	lost     chan struct{}         // closed when broken is set
}

var _ sai.API = (*Client)(nil)

// NewClient returns a client. It throws away answers that an earlier client
// left unread.
func NewClient(ctx context.Context, r *swss.Redis, opts ClientOptions) (*Client, error) {
	asic := r.DB(swss.ASICDB)
	answers := swss.NewQueue(asic, getResponse, swss.WithModify())
	c := &Client{
		asic: asic, polled: swss.NewTable(r.DB(swss.FlexCounterDB), flexTable),
		requests: swss.NewQueue(asic, asicState), answers: swss.NewInbox(answers),
		timeout: opts.Timeout, log: opts.Logger, rec: newRecorder(opts.Recorder, opts.Now),
		turn: make(chan struct{}, 1), check: sai.NewValidator(), children: map[sai.OID][]sai.Key{}, lost: make(chan struct{}),
	}
	if c.timeout == 0 {
		c.timeout = 60 * time.Second
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	_, err := interruptible(ctx, func() (struct{}, error) {
		err := answers.Load(ctx)
		if err == nil {
			err = answers.Drain(ctx)
		}
		if err == nil {
			_, err = c.answers.Open(ctx)
		}
		return struct{}{}, err
	})
	if err != nil {
		go c.Close() // Redis may keep this waiting
		return nil, fmt.Errorf("sairedis: %w", err)
	}
	return c, nil
}

// Close ends the client's connection. Syncd and the ASIC stay as they are.
func (c *Client) Close() error { return c.answers.Close() }

// take waits for the caller's turn. It fails once the client is lost.
func (c *Client) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("sairedis: %w", ctx.Err())
	}
	if c.broken != nil {
		c.give()
		return c.broken
	}
	return nil
}

// give ends the caller's turn.
func (c *Client) give() { <-c.turn }

// InitView tells syncd that a new view of the ASIC's state begins. Objects
// known from before are forgotten, and no longer polled.
func (c *Client) InitView(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	c.check, c.children = sai.NewValidator(), map[sai.OID][]sai.Key{}
	if err := c.notify(ctx, initView); err != nil {
		return err
	}
	c.inView, c.held = true, nil
	return c.stopFormer(ctx)
}

// ApplyView makes syncd bring the ASIC to the view made since InitView.
func (c *Client) ApplyView(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	if err := c.notify(ctx, applyView); err != nil {
		return err
	}
	held := c.held
	c.inView, c.held = false, nil
	for _, p := range held {
		if err := c.poll(ctx, opStartPoll, p.group, p.fields, slices.DeleteFunc(p.objs, c.unknown)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) notify(ctx context.Context, what string) error {
	c.rec.line("a", what)
	status, _, err := c.do(ctx, message{key: what, op: opNotify}, opNotify)
	if err != nil {
		return err
	}
	c.rec.line("A", status.String())
	if status != sai.StatusSuccess {
		return fmt.Errorf("sairedis: %s: %w, answered by syncd", what, status)
	}
	return nil
}

// statusError returns what syncd answered as an error.
func statusError(op string, t sai.ObjectType, s sai.Status) error {
	if s == sai.StatusSuccess {
		return nil
	}
	return &sai.CallError{Op: op, Type: t, Status: s, Reason: "answered by syncd"}
}

// Create implements [sai.API].
func (c *Client) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := c.take(ctx); err != nil {
		return 0, err
	}
	defer c.give()
	if err := c.checkCreate(t, attrs); err != nil {
		return 0, err
	}
	return c.create(ctx, t, attrs)
}

func (c *Client) create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	vid := SwitchVID
	if t != sai.ObjectTypeSwitch {
		vids, err := c.newVIDs(ctx, t, 1)
		if err != nil {
			return 0, err
		}
		vid = vids[0]
	}
	if err := c.createKey(ctx, sai.Obj(t, vid), attrs); err != nil {
		return 0, err
	}
	return vid, nil
}

// newVIDs takes n new virtual ids.
func (c *Client) newVIDs(ctx context.Context, t sai.ObjectType, n int64) ([]sai.OID, error) {
	last, err := interruptible(ctx, func() (int64, error) { return c.asic.Add(ctx, vidCounter, n) })
	if err != nil {
		return nil, fmt.Errorf("sairedis: %w", err)
	}
	vids := make([]sai.OID, n)
	for i := range vids {
		if vids[i], err = newVID(t, last-n+1+int64(i)); err != nil {
			return nil, err
		}
	}
	return vids, nil
}

func (c *Client) createKey(ctx context.Context, k sai.Key, attrs []sai.Attr) error {
	pairs, err := formatAttrs(attrs)
	if err != nil {
		return err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("c", key, pairs)
	if len(pairs) == 0 {
		pairs = nullPair
	}
	if err := c.change(ctx, message{key: key, op: opCreate, fields: pairs}, k.Type); err != nil {
		return err
	}
	c.check.Created(k, attrs)
	return nil
}

// change does a request that is answered by a status alone.
func (c *Client) change(ctx context.Context, req message, t sai.ObjectType) error {
	status, _, err := c.do(ctx, req, opResponse)
	if err != nil {
		return err
	}
	if status != sai.StatusSuccess {
		c.rec.line("E", status.String())
	}
	return statusError(req.op, t, status)
}

// CreateEntry implements [sai.API].
func (c *Client) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	if err := checkEntry(opCreate, e); err != nil {
		return err
	}
	if err := c.check.CheckCreateEntry(e, attrs); err != nil {
		return err
	}
	return c.createKey(ctx, sai.EntryKey(e), attrs)
}

// Remove implements [sai.API]. The switch cannot be removed: a stock syncd
// stops when asked to.
func (c *Client) Remove(ctx context.Context, k sai.Key) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	if err := c.checkRemove(k); err != nil {
		return err
	}
	return c.remove(ctx, k)
}

func (c *Client) remove(ctx context.Context, k sai.Key) error {
	key := sai.FormatKey(k)
	c.rec.line("r", key)
	if err := c.change(ctx, message{key: key, op: opRemove}, k.Type); err != nil {
		return err
	}
	c.removed(k)
	return nil
}

// Set implements [sai.API].
func (c *Client) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	if err := c.check.CheckSet(k, a); err != nil {
		return err
	}
	return c.set(ctx, k, a)
}

func (c *Client) set(ctx context.Context, k sai.Key, a sai.Attr) error {
	pairs, err := formatAttrs([]sai.Attr{a})
	if err != nil {
		return err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("s", key, pairs)
	if err := c.change(ctx, message{key: key, op: opSet, fields: pairs}, k.Type); err != nil {
		return err
	}
	c.check.Changed(k, a)
	return nil
}

// Get implements [sai.API].
func (c *Client) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if err := c.check.CheckGet(k, want); err != nil {
		return nil, err
	}
	pairs, err := formatAttrs(placeholders(want))
	if err != nil {
		return nil, err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("g", key, pairs)
	status, fields, err := c.do(ctx, message{key: key, op: opGet, fields: pairs}, opResponse)
	if err != nil {
		return nil, err
	}
	c.rec.attrs("G", status.String(), fields)
	parse := sai.ParseValue
	switch status {
	case sai.StatusSuccess:
	case sai.StatusBufferOverflow:
		parse = sai.ParseCount
	default:
		return nil, statusError(opGet, k.Type, status)
	}
	got, err := c.parseGot(k, want, fields, parse)
	if err != nil {
		return nil, fmt.Errorf("sairedis: answer to get %s: %w", key, err)
	}
	return got, statusError(opGet, k.Type, status)
}

// parseGot reads what a get returned, and notes the objects it tells of. An
// answer that does not fit may be that to another request: from then on nobody
// knows which is whose.
func (c *Client) parseGot(
	k sai.Key, want []sai.Attr, fields []swss.Pair, parse func(sai.AttrID, string) (sai.Value, error),
) ([]sai.Attr, error) {
	if len(fields) != len(want) {
		return nil, c.lose(fmt.Errorf("%d attributes, want %d", len(fields), len(want)))
	}
	got := make([]sai.Attr, len(want))
	for i, f := range fields {
		a, err := parseAttr(want[i].ID.ObjectType(), f, parse)
		if err != nil {
			return nil, noStatus{err}
		}
		if a.ID != want[i].ID {
			return nil, c.lose(fmt.Errorf("%s where %s was asked for", a.ID, want[i].ID))
		}
		got[i] = a
		sai.References(a.Value, func(vid sai.OID) { c.found(k, vid) })
	}
	return got, nil
}

// noStatus hides the status of an error: it was not the ASIC that gave it.
type noStatus struct{ err error }

func (n noStatus) Error() string { return n.err.Error() }
