package web

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"
)

// DefaultListeners is how many may be told of changes at a time unless the configuration says otherwise.
const DefaultListeners = 32

const (
	// EventsPath is where listeners hear of changes: a request there lasts.
	EventsPath  = "/events"
	livePeriod  = 2 * time.Second  // how often it is looked for changes, while there are listeners
	beatPeriod  = 20 * time.Second // and a listener hears that the line is up
	writeWithin = 5 * time.Second  // a listener that takes longer for one event is dropped
)

// A live tells listeners that there is something new. It reads the store while there are some.
type live struct {
	page *Page
	most int

	mu        sync.Mutex
	listeners map[chan uint64]struct{}
	stop      context.CancelFunc // of the reader; nil: there is none
	last      uint64             // what the reader told last; 0: nothing yet
}

func newLive(p *Page, most int) *live {
	return &live{page: p, most: most, listeners: map[chan uint64]struct{}{}}
}

// join adds a listener; false if there is no place. It hears of what there is first, which may have changed since it
// looked.
func (l *live) join() (chan uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.listeners) >= l.most {
		return nil, false
	}
	c := make(chan uint64, 1)
	l.listeners[c] = struct{}{}
	switch {
	case l.stop == nil:
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.last = stop, 0
		go l.run(ctx)
	case l.last != 0:
		c <- l.last
	}
	return c, true
}

func (l *live) leave(c chan uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, c)
	if len(l.listeners) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// run looks for changes until nobody listens.
func (l *live) run(ctx context.Context) {
	tick := time.NewTicker(livePeriod)
	defer tick.Stop()
	var was uint64
	for {
		if is, err := l.page.version(ctx); err == nil && is != was && ctx.Err() == nil {
			was = is
			l.tell(is)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell tells all. One that has not taken the last change yet hears of this instead.
func (l *live) tell(version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = version
	for c := range l.listeners {
		select {
		case <-c:
		default:
		}
		c <- version // there is room: nobody else sends
	}
}

// version is a number that is another one when the page has something else to show.
func (p *Page) version(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, renderTime)
	defer cancel()
	h := fnv.New64a()
	s, err := p.cache.get(ctx, spans[len(spans)-1], p.cfg.Now())
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(h, s.rows, s.latest, s.ahead, s.stopped, s.unread, p.troubles())
	if p.cfg.Topology != nil {
		n, err := p.cfg.Topology.Network(ctx)
		fmt.Fprintln(h, err)
		if err == nil {
			fmt.Fprintf(h, "%v", *n)
		}
	}
	if p.cfg.Switches != nil {
		list, err := p.cfg.Switches.Switches(ctx)
		fmt.Fprintln(h, err)
		for _, s := range list {
			fmt.Fprintln(h, s.Name, s.Error, s.Objects, s.texts())
		}
	}
	return h.Sum64(), nil
}

// serve tells a client of changes, as server-sent events, until it goes or is too slow.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	c, ok := l.join()
	if !ok {
		w.Header().Set("Retry-After", "10")
		l.page.fail(w, r, &problem{http.StatusServiceUnavailable, "too many listen already: the page works, without news"})
		return
	}
	defer l.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return out.Flush()
	}
	if send("retry: 5000\n\n") != nil || r.Method == http.MethodHead {
		return
	}
	beat := time.NewTicker(beatPeriod)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case version := <-c:
			err = send("event: changed\nid: %d\ndata: %d\n\n", version, version)
		case <-beat.C:
			err = send("event: beat\ndata: \n\n")
		}
		if err != nil {
			return
		}
	}
}
