package swss

import (
	"slices"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// pubsub holds the subscriptions of all connections. It is guarded by
// server.mu.
type pubsub struct {
	channels map[string][]*session
	patterns []patternSub
}

type patternSub struct {
	pattern string
	prefix  string // what every match begins with
	plain   bool   // the pattern is the prefix and "*"
	ss      *session
}

// publish sends a message to all subscribers, and returns the number of deliveries.
func (p *pubsub) publish(channel, text string) int {
	n := 0
	for _, ss := range p.channels[channel] {
		n++
		push(ss, "message", channel, text)
	}
	for i := range p.patterns {
		ps := &p.patterns[i]
		if strings.HasPrefix(channel, ps.prefix) && (ps.plain || globMatch(ps.pattern, channel)) {
			n++
			push(ps.ss, "pmessage", ps.pattern, channel, text)
		}
	}
	return n
}

func push(ss *session, words ...string) {
	ss.peer.Block(func(w *mini.Writer) {
		w.WritePushLen(len(words))
		for _, word := range words {
			w.WriteBulk(word)
		}
		w.Flush()
	})
}

// drop ends all subscriptions of a connection.
func (p *pubsub) drop(ss *session) {
	for _, ch := range ss.channels {
		p.leave(ss, ch)
	}
	p.patterns = slices.DeleteFunc(p.patterns, func(ps patternSub) bool { return ps.ss == ss })
	ss.channels, ss.patterns = nil, nil
}

func (p *pubsub) leave(ss *session, channel string) {
	left := slices.DeleteFunc(p.channels[channel], func(o *session) bool { return o == ss })
	if p.channels[channel] = left; len(left) == 0 {
		delete(p.channels, channel)
	}
}

func (p *pubsub) join(ss *session, name string, pattern bool) {
	if pattern {
		if slices.Contains(ss.patterns, name) {
			return
		}
		ss.patterns = append(ss.patterns, name)
		prefix, plain := globPrefix(name)
		p.patterns = append(p.patterns, patternSub{pattern: name, prefix: prefix, plain: plain, ss: ss})
		return
	}
	if slices.Contains(ss.channels, name) {
		return
	}
	ss.channels = append(ss.channels, name)
	if p.channels == nil {
		p.channels = map[string][]*session{}
	}
	p.channels[name] = append(p.channels[name], ss)
}

func (p *pubsub) part(ss *session, name string, pattern bool) {
	if pattern {
		ss.patterns = slices.DeleteFunc(ss.patterns, func(s string) bool { return s == name })
		p.patterns = slices.DeleteFunc(p.patterns, func(ps patternSub) bool { return ps.ss == ss && ps.pattern == name })
		return
	}
	ss.channels = slices.DeleteFunc(ss.channels, func(s string) bool { return s == name })
	p.leave(ss, name)
}

// subscription handles the commands of subscribers. The caller holds mu.
func (s *server) subscription(ss *session, cmd string, args []string) {
	kind := strings.ToLower(cmd)
	pattern := cmd[0] == 'P' && cmd != "PUBSUB"
	switch {
	case cmd == "PUBSUB":
		s.introspect(ss.peer, args)
		return
	case strings.HasSuffix(cmd, "UNSUBSCRIBE"):
		if len(args) == 0 {
			args = slices.Clone(ss.channels)
			if pattern {
				args = slices.Clone(ss.patterns)
			}
		}
		if len(args) == 0 {
			s.confirm(ss, kind, nil)
		}
		for _, name := range args {
			s.pubsub.part(ss, name, pattern)
			s.confirm(ss, kind, &name)
		}
		return
	case len(args) == 0:
		ss.peer.WriteError(wrongNumber(cmd))
		return
	}
	for _, name := range args {
		s.pubsub.join(ss, name, pattern)
		s.confirm(ss, kind, &name)
	}
}

func (s *server) confirm(ss *session, kind string, name *string) {
	ss.peer.Block(func(w *mini.Writer) {
		w.WritePushLen(3)
		w.WriteBulk(kind)
		if name != nil {
			w.WriteBulk(*name)
		} else {
			w.WriteNull()
		}
		w.WriteInt(len(ss.channels) + len(ss.patterns))
	})
}

// introspect handles PUBSUB.
func (s *server) introspect(c *mini.Peer, args []string) {
	sub := ""
	if len(args) > 0 {
		sub = strings.ToUpper(args[0])
		args = args[1:]
	}
	switch sub {
	case "CHANNELS":
		var names []string
		for name := range s.pubsub.channels {
			if len(args) == 0 || globMatch(args[0], name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		c.WriteStrings(names)
	case "NUMSUB":
		c.WriteLen(2 * len(args))
		for _, name := range args {
			c.WriteBulk(name)
			c.WriteInt(len(s.pubsub.channels[name]))
		}
	case "NUMPAT":
		seen := map[string]bool{}
		for _, ps := range s.pubsub.patterns {
			seen[ps.pattern] = true
		}
		c.WriteInt(len(seen))
	default:
		c.WriteError("ERR unknown subcommand or wrong number of arguments for PUBSUB")
	}
}

// subscribedOnly handles what a subscriber may send, and refuses the rest.
func (s *server) subscribedOnly(ss *session, cmd string, args []string) bool {
	switch cmd {
	case "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "QUIT":
		return false
	case "PING":
		text := ""
		if len(args) > 0 {
			text = args[0]
		}
		ss.peer.WriteStrings([]string{"pong", text})
		return true
	}
	ss.peer.WriteError("ERR Can't execute '" + strings.ToLower(cmd) +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	return true
}
