package chaos

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/sairedistest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/swsstest"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// A strictSyncd is a syncd that is as strict to its clients as SONiC's, with our chip. It parses requests strictly.
// After a request that would stop SONiC's syncd, it accepts requests but answers only that a view has failed. Between
// INIT_VIEW and APPLY_VIEW it answers SUCCESS to everything, and does nothing. It writes values that were read into
// ASIC_STATE. Objects that were created with the switch have no values, and some types are unknown to us. It has no
// name and no journal, reports no state, and does not restore its old polls. At its start, the map of ids is missing
// until it has written it again, before it accepts requests. It dequeues many requests at once, and loses them when it
// is killed. To compare views, it compares every object of one view with each object of the other view.
//
// Behind it, our own syncd performs the requests on its own database.
type strictSyncd struct {
	*testing.T
	asic    *swss.DB // database in which it receives requests
	flex    *swss.DB
	inner   *swss.Redis
	profile profile.Profile

	strict  *sairedistest.Strict
	view    bool              // true while requests change TEMP_ASIC_STATE only
	made    map[string]bool   // objects created in the view
	wished  []swss.Entry      // requests since INIT_VIEW
	foreign map[string]string // objects of types unknown to us, by key, with their real ids
	polled  map[string]bool   // polls requested in this run
	windows map[string]bool   // ids of extension objects that are, or were, register reads
	stopped string            // reason why SONiC's syncd would have stopped; "" if there is none
	to      *swss.Queue       // queue of the inner syncd
	from    *swss.Inbox

	mu       sync.Mutex // protects the fields that the test reads
	ops      []string   // requests outside of views that change the ASIC
	inits    int        // number of views begun
	compared int        // comparisons of two objects
	gate     chan struct{}
	waits    bool // true while a comparison waits until the test releases it
}

func newStrictSyncd(t *testing.T, r *swss.Redis, p profile.Profile) *strictSyncd {
	s := &strictSyncd{T: t, asic: r.DB(swss.ASICDB), flex: r.DB(swss.FlexCounterDB), inner: swsstest.Start(t), profile: p,
		strict: sairedistest.NewStrict(), foreign: map[string]string{},
		windows: map[string]bool{}, gate: make(chan struct{})}
	close(s.gate)
	return s
}

// start starts as SONiC's syncd does, and returns a function that kills it.
func (s *strictSyncd) start() (kill func()) {
	chip, err := saisim.New(saisim.Config{Profile: s.profile, Start: time.Now().UTC()})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := sairedis.NewServer(s.inner, chip, sairedis.ServerOptions{TempView: true})
	devicetest.NoError(s.T, server.Load(ctx))
	asic := s.inner.DB(swss.ASICDB)
	s.to, s.from = swss.NewQueue(asic, "ASIC_STATE"), swss.NewInbox(swss.NewQueue(asic, "GETRESPONSE"))
	s.view, s.polled, s.stopped = false, map[string]bool{}, ""
	begun := len(s.ids()) > 0
	if begun {
		s.asic.Client().Del(ctx, protocol.KeyVIDToRID, "RIDTOVID")
	}
	within, end := context.WithCancel(context.Background())
	var outer, inner sync.WaitGroup
	inner.Go(func() { _ = server.Serve(within) })
	outer.Go(func() { s.serve(ctx, begun) })
	return sync.OnceFunc(func() {
		cancel()
		outer.Wait()
		end()
		inner.Wait()
		s.from.Close()
	})
}

// awaitRequest waits for a further request, but for 5 s at most.
func (s *strictSyncd) awaitRequest(ctx context.Context) {
	requests := swss.NewQueue(s.asic, "ASIC_STATE")
	sub := s.asic.Subscribe(ctx, requests.Channel())
	defer sub.Close()
	before, _ := requests.Len(ctx)
	for begin := time.Now(); ctx.Err() == nil && time.Since(begin) < 5*time.Second; {
		if n, err := requests.Len(ctx); err != nil || n > before {
			return
		}
		_, _ = sub.ReceiveTimeout(ctx, 100*time.Millisecond)
	}
}

