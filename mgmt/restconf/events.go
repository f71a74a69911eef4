package restconf

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// streamName is the only event stream: changes in the tree, except counters.
const streamName = "changes"

const (
	// silence bounds the time without a message, so that proxies do not close the stream.
	silence = 30 * time.Second
	// sendTime bounds the time to send one event.
	sendTime = 30 * time.Second
	// never is the sample interval of counters, which change with every packet and are practically never sent.
	never = 365 * 24 * time.Hour
)

// describeStream returns the stream's entry in ietf-restconf-monitoring.
func describeStream() map[string]any {
	return map[string]any{
		"name": streamName, "description": "changes of configuration and state; filter: the path of a node",
		"replay-support": false,
		"access":         []any{map[string]any{"encoding": "json", "location": root + "/streams/" + streamName}},
	}
}

// events sends changes from now on, at and below the node that filter names, as server-sent events (RFC 8040, section
// 6).
func (s *Server) events(w http.ResponseWriter, r *http.Request) *problem {
	if p := onlyRead(w, r); p != nil {
		return p
	}
	if p := acceptable(r, "text/event-stream"); p != nil {
		return p
	}
	values, p := parameters(r.URL.RawQuery, "filter")
	if p != nil {
		return p
	}
	t, p := s.filter(values["filter"])
	if p != nil {
		return p
	}
	ctx, cancel := context.WithCancel(r.Context())
	e := &eventStream{ctx: ctx, root: s.root, w: w, out: http.NewResponseController(w)}
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		e.beat()
	}()
	err := s.engine.Follow(ctx, &gpb.SubscriptionList{
		Mode: gpb.SubscriptionList_STREAM, UpdatesOnly: true, Encoding: gpb.Encoding_JSON_IETF,
		Subscription: []*gpb.Subscription{{
			Path: t.path, Mode: gpb.SubscriptionMode_TARGET_DEFINED, SampleInterval: uint64(never),
		}},
	}, e.send)
	cancel()
	<-beating
	if begun := e.end(); err != nil && !begun {
		return explain(s.root, err)
	}
	return nil
}

// filter returns the node of a filter: a path as in a URI, not all of XPath.
func (s *Server) filter(text string) (target, *problem) {
	t, p := parsePath(s.root, text)
	if p == nil && (t.item != nil || text != "" && !strings.HasPrefix(text, "/")) {
		return t, invalid("filter %q: want the path of a node, as /openconfig-tam:tam", shown(text))
	}
	return t, p
}

// An eventStream writes the messages of a subscription as events.
type eventStream struct {
	ctx  context.Context
	root *tree.Node

	mu    sync.Mutex // guards the fields below, and keeps events whole
	w     http.ResponseWriter
	out   *http.ResponseController
	begun bool
	ended bool // true if nothing may be written any more
}

// end waits for the write in progress, and refuses later ones. It reports whether anything was written. The engine's
// sender may outlive its Subscribe, but must not write after the handler has returned.
func (e *eventStream) end() (begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	return e.begun
}

// beat periodically sends a comment, so that the stream is not idle.
func (e *eventStream) beat() {
	t := time.NewTicker(silence)
	defer t.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-t.C:
			_ = e.write([]byte(": alive\n\n")) // the error is ignored: ctx ends when the connection is closed
		}
	}
}

// send writes a message of the subscription.
func (e *eventStream) send(m *gpb.SubscribeResponse) error {
	var b bytes.Buffer
	if m.GetSyncResponse() {
		b.WriteString(": the stream begins\n\n")
	}
	if n := m.GetUpdate(); n != nil {
		at := time.Unix(0, n.GetTimestamp()).UTC().Format(time.RFC3339Nano)
		for _, p := range n.GetDelete() {
			event(&b, at, map[string]any{"path": instance(e.root, joined(n.GetPrefix(), p)), "deleted": []any{nil}})
		}
		for _, u := range n.GetUpdate() {
			event(&b, at, map[string]any{
				"path":  instance(e.root, joined(n.GetPrefix(), u.GetPath())),
				"value": json.RawMessage(u.GetVal().GetJsonIetfVal()),
			})
		}
	}
	return e.write(b.Bytes())
}

// write sends whole events.
func (e *eventStream) write(text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return context.Canceled
	}
	if len(text) == 0 {
		return nil
	}
	if !e.begun {
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.begun = true
		if err := e.out.SetReadDeadline(time.Time{}); err != nil { // the request has been read
			return err
		}
	}
	if err := e.out.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.out.Flush()
}

// event writes one event.
func event(b *bytes.Buffer, at string, change map[string]any) {
	body, err := json.Marshal(map[string]any{"ietf-restconf:notification": map[string]any{
		"eventTime": at, "tamtam-restconf:change": change,
	}})
	if err != nil {
		return // fails only for a value that is no JSON, and the engine sends no such value
	}
	b.WriteString("data: ")
	b.Write(body)
	b.WriteString("\n\n")
}

// joined returns a path with its prefix in front.
func joined(prefix, p *gpb.Path) *gpb.Path {
	return &gpb.Path{Elem: append(append([]*gpb.PathElem(nil), prefix.GetElem()...), p.GetElem()...)}
}
