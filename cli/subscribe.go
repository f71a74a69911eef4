package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/metadata"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/internal/printable"
)

// Subscription describes a subscription to a switch.
type Subscription struct {
	Paths       []string // for example /tam/collectors/collector[name=c1]/state
	UpdatesOnly bool     // whether to omit the initial values
	Count       int      // maximum number of lines; 0 means no limit
	// Sample is the time between two values, which are then printed with their time. 0 means changes instead.
	Sample time.Duration
}

// Subscribe prints the values at paths and their changes: a line with path and JSON value for each update, and a line
// for each delete. Of conf it uses only the fields about the server.
func Subscribe(ctx context.Context, conf kit.Config, sub Subscription) error {
	list := &gpb.SubscriptionList{
		Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_JSON_IETF, UpdatesOnly: sub.UpdatesOnly,
	}
	for _, text := range sub.Paths {
		p, err := parsePath(text)
		if err != nil {
			return err
		}
		s := &gpb.Subscription{Path: p, Mode: gpb.SubscriptionMode_TARGET_DEFINED}
		if sub.Sample > 0 {
			s.Mode, s.SampleInterval = gpb.SubscriptionMode_SAMPLE, uint64(sub.Sample)
		}
		list.Subscription = append(list.Subscription, s)
	}
	if err := conf.Check(); err != nil {
		return err
	}
	c, err := kit.Dial(conf)
	if err != nil {
		return err
	}
	defer c.Close()
	if conf.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", conf.User, "password", conf.Password)
	}
	ctx, cancel := context.WithCancel(ctx) // a stream ends with its context
	defer cancel()
	stream, err := c.GNMI.Subscribe(ctx)
	if err != nil {
		return c.Explain(err)
	}
	if err := stream.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		return c.Explain(err)
	}
	for printed := 0; ; {
		m, err := stream.Recv()
		if err != nil {
			return c.Explain(err)
		}
		for _, line := range notificationLines(m.GetUpdate()) {
			if sub.Sample > 0 {
				line = time.Unix(0, m.GetUpdate().GetTimestamp()).UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + line
			}
			if _, err := fmt.Fprintln(conf.Out, line); err != nil {
				return err
			}
			if printed++; printed == sub.Count {
				return nil
			}
		}
	}
}

// notificationLines returns the lines of a notification. Deletes precede updates, because they take effect first.
func notificationLines(n *gpb.Notification) []string {
	var lines []string
	at := func(p *gpb.Path) string {
		return printable.Line(tree.ElemsText(slices.Concat(n.GetPrefix().GetElem(), p.GetElem())))
	}
	for _, p := range n.GetDelete() {
		lines = append(lines, at(p)+" deleted")
	}
	for _, u := range n.GetUpdate() {
		lines = append(lines, at(u.GetPath())+" "+printable.Line(valueText(u.GetVal())))
	}
	return lines
}

func valueText(v *gpb.TypedValue) string {
	raw := v.GetJsonIetfVal()
	if raw == nil {
		raw = v.GetJsonVal()
	}
	var line bytes.Buffer
	if raw == nil || json.Compact(&line, raw) != nil {
		return v.String()
	}
	return line.String()
}

// parsePath parses a path in gNMI's notation: /name[key=value]/name, with \ before a ] or \ of a value.
func parsePath(text string) (*gpb.Path, error) {
	refuse := func(want string) (*gpb.Path, error) {
		return nil, fmt.Errorf("path %q: want %s, as in /tam/collectors/collector[name=c1]/state", text, want)
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return refuse("a / before each name")
	}
	p := &gpb.Path{}
	for rest != "" {
		end := strings.IndexAny(rest, "/[")
		if end < 0 {
			end = len(rest)
		}
		e := &gpb.PathElem{Name: rest[:end]}
		if e.Name == "" {
			return refuse("a name behind each /")
		}
		for rest = rest[end:]; strings.HasPrefix(rest, "["); {
			key, value, left, ok := parseKey(rest[1:])
			if !ok {
				return refuse("[KEY=VALUE] behind " + e.Name)
			}
			if e.Key == nil {
				e.Key = map[string]string{}
			}
			e.Key[key], rest = value, left
		}
		p.Elem = append(p.Elem, e)
		if rest == "" {
			break
		}
		if rest, ok = strings.CutPrefix(rest, "/"); !ok || rest == "" {
			return refuse("a / and a name behind " + e.Name)
		}
	}
	return p, nil
}

// parseKey parses KEY=VALUE] and returns the rest.
func parseKey(text string) (key, value, left string, ok bool) {
	key, rest, ok := strings.Cut(text, "=")
	if !ok || key == "" || strings.ContainsAny(key, "/[]") {
		return "", "", "", false
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == ']':
			return key, b.String(), rest[i+1:], true
		case rest[i] == '\\' && i+1 < len(rest):
			i++
		}
		b.WriteByte(rest[i])
	}
	return "", "", "", false
}
