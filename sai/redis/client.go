package sairedis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// ClientOptions configure a [Client].
type ClientOptions struct {
	Timeout  time.Duration // maximum time for an answer; 0 means 60 s
	View     time.Duration // the same for APPLY_VIEW, in which syncd compares views, if Sign is nil; 0 means 10 min
	Patience time.Duration // time after which the client queries the fate of a request; 0 means 2 s
	Late     time.Duration // time after which the state of the ASIC counts as unknown; 0 means 5 s
	Idle     time.Duration // time of silence after which a syncd that does not report its state is queried; 0 means 2 s
	// Sign returns the visible state of syncd. It is called twice per second. syncd counts as gone if it has been gone
	// for the time Patience. nil means that no state is visible.
	Sign func(context.Context) Sign
	// ASICUnknown is called with the reason when the state of the ASIC becomes unknown, and with "" when it is known
	// again. It must return immediately. It may be nil.
	ASICUnknown func(why string)
	Recorder    io.Writer        // receives every call in the format of SONiC's sairedis.rec; nil records nothing
	Now         func() time.Time // the time in the recording; nil means wall time
	Logger      *slog.Logger     // nil discards messages
}

// A Client is the SAI API over ASIC_DB. It checks each call as libsairedis does, so that no request reaches syncd
// that would stop it. It gives new objects their virtual ids, and waits for syncd's answer. One request is
// outstanding at a time. Calls are safe for concurrent use.
//
// The state of the ASIC becomes unknown in three cases: no answer arrives in time, syncd answers a later query but
// not the request, or another client makes requests. That call and all later ones then fail with [ErrUnknown], an
// error without a [sai.Status]. orchagent must then restart with a new Client.
type Client struct {
	*channel
	asic   *swss.DB
	polled *swss.Table // the table of FLEX_COUNTER_DB with the objects that syncd polls
	rec    *recorder

	check  *guard     // guarded by the turn, like the following fields
	inView bool       // true between InitView and ApplyView
	held   []heldPoll // start_poll requests, delayed until the view is applied
	syncd  acquaintance
}

var _ sai.API = (*Client)(nil)

// NewClient returns a client. It discards answers that a former client left unread.
func NewClient(ctx context.Context, r *swss.Redis, opts ClientOptions) (*Client, error) {
	asic := r.DB(swss.ASICDB)
	if opts.Timeout == 0 {
		opts.Timeout = 60 * time.Second
	}
	if opts.View == 0 {
		opts.View = 10 * time.Minute
	}
	if opts.Patience == 0 {
		opts.Patience = 2 * time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	channel, err := openChannel(ctx, asic, opts)
	if err != nil {
		return nil, fmt.Errorf("sairedis: %w", err)
	}
	return &Client{
		channel: channel, asic: asic, polled: swss.NewTable(r.DB(swss.FlexCounterDB), flex.Table),
		rec: newRecorder(opts.Recorder, opts.Now), check: newGuard(), syncd: acquaintance{asic: asic},
	}, nil
}

// InitView begins a new view of the ASIC's state in syncd, after syncd has executed the requests of former clients.
// It forgets the objects known so far, and stops their polls.
func (c *Client) InitView(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.resync(ctx); err != nil {
		return err
	}
	if err := c.syncd.meet(ctx); err != nil {
		return err
	}
	status, err := c.notify(ctx, protocol.InitView)
	if err != nil {
		return err
	}
	if status != sai.StatusSuccess {
		return c.lose(fmt.Errorf("sairedis: syncd answers %s to %s: %w", status.String(), protocol.InitView, ErrStopped))
	}
	c.alone = true // all earlier requests have been answered
	c.inView, c.held = true, nil
	return c.stopFormer(ctx)
}

// ApplyView makes syncd bring the ASIC to the view made since InitView.
func (c *Client) ApplyView(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if c.syncd.met { // if this is false, there was no switch to mark
		if _, same, err := c.syncd.is(ctx); err != nil || !same {
			return cmp.Or(err, c.lose(errors.New("sairedis: another syncd has begun, which knows nothing of the view")))
		}
	}
	status, err := c.notify(ctx, protocol.ApplyView)
	switch {
	case err != nil:
		return err
	case status != sai.StatusSuccess:
		return fmt.Errorf("sairedis: %s: %w, answered by syncd", protocol.ApplyView, status)
	}
	held := c.held
	c.inView, c.held = false, nil
	if err := c.syncd.meet(ctx); err != nil {
		return err
	}
	for _, p := range held {
		if err := c.poll(ctx, protocol.OpStartPoll, p.group, p.fields, slices.DeleteFunc(p.objs, c.check.lacks)); err != nil {
			return err
		}
	}
	return c.syncd.know(ctx)
}

func (c *Client) notify(ctx context.Context, what string) (sai.Status, error) {
	c.rec.line("a", what)
	status, _, err := c.do(ctx, protocol.Message{Key: what, Op: protocol.OpNotify}, protocol.OpNotify)
	if err == nil {
		c.rec.line("A", status.String())
	}
	return status, err
}

// statusError converts a status in syncd's answer to an error.
func statusError(op string, t sai.ObjectType, s sai.Status) error {
	if s == sai.StatusSuccess {
		return nil
	}
	return &sai.CallError{Op: op, Type: t, Status: s, Reason: "answered by syncd"}
}

// Create implements [sai.API].
func (c *Client) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := c.acquire(ctx); err != nil {
		return 0, err
	}
	defer c.release()
	if err := c.check.CheckCreate(t, attrs); err != nil {
		return 0, err
	}
	return c.create(ctx, t, attrs)
}