// serve answers until ctx ends. Requests that it has dequeued by then are lost. If maps is set, it first writes the
// maps, late.
func (s *strictSyncd) serve(ctx context.Context, maps bool) {
	requests, answers := swss.NewQueue(s.asic, "ASIC_STATE"), swss.NewQueue(s.asic, "GETRESPONSE")
	sub := s.asic.Subscribe(ctx, requests.Channel())
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	if maps {
		s.awaitRequest(ctx)
		s.writeMaps(ctx)
	}
	for ctx.Err() == nil {
		entries, _ := requests.Pop(ctx)
		for _, e := range entries {
			if a, answered := s.handle(ctx, e); answered && ctx.Err() == nil {
				_ = answers.Push(ctx, a)
			}
		}
		if len(entries) == 0 {
			_, _ = sub.ReceiveTimeout(ctx, 100*time.Millisecond)
		}
	}
}

// answer returns an answer without fields.
func answer(status sai.Status, op string) swss.Entry {
	return swss.Entry{Key: status.String(), Body: "[]", Op: "S" + op}
}

// handle performs one request.
func (s *strictSyncd) handle(ctx context.Context, e swss.Entry) (a swss.Entry, answered bool) {
	p, err := s.strict.Request(e)
	switch {
	case s.stopped != "":
		return answer(sai.StatusFailure, "notify"), p.Op == "notify"
	case err != nil:
		return s.stop(e, err.Error())
	case p.Op == "notify":
		return s.notify(ctx, e), true
	case p.Op == "start_poll", p.Op == "stop_poll", p.Op == "set_counter_group", p.Op == "del_counter_group":
		return s.poll(ctx, e, p)
	case s.view && p.Op == "flush":
		return s.stop(e, "its objects have no real ids before the view is applied")
	case s.view && (p.Op == "get" || strings.HasSuffix(p.Op, "_stats")) && s.made[p.IDs[0]]:
		return answer(sai.StatusInvalidObjectID, "getresponse"), true
	}
	switch strings.TrimPrefix(p.Op, "bulk") {
	case "create", "remove", "set":
		if s.view {
			return s.wish(ctx, e, p), true
		}
		return s.change(ctx, e, p), true
	case "get":
		a = s.pass(ctx, e)
		if a.Key == sai.StatusSuccess.String() {
			s.write(ctx, "ASIC_STATE:"+e.Key, a.Body)
		}
		return a, true
	}
	return s.pass(ctx, e), true
}

// stop records a request that SONiC's syncd does not survive.
func (s *strictSyncd) stop(e swss.Entry, why string) (swss.Entry, bool) {
	s.stopped = why
	s.Errorf("SONiC's syncd would have stopped of %s %s %s: %s", e.Op, e.Key, e.Body, why)
	return swss.Entry{}, false
}

// pass sends a request to the inner syncd. Both choose ids from one counter.
func (s *strictSyncd) pass(ctx context.Context, e swss.Entry) swss.Entry {
	inner := s.inner.DB(swss.ASICDB).Client()
	_, err := s.from.Open(ctx)
	if n := s.asic.Client().Get(ctx, "VIDCOUNTER").Val(); n != "" && err == nil {
		err = inner.Set(ctx, "VIDCOUNTER", n, 0).Err()
	}
	if err == nil {
		err = s.to.Push(ctx, e)
	}
	for err == nil && ctx.Err() == nil {
		var got []swss.Entry
		if got, err = s.from.Wait(ctx, time.Second); len(got) > 0 {
			if n := inner.Get(ctx, "VIDCOUNTER").Val(); n != "" {
				s.asic.Client().Set(ctx, "VIDCOUNTER", n, 0)
			}
			return got[len(got)-1]
		}
	}
	if ctx.Err() == nil {
		s.Errorf("the inner syncd: %v", err)
	}
	return answer(sai.StatusFailure, "getresponse")
}

// write writes the fields of a body into a row.
func (s *strictSyncd) write(ctx context.Context, key, body string) {
	pairs, err := swss.DecodeFields(body)
	if err != nil {
		s.Error(err)
	}
	if len(pairs) == 0 {
		pairs = []swss.Pair{{Field: "NULL", Value: "NULL"}}
	}
	s.asic.Client().HSet(ctx, key, swss.ToFieldValues(pairs))
}

