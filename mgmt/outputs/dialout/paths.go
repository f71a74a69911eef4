package dialout

import (
	"fmt"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A Subscription is what is sent, as a row of TELEMETRY_CLIENT says it.
type Subscription struct {
	Target   string // what the prefix of all that is sent names
	Database string // whose tables the paths name; "": they are gNMI's
	Paths    []string
	Once     bool
	Sampled  bool // else counters are, and the rest is sent when it changes
	Interval time.Duration
}

// List returns it as gNMI has it.
func (s Subscription) List() (*gpb.SubscriptionList, error) {
	list := &gpb.SubscriptionList{
		Prefix: &gpb.Path{Target: s.Target}, Encoding: gpb.Encoding_JSON_IETF, Mode: gpb.SubscriptionList_STREAM,
	}
	if s.Once {
		list.Mode = gpb.SubscriptionList_ONCE
	}
	if s.Database != "" {
		list.Prefix.Origin = "sonic-db"
	}
	if len(s.Paths) == 0 {
		return nil, fmt.Errorf("paths: want one at least, as /interfaces/interface[name=*]/state")
	}
	for _, text := range s.Paths {
		path, err := ParsePath(text)
		if err != nil {
			return nil, err
		}
		if s.Database != "" {
			path.Elem = append([]*gpb.PathElem{{Name: s.Database}, {Name: "localhost"}}, path.Elem...)
		}
		sub := &gpb.Subscription{Path: path, Mode: gpb.SubscriptionMode_TARGET_DEFINED,
			SampleInterval: uint64(s.Interval)}
		if s.Sampled || s.Database == "COUNTERS_DB" {
			sub.Mode = gpb.SubscriptionMode_SAMPLE
		}
		list.Subscription = append(list.Subscription, sub)
	}
	return list, nil
}

// ParsePath reads /NAME[KEY=VALUE]/NAME..., with \ before what would end a value.
func ParsePath(text string) (*gpb.Path, error) {
	p := &gpb.Path{}
	rest := strings.TrimPrefix(text, "/")
	if rest == "" {
		return p, nil
	}
	for {
		end := strings.IndexAny(rest, "/[")
		if end < 0 {
			end = len(rest)
		}
		el := &gpb.PathElem{Name: rest[:end]}
		rest = rest[end:]
		if el.Name == "" {
			return nil, fmt.Errorf("path %.200q: want names between slashes", text)
		}
		for strings.HasPrefix(rest, "[") {
			name, value, after, ok := key(rest[1:])
			if !ok || el.Key[name] != "" {
				return nil, fmt.Errorf("path %.200q: want [KEY=VALUE], each key once, behind %q", text, el.Name)
			}
			if el.Key == nil {
				el.Key = map[string]string{}
			}
			el.Key[name], rest = value, after
		}
		p.Elem = append(p.Elem, el)
		if rest == "" {
			return p, nil
		}
		if rest[0] != '/' {
			return nil, fmt.Errorf("path %.200q: want / behind ]", text)
		}
		rest = rest[1:]
	}
}

// key reads KEY=VALUE].
func key(text string) (name, value, rest string, ok bool) {
	name, text, ok = strings.Cut(text, "=")
	if !ok || name == "" || strings.ContainsAny(name, "[]/") {
		return "", "", "", false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == ']':
			return name, b.String(), text[i+1:], b.Len() > 0
		default:
			b.WriteByte(c)
		}
	}
	return "", "", "", false
}