func (c *Client) create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	vid := protocol.SwitchVID
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
	if t == sai.ObjectTypeSwitch {
		c.question = switchQuestion()
	}
	return vid, nil
}

// switchQuestion returns a query that syncd can answer while there is a switch.
func switchQuestion() *protocol.Message {
	return &protocol.Message{Key: protocol.SwitchVID.String(), Op: protocol.OpAttrQuery, Fields: []swss.Pair{
		typeField(sai.ObjectTypeSwitch), {Field: "ATTR_ID", Value: sai.SwitchAttrPortList.String()},
	}}
}

// newVIDs allocates n virtual ids.
func (c *Client) newVIDs(ctx context.Context, t sai.ObjectType, n int64) ([]sai.OID, error) {
	last, err := interruptible(ctx, func() (int64, error) { return c.asic.Add(ctx, protocol.KeyVIDCounter, n) })
	if err != nil {
		return nil, fmt.Errorf("sairedis: %w", err)
	}
	vids := make([]sai.OID, n)
	for i := range vids {
		if vids[i], err = protocol.NewVID(t, last-n+1+int64(i)); err != nil {
			return nil, err
		}
	}
	return vids, nil
}

func (c *Client) createKey(ctx context.Context, k sai.Key, attrs []sai.Attr) error {
	pairs, err := protocol.FormatAttrs(attrs)
	if err != nil {
		return err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("c", key, pairs)
	if len(pairs) == 0 {
		pairs = protocol.NullPair
	}
	if err := c.change(ctx, protocol.Message{Key: key, Op: protocol.OpCreate, Fields: pairs}, k.Type); err != nil {
		return err
	}
	c.check.Created(k, attrs)
	return nil
}

// change sends a request whose answer is only a status.
func (c *Client) change(ctx context.Context, req protocol.Message, t sai.ObjectType) error {
	status, _, err := c.do(ctx, req, protocol.OpResponse)
	if err != nil {
		return err
	}
	if status != sai.StatusSuccess {
		c.rec.line("E", status.String())
	}
	return statusError(req.Op, t, status)
}

// CreateEntry implements [sai.API].
func (c *Client) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := checkEntry(protocol.OpCreate, e); err != nil {
		return err
	}
	if err := c.check.CheckCreateEntry(e, attrs); err != nil {
		return err
	}
	return c.createKey(ctx, sai.EntryKey(e), attrs)
}

