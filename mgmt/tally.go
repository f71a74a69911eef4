package mgmt

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A tallier counts.
type tallier struct {
	doubtful atomic.Bool // everything is to be read again

	mu       sync.Mutex
	model    *tree.Model
	reader   fetch.Reader
	listener *swss.Listener // nil until somebody asks
	lists    []*tally
}

// A tally is that of one list.
type tally struct {
	group   *tree.List
	sources []*swss.Subscriber
	rows    []*tree.ListRow // as sources
	need    []bool          // of the group's rows
	words   map[string]string
	count   map[string]int // by word
}

// start begins to watch the lists below /tam whose entries have a status.
func (t *tallier) start() {
	t.listener = swss.NewListener(t.reader.Redis)
	for _, g := range t.model.Lists {
		status := t.model.Find(g.Node.Path + "/state/status")
		of := g.Parent != nil && strings.HasPrefix(g.Node.Path, "/tam/") && len(g.Keys) == 1 && g.Node.Config
		if !of || status == nil {
			continue
		}
		c := &tally{group: g, need: make([]bool, len(g.Rows)), words: map[string]string{}, count: map[string]int{}}
		for i, r := range g.Rows {
			if c.need[i] = !r.Counter && r.DB != swss.CountersDB; c.need[i] {
				c.sources = append(c.sources, swss.NewSubscriber(t.listener, t.reader.Redis.DB(r.DB), r.Table))
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
		return nil, tree.Unavailable(err)
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
		out[c.group.Node.Parent.Name] = row
	}
	return out, nil
}

// update looks at the entries again whose rows were written.
func (c *tally) update(ctx context.Context, r fetch.Reader) error {
	dirty := map[string]bool{}
	for i, s := range c.sources {
		changed, err := s.Pops(ctx)
		if err != nil {
			return tree.Unavailable(err)
		}
		for _, x := range changed {
			if keys, ok := c.rows[i].Template.Match(x.Key, 1); ok {
				dirty[keys[0]] = true
			}
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	keys := make([][]string, 0, len(dirty))
	for _, k := range tree.SortedKeys(dirty) {
		keys = append(keys, []string{k})
	}
	now := map[string]string{}
	r.Left = true
	err := r.ReadKeys(ctx, c.group, keys, c.need, func(es []*tree.Entry) error {
		for _, e := range es {
			now[e.Keys[0]] = e.Standing()
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

func (t *tallier) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil {
		t.listener.Close()
	}
}
