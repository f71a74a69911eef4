package mgmt

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// How many entries of a list are in force follows from the rows of each. To count ten thousand of them for each who
// asks takes long, so they are counted once: from then on only entries whose rows were written are looked at again,
// when somebody asks.

// fromTallies is the source of the tallies.
const fromTallies = "tallies"

// talliesModule is the tallies of tamtam-status.
func talliesModule() Module {
	state := func(leaf string) Leaf { return Leaf{"state/" + leaf, readOnly(text(leaf))} }
	return Module{Name: "tamtam-status", Groups: []Group{{Path: "/tallies/tally", Rows: []Row{{
		DB: swss.StateDB, Source: fromTallies, Key: "{list}", Entry: true, Counter: true,
		Leaves: []Leaf{state("entries"), state("pending"), state("failed"), state("unknown")},
	}}}}}
}

// A tallier counts.
type tallier struct {
	doubtful atomic.Bool // everything is to be read again

	mu       sync.Mutex
	model    *model
	reader   reader
	listener *swss.Listener // nil until somebody asks
	lists    []*tally
}

// A tally is that of one list.
type tally struct {
	group   *group
	sources []*swss.Subscriber
	rows    []*row // as sources
	need    []bool // of the group's rows
	words   map[string]string
	count   map[string]int // by word
}

// start begins to watch the lists below /tam whose entries have a status.
func (t *tallier) start() {
	t.listener = swss.NewListener(t.reader.redis)
	for _, g := range t.model.groups {
		status := t.model.find(g.node.path + "/state/status")
		of := g.parent != nil && strings.HasPrefix(g.node.path, "/tam/") && len(g.keys) == 1 && g.node.config
		if !of || status == nil {
			continue
		}
		c := &tally{group: g, need: make([]bool, len(g.rows)), words: map[string]string{}, count: map[string]int{}}
		for i, r := range g.rows {
			if c.need[i] = !r.Counter && r.DB != swss.CountersDB; c.need[i] {
				c.sources = append(c.sources, swss.NewSubscriber(t.listener, t.reader.redis.DB(r.DB), r.Table))
				c.rows = append(c.rows, r)
			}
		}
		t.lists = append(t.lists, c)
	}
}

// tallied returns the rows of the tallies.
func (t *tallier) tallied(ctx context.Context, _ string) (map[string]map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener == nil {
		t.start()
	}
	if t.doubtful.Swap(false) {
		t.listener.Distrust()
	}
	if err := t.listener.Sync(ctx); err != nil {
		return nil, unavailable(err)
	}
	out := map[string]map[string]string{}
	for _, c := range t.lists {
		if err := c.update(ctx, t.reader); err != nil {
			t.listener.Distrust() // what was to be looked at comes again
			return nil, err
		}
		row := map[string]string{"entries": strconv.Itoa(len(c.words))}
		for _, word := range []string{schema.StatusPending, schema.StatusFailed, schema.StatusUnknown} {
			row[word] = strconv.Itoa(c.count[word])
		}
		out[c.group.node.parent.name] = row
	}
	return out, nil
}

// update looks at the entries again whose rows were written.
func (c *tally) update(ctx context.Context, r reader) error {
	dirty := map[string]bool{}
	for i, s := range c.sources {
		changed, err := s.Pops(ctx)
		if err != nil {
			return unavailable(err)
		}
		for _, x := range changed {
			if keys, ok := c.rows[i].key.match(x.Key, 1); ok {
				dirty[keys[0]] = true
			}
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	keys := make([][]string, 0, len(dirty))
	for _, k := range sortedKeys(dirty) {
		keys = append(keys, []string{k})
	}
	now := map[string]string{}
	r.left = true
	err := r.readKeys(ctx, c.group, keys, c.need, func(es []*entry) error {
		for _, e := range es {
			now[e.keys[0]] = e.standing()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := range dirty {
		c.put(k, now[k])
	}
	return nil
}

// put notes how an entry stands; "": it is not there.
func (c *tally) put(key, word string) {
	if old, ok := c.words[key]; ok {
		c.count[old]--
	}
	if delete(c.words, key); word != "" {
		c.words[key] = word
		c.count[word]++
	}
}

// standing is a word for whether an entry is as it is configured: active, or what its status is; pending also where
// the status is of something else than what is configured, or there is none.
func (e *entry) standing() string {
	value := func(leaf string) string {
		i := slices.IndexFunc(e.group.leaves, func(n *node) bool { return n.path == e.group.node.path+"/state/"+leaf })
		if i < 0 {
			return ""
		}
		return first(e.value(e.group.leaves[i]))
	}
	status := strings.ToLower(value("status"))
	switch {
	case e.left:
		return schema.StatusPending
	case status != "" && status != schema.StatusActive:
		return status
	case status == "" || value("not-in-force") != "":
		return schema.StatusPending
	}
	return schema.StatusActive
}

func (t *tallier) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil {
		t.listener.Close()
	}
}
