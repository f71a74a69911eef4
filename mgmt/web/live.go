package web

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"sync"
	"time"
)

// DefaultListeners is the default bound on listeners.
const DefaultListeners = 32

const (
	// EventsPath is the path of the stream of changes: a request there lasts.
	EventsPath  = "/events"
	livePeriod  = 2 * time.Second  // interval of the checks for changes, while there are listeners
	beatPeriod  = 20 * time.Second // interval of the beat events to a listener
	writeWithin = 5 * time.Second  // a listener that needs longer for one event is dropped
)

// A broadcaster notifies listeners of changes. It reads the store while there are listeners.
type broadcaster struct {
	page *Page
	most int

	mu        sync.Mutex
	listeners map[chan uint64]struct{}
	stop      context.CancelFunc // stops the reader; nil if there is no reader
	last      uint64             // the last version that the reader has sent; 0 if none
}

func newBroadcaster(p *Page, most int) *broadcaster {
	return &broadcaster{page: p, most: most, listeners: map[chan uint64]struct{}{}}
}

// join adds a listener, or returns false if there is no place. The listener first gets the present version, which may
// have changed since the page was read.
func (l *broadcaster) join() (chan uint64, bool) {
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

func (l *broadcaster) leave(c chan uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, c)
	if len(l.listeners) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// run checks for changes until ctx ends.
func (l *broadcaster) run(ctx context.Context) {
	tick := time.NewTicker(livePeriod)
	defer tick.Stop()
	var was uint64
	for {
		if is, err := l.page.version(ctx); err == nil && is != was && ctx.Err() == nil {
			was = is
			l.report(is)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// report sends a version to all listeners. A listener that has not received the former version gets only the new one.
func (l *broadcaster) report(version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = version
	for c := range l.listeners {
		select {
		case <-c:
		default:
		}
		c <- version // never blocks: the channel is empty, and there is no other sender
	}
}

// version returns a number that changes whenever the page would show something else.
func (p *Page) version(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, renderTime)
	defer cancel()
	h := fnv.New64a()
	s, err := p.cache.get(ctx, spans[len(spans)-1], p.cfg.Now())
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(h, s.Rows, s.Latest, s.Ahead, s.Stopped, s.Unread, p.troubles())
	if p.cfg.Topology != nil {
		n, err := p.cfg.Topology.Network(ctx)
		fmt.Fprintln(h, err)
		if err == nil {
			fmt.Fprintf(h, "%v", *n)
		}
	}
	if p.cfg.Counters != nil {
		ports, err := p.cfg.Counters.Counters(ctx, math.MaxInt64-1, math.MaxInt64) // the last readings
		fmt.Fprintln(h, err)
		for i := range ports {
			if n := len(ports[i].Readings); n > 0 {
				fmt.Fprintln(h, ports[i].Switch, ports[i].Port, ports[i].Readings[n-1])
			}
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

// serve sends changes to a client, as server-sent events, until the client disconnects or is too slow.
func (l *broadcaster) serve(w http.ResponseWriter, r *http.Request) {
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