// Remove implements [sai.API]. The switch cannot be removed: a stock syncd stops when it receives that request.
func (c *Client) Remove(ctx context.Context, k sai.Key) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.check.CheckRemove(k); err != nil {
		return err
	}
	return c.remove(ctx, k)
}

func (c *Client) remove(ctx context.Context, k sai.Key) error {
	key := sai.FormatKey(k)
	c.rec.line("r", key)
	if err := c.change(ctx, protocol.Message{Key: key, Op: protocol.OpRemove}, k.Type); err != nil {
		return err
	}
	c.check.Removed(k)
	return nil
}

// Set implements [sai.API].
func (c *Client) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.check.CheckSet(k, a); err != nil {
		return err
	}
	return c.set(ctx, k, a)
}

func (c *Client) set(ctx context.Context, k sai.Key, a sai.Attr) error {
	pairs, err := protocol.FormatAttrs([]sai.Attr{a})
	if err != nil {
		return err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("s", key, pairs)
	if err := c.change(ctx, protocol.Message{Key: key, Op: protocol.OpSet, Fields: pairs}, k.Type); err != nil {
		return err
	}
	c.check.Changed(k, a)
	return nil
}

// checkRoom rejects placeholders of lists without items. A switch returns their length, but only if its syncd passes
// them on.
func checkRoom(k sai.Key, want []sai.Attr) error {
	for _, a := range want {
		if n, list := sai.ListLen(a.Value); list && n == 0 {
			return fmt.Errorf("get %s: %s needs room for at least one item: %w", k, a.ID, sai.StatusInvalidParameter)
		}
	}
	return nil
}

// Get implements [sai.API].
func (c *Client) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if err := cmp.Or(c.check.CheckGet(k, want), checkRoom(k, want)); err != nil {
		return nil, err
	}
	pairs, err := protocol.FormatAttrs(placeholders(want))
	if err != nil {
		return nil, err
	}
	key := sai.FormatKey(k)
	c.rec.attrs("g", key, pairs)
	status, fields, err := c.do(ctx, protocol.Message{Key: key, Op: protocol.OpGet, Fields: pairs}, protocol.OpResponse)
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
		return nil, statusError(protocol.OpGet, k.Type, status)
	}
	got, err := c.parseGot(k, want, fields, parse)
	if err != nil {
		return nil, fmt.Errorf("sairedis: answer to get %s: %w", key, err)
	}
	return got, statusError(protocol.OpGet, k.Type, status)
}

// parseGot decodes the answer to a get, and records the objects in it. A mismatched answer may belong to another
// request. Then no answer can be assigned to a request any more, and the client is lost.
func (c *Client) parseGot(
	k sai.Key, want []sai.Attr, fields []swss.Pair, parse func(sai.AttrID, string) (sai.Value, error),
) ([]sai.Attr, error) {
	if len(fields) != len(want) {
		return nil, c.lose(fmt.Errorf("%d attributes, want %d", len(fields), len(want)))
	}
	got := make([]sai.Attr, len(want))
	for i, f := range fields {
		a, err := protocol.ParseAttr(want[i].ID.ObjectType(), f, parse)
		if err != nil {
			return nil, noStatus{err}
		}
		if a.ID != want[i].ID {
			return nil, c.lose(fmt.Errorf("%s where %s was asked for", a.ID, want[i].ID))
		}
		got[i] = a
		sai.References(a.Value, func(vid sai.OID) { c.check.named(k, vid) })
	}
	return got, nil
}

// A noStatus hides the status of an error that did not come from the ASIC.
type noStatus struct{ err error }

func (n noStatus) Error() string { return n.err.Error() }