// writeRows applies an answered request to the rows of a view.
func (s *strictSyncd) writeRows(
	ctx context.Context, view string, e swss.Entry, p sairedistest.Parsed, succeeded func(i int) bool,
) {
	for i, id := range p.IDs {
		if !succeeded(i) {
			continue
		}
		s.strict.Answered(p, i)
		key := view + ":" + p.Type + ":" + id
		if strings.HasSuffix(p.Op, "remove") {
			s.asic.Client().Del(ctx, key)
			continue
		}
		fields := map[string]string{}
		for _, f := range p.Pairs[i] {
			fields[f[0]] = f[1]
		}
		if len(fields) == 0 {
			fields["NULL"] = "NULL"
		}
		s.asic.Client().HSet(ctx, key, fields)
	}
}

// change changes the ASIC, atomically. A syncd that is killed during a change leaves a row without an object, or an
// object without a row. Such an ASIC cannot be adopted.
func (s *strictSyncd) change(ctx context.Context, e swss.Entry, p sairedistest.Parsed) swss.Entry {
	ctx = context.WithoutCancel(ctx)
	a := s.pass(ctx, e)
	statuses, _ := swss.DecodeFields(a.Body)
	s.writeRows(ctx, "ASIC_STATE", e, p, func(i int) bool {
		if strings.HasPrefix(p.Op, "bulk") && i < len(statuses) {
			return statuses[i].Field == sai.StatusSuccess.String()
		}
		return a.Key == sai.StatusSuccess.String()
	})
	if !s.window(p) {
		s.mu.Lock()
		s.ops = append(s.ops, p.Op+" "+e.Key+" "+e.Body+" "+a.Key)
		s.mu.Unlock()
	}
	switch {
	case strings.HasSuffix(p.Op, "set"):
	case p.Type == "SAI_OBJECT_TYPE_SWITCH", p.Type == "SAI_OBJECT_TYPE_PORT":
		s.discover(ctx) // related objects appear and disappear with it
	default:
		s.mapIDs(ctx, p.IDs)
	}
	return a
}

// window reports whether a request creates, uses or removes a register read: an extension object that exists only for
// a read through it.
func (s *strictSyncd) window(p sairedistest.Parsed) bool {
	if p.Type != sai.ObjectTypeGenericProgrammable.String() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := p.IDs[0]
	if p.Op == "create" {
		text, err := sai.ParseValue(sai.GenericProgrammableAttrObjectName, p.Pairs[0][0][1])
		name, _ := text.(sai.Bytes)
		s.windows[id] = err == nil && !slices.Contains(configured, string(name))
	}
	return s.windows[id]
}

// rows returns the sorted keys of ASIC_STATE, without those of register reads.
func (s *strictSyncd) rows() []string {
	keys := s.asic.Client().Keys(s.Context(), "ASIC_STATE:*").Val()
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return s.windows[strings.TrimPrefix(key, "ASIC_STATE:"+sai.ObjectTypeGenericProgrammable.String()+":")]
	})
	slices.Sort(keys)
	return keys
}

// configured lists the extension objects that are not register reads.
var configured = []string{altmark.ObjectProfile, flymon.ObjectTask, record.ObjectPlan}

// wish records a change between INIT_VIEW and APPLY_VIEW in the target view.
func (s *strictSyncd) wish(ctx context.Context, e swss.Entry, p sairedistest.Parsed) swss.Entry {
	s.wished = append(s.wished, e)
	for _, id := range p.IDs {
		if strings.HasSuffix(p.Op, "create") && p.Type != "SAI_OBJECT_TYPE_SWITCH" {
			s.made[id] = true
		}
	}
	s.writeRows(ctx, "TEMP_ASIC_STATE", e, p, func(int) bool { return true })
	a := answer(sai.StatusSuccess, "getresponse")
	if strings.HasPrefix(p.Op, "bulk") {
		list := make([]swss.Pair, len(p.IDs))
		for i := range list {
			list[i].Field = sai.StatusSuccess.String()
		}
		a.Body = swss.EncodeFields(list)
	}
	return a
}

