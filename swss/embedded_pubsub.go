package swss

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"

	"tamtam/swss/glob"
)

// pubsub holds the subscriptions of all connections to channels and patterns, each in the order in which they were
// made. It is guarded by server.mu.
type pubsub struct {
	channels, patterns []subscribed
	// heard maps a database to whether a subscription can match its keyspace events. It is empty after each change of
	// the subscriptions.
	heard map[int]bool
}

// A subscribed is one subscription of a connection, to a channel or to a pattern.
type subscribed struct {
	ss     *session
	name   string
	prefix string // the common prefix of all matches of a pattern
	plain  bool   // true if the pattern is prefix followed by "*"
}

// of returns the list of channel or of pattern subscriptions.
func (p *pubsub) of(pattern bool) *[]subscribed {
	if pattern {
		return &p.patterns
	}
	return &p.channels
}

// publish sends a message to all subscribers, and returns the number of deliveries.
func (p *pubsub) publish(channel, text string) int {
	n := 0
	for _, x := range p.channels {
		if x.name == channel {
			n++
			push(x.ss, "message", channel, text)
		}
	}
	for i := range p.patterns {
		x := &p.patterns[i]
		if strings.HasPrefix(channel, x.prefix) && (x.plain || glob.Match(x.name, channel)) {
			n++
			push(x.ss, "pmessage", x.name, channel, text)
		}
	}
	return n
}

// hears reports whether a subscription can match keyspace events of a database. Most databases have no listener, and
// their events then need not be made.
func (p *pubsub) hears(db int) bool {
	heard, known := p.heard[db]
	if known {
		return heard
	}
	at := "@" + strconv.Itoa(db) + "__:"
	for _, kind := range []string{"__keyspace" + at, "__keyevent" + at} {
		for _, x := range p.channels {
			heard = heard || strings.HasPrefix(x.name, kind)
		}
		for _, x := range p.patterns {
			heard = heard || strings.HasPrefix(x.prefix, kind) || strings.HasPrefix(kind, x.prefix)
		}
	}
	if p.heard == nil {
		p.heard = map[int]bool{}
	}
	p.heard[db] = heard
	return heard
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
	for _, pattern := range []bool{false, true} {
		for _, name := range p.names(ss, pattern) {
			p.part(ss, name, pattern)
		}
	}
}

// names returns the channels or patterns to which a connection has subscribed.
func (p *pubsub) names(ss *session, pattern bool) (names []string) {
	for _, x := range *p.of(pattern) {
		if x.ss == ss {
			names = append(names, x.name)
		}
	}
	return names
}

func (p *pubsub) join(ss *session, name string, pattern bool) {
	if slices.Contains(p.names(ss, pattern), name) {
		return
	}
	x := subscribed{ss: ss, name: name}
	if pattern {
		x.prefix, x.plain = glob.Prefix(name)
	}
	list := p.of(pattern)
	*list = append(*list, x)
	clear(p.heard)
	ss.subscriptions++
}

func (p *pubsub) part(ss *session, name string, pattern bool) {
	list := p.of(pattern)
	before := len(*list)
	*list = slices.DeleteFunc(*list, func(x subscribed) bool { return x.ss == ss && x.name == name })
	clear(p.heard)
	ss.subscriptions -= before - len(*list)
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
			args = s.pubsub.names(ss, pattern)
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
		w.WriteInt(ss.subscriptions)
	})
}

// introspect handles PUBSUB.
func (s *server) introspect(c *mini.Peer, args []string) {
	sub := ""
	if len(args) > 0 {
		sub = strings.ToUpper(args[0])
		args = args[1:]
	}
	count := map[string]int{}
	for _, x := range *s.pubsub.of(sub == "NUMPAT") {
		count[x.name]++
	}
	switch sub {
	case "CHANNELS":
		if len(args) > 0 {
			maps.DeleteFunc(count, func(name string, _ int) bool { return !glob.Match(args[0], name) })
		}
		c.WriteStrings(slices.Sorted(maps.Keys(count)))
	case "NUMSUB":
		c.WriteLen(2 * len(args))
		for _, name := range args {
			c.WriteBulk(name)
			c.WriteInt(count[name])
		}
	case "NUMPAT":
		c.WriteInt(len(count))
	default:
		c.WriteError("ERR unknown subcommand or wrong number of arguments for PUBSUB")
	}
}

// subscribedOnly handles the commands that a subscriber may send, and refuses the others.
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