func (s *strictSyncd) notify(ctx context.Context, e swss.Entry) swss.Entry {
	if len(s.ids()) == 0 || e.Key == "APPLY_VIEW" && !s.view {
		return s.pass(ctx, e) // without an open view, the inner syncd handles the request
	}
	if e.Key == "INIT_VIEW" {
		s.mu.Lock()
		s.inits++
		s.mu.Unlock()
		s.clear(ctx, "TEMP_ASIC_STATE")
		s.view, s.made, s.wished = true, map[string]bool{}, nil
		return answer(sai.StatusSuccess, "notify")
	}
	s.compare(ctx)
	s.view = false
	s.pass(ctx, swss.Entry{Key: "INIT_VIEW", Body: "[]", Op: "Snotify"})
	for _, w := range s.wished {
		if a := s.pass(ctx, w); a.Key != sai.StatusSuccess.String() {
			s.Logf("of a view: %s %s %s: %s", w.Op, w.Key, w.Body, a.Key)
		}
	}
	a := s.pass(ctx, e)
	s.clear(ctx, "TEMP_ASIC_STATE")
	s.clear(ctx, "ASIC_STATE")
	inner := s.inner.DB(swss.ASICDB).Client()
	for _, key := range inner.Keys(ctx, "ASIC_STATE:*").Val() {
		s.asic.Client().HSet(ctx, key, inner.HGetAll(ctx, key).Val())
	}
	for key := range s.foreign {
		s.write(ctx, "ASIC_STATE:"+key, "[]")
	}
	s.writeMaps(ctx)
	return a
}

// compare counts one comparison for each pair of objects, and waits while the test holds the gate.
func (s *strictSyncd) compare(ctx context.Context) {
	temp, now := s.asic.Client().Keys(ctx, "TEMP_ASIC_STATE:*").Val(), s.asic.Client().Keys(ctx, "ASIC_STATE:*").Val()
	s.mu.Lock()
	s.compared += len(temp) * len(now)
	gate := s.gate
	s.waits = true
	s.mu.Unlock()
	select {
	case <-gate:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.waits = false
	s.mu.Unlock()
}

func (s *strictSyncd) clear(ctx context.Context, view string) {
	if keys := s.asic.Client().Keys(ctx, view+":*").Val(); len(keys) > 0 {
		s.asic.Client().Del(ctx, keys...)
	}
}

// ids returns the real ids by virtual id, without those of objects with unknown types.
func (s *strictSyncd) ids() map[string]string {
	return s.inner.DB(swss.ASICDB).Client().HGetAll(context.Background(), protocol.KeyVIDToRID).Val()
}

// writeMaps writes the maps of ids again, as SONiC's syncd does at its start and after it has applied a view.
func (s *strictSyncd) writeMaps(ctx context.Context) {
	vids, rids := s.ids(), map[string]string{}
	for key, rid := range s.foreign {
		_, vid, _ := strings.Cut(key, ":")
		vids[vid] = rid
	}
	s.strict.VIDs = map[string]bool{}
	for vid, rid := range vids {
		rids[rid] = vid
		s.strict.VIDs[vid] = true
	}
	redis := s.asic.Client()
	redis.Del(ctx, protocol.KeyVIDToRID, "RIDTOVID")
	redis.HSet(ctx, protocol.KeyVIDToRID, vids)
	redis.HSet(ctx, "RIDTOVID", rids)
}

// mapIDs copies the inner syncd's ids of some objects to the maps.
func (s *strictSyncd) mapIDs(ctx context.Context, vids []string) {
	redis, inner := s.asic.Client(), s.inner.DB(swss.ASICDB).Client()
	for _, vid := range vids {
		if !strings.HasPrefix(vid, "oid:") {
			continue
		}
		if rid := inner.HGet(ctx, protocol.KeyVIDToRID, vid).Val(); rid != "" {
			redis.HSet(ctx, protocol.KeyVIDToRID, vid, rid)
			redis.HSet(ctx, "RIDTOVID", rid, vid)
		} else if rid := redis.HGet(ctx, protocol.KeyVIDToRID, vid).Val(); rid != "" {
			redis.HDel(ctx, protocol.KeyVIDToRID, vid)
			redis.HDel(ctx, "RIDTOVID", rid)
		}
	}
}

// discover adds objects that were created with another one to the maps and to ASIC_STATE, without values. It removes
// those that no longer exist.
func (s *strictSyncd) discover(ctx context.Context) {
	redis, inner := s.asic.Client(), s.inner.DB(swss.ASICDB).Client()
	was, is := redis.HGetAll(ctx, protocol.KeyVIDToRID).Val(), s.ids()
	if len(was) == 0 && len(is) > 0 {
		s.addForeign(ctx)
	}
	for key, rid := range s.foreign {
		_, vid, _ := strings.Cut(key, ":")
		is[vid] = rid
	}
	for vid, rid := range is {
		if _, known := was[vid]; !known {
			redis.HSet(ctx, protocol.KeyVIDToRID, vid, rid)
			redis.HSet(ctx, "RIDTOVID", rid, vid)
			s.strict.VIDs[vid] = true
		}
	}
	for vid, rid := range was {
		if _, left := is[vid]; !left {
			redis.HDel(ctx, protocol.KeyVIDToRID, vid)
			redis.HDel(ctx, "RIDTOVID", rid)
			delete(s.strict.VIDs, vid)
		}
	}
	if cold := inner.HGetAll(ctx, "COLDVIDS").Val(); len(cold) > 0 {
		redis.HSet(ctx, "COLDVIDS", cold)
	}
	rows := map[string]bool{}
	for _, key := range redis.Keys(ctx, "ASIC_STATE:*").Val() {
		rows[key] = true
	}
	for _, key := range inner.Keys(ctx, "ASIC_STATE:*").Val() {
		if !rows[key] {
			redis.HSet(ctx, key, "NULL", "NULL")
		}
		delete(rows, key)
	}
	for key := range rows { // objects that were removed with a port
		if _, foreign := s.foreign[strings.TrimPrefix(key, "ASIC_STATE:")]; !foreign {
			redis.Del(ctx, key)
		}
	}
}

// addForeign adds objects of types that are unknown to us, some of which were created with the switch.
func (s *strictSyncd) addForeign(ctx context.Context) {
	for key, cold := range map[string]bool{
		"SAI_OBJECT_TYPE_HASH:oid:0x1c00000000f001": true, "SAI_OBJECT_TYPE_STP:oid:0x1000000000f002": true,
		"SAI_OBJECT_TYPE_PORT_SERDES:oid:0x5700000000f003": false,
	} {
		_, vid, _ := strings.Cut(key, ":")
		s.foreign[key] = "oid:0x" + strings.TrimPrefix(vid, "oid:0x") + "1"
		s.write(ctx, "ASIC_STATE:"+key, "[]")
		if cold {
			s.asic.Client().HSet(ctx, "COLDVIDS", vid, vid)
		}
	}
}

// poll records a poll, in its rows and for this run.
func (s *strictSyncd) poll(ctx context.Context, e swss.Entry, p sairedistest.Parsed) (swss.Entry, bool) {
	group, ids, _ := strings.Cut(e.Key, ":")
	redis := s.flex.Client()
	for id := range strings.SplitSeq(ids, ",") {
		key := "FLEX_COUNTER_TABLE:" + group + ":" + id
		switch p.Op {
		case "start_poll":
			if s.view && s.made[id] {
				return s.stop(e, id+" has no real id before the view is applied")
			}
			pairs, _ := swss.DecodeFields(e.Body)
			redis.HSet(ctx, key, swss.ToFieldValues(pairs))
			s.note(key, true)
		case "stop_poll":
			redis.Del(ctx, key)
			s.note(key, false)
		}
	}
	return answer(sai.StatusSuccess, "getresponse"), true
}

func (s *strictSyncd) note(key string, polled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polled[key] = true; !polled {
		delete(s.polled, key)
	}
}

// lacks returns the polls that are in FLEX_COUNTER_DB but were not requested in this run.
func (s *strictSyncd) lacks() (list []string) {
	keys := s.flex.Client().Keys(context.Background(), "FLEX_COUNTER_TABLE:*").Val()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if !s.polled[key] {
			list = append(list, key)
		}
	}
	return list
}

// changes returns the requests since the last call that have changed the ASIC, without register reads, which are
// created and removed again.
func (s *strictSyncd) changes() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, s.ops = s.ops, nil
	return list
}

// counts returns the number of views begun, and of pairs of objects compared.
func (s *strictSyncd) counts() (inits, compared int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inits, s.compared
}

// hold makes comparisons wait until they are released.
func (s *strictSyncd) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

func (s *strictSyncd) isComparing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits
}
