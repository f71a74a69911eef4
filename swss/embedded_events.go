package swss

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"

	"tamtam/swss/glob"
)

// eventFlags is the setting notify-keyspace-events.
type eventFlags struct {
	keyspace, keyevent bool
	classes            string
}

// allClasses is the expansion of the flag A, in the order of CONFIG GET.
const allClasses = "g$lshzxetd"

// set parses the flags. It returns false if one is unknown.
func (f *eventFlags) set(text string) bool {
	var n eventFlags
	for _, c := range text {
		switch {
		case c == 'K':
			n.keyspace = true
		case c == 'E':
			n.keyevent = true
		case c == 'A':
			n.classes += allClasses
		case strings.ContainsRune(allClasses+"mn", c):
			n.classes += string(c)
		default:
			return false
		}
	}
	*f = n
	return true
}

func (f *eventFlags) String() string {
	s, left := "", ""
	all := true
	for _, c := range allClasses {
		if strings.ContainsRune(f.classes, c) {
			left += string(c)
		} else {
			all = false
		}
	}
	if all {
		s = "A"
	} else {
		s = left
	}
	if f.keyspace {
		s += "K"
	}
	if f.keyevent {
		s += "E"
	}
	for _, c := range "mn" {
		if strings.ContainsRune(f.classes, c) {
			s += string(c)
		}
	}
	return s
}

// config handles CONFIG. The caller holds mu.
func (s *server) config(c *mini.Peer, args []string) {
	sub := ""
	if len(args) > 0 {
		sub = strings.ToUpper(args[0])
		args = args[1:]
	}
	switch {
	case sub == "GET" && len(args) > 0:
		s.configGet(c, args)
	case sub == "SET" && len(args) > 0 && len(args)%2 == 0:
		s.configSet(c, args)
	case sub == "RESETSTAT" || sub == "REWRITE":
		c.WriteOK()
	default:
		c.WriteError("ERR unknown subcommand or wrong number of arguments for CONFIG")
	}
}

func (s *server) configGet(c *mini.Peer, patterns []string) {
	s.params["notify-keyspace-events"] = s.flags.String()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		for _, p := range patterns {
			if glob.Match(strings.ToLower(p), name) {
				out = append(out, name, s.params[name])
				break
			}
		}
	}
	c.Block(func(w *mini.Writer) {
		w.WriteMapLen(len(out) / 2)
		for _, s := range out {
			w.WriteBulk(s)
		}
	})
}

func (s *server) configSet(c *mini.Peer, args []string) {
	for i := 0; i < len(args); i += 2 {
		name := strings.ToLower(args[i])
		if name == "notify-keyspace-events" {
			if !s.flags.set(args[i+1]) {
				c.WriteError("ERR CONFIG SET failed (possibly related to argument '" + name +
					"') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
				return
			}
			continue
		}
		if _, ok := s.params[name]; !ok || name == "databases" {
			c.WriteError("ERR Unknown option or number of arguments for CONFIG SET - '" + args[i] + "'")
			return
		}
		if s.params[name] = args[i+1]; name == "maxmemory" {
			s.setMaxMemory(args[i+1])
		}
	}
	c.WriteOK()
}

// An event is one change of a key.
type event struct {
	class byte // a letter of notify-keyspace-events
	name  string
	key   string
}

// emit publishes the events that the flags enable.
func (s *server) emit(db int, events ...event) {
	for _, e := range events {
		if strings.IndexByte(s.flags.classes, e.class) < 0 {
			continue
		}
		at := "@" + strconv.Itoa(db) + "__:"
		if s.flags.keyspace {
			s.pubsub.publish("__keyspace"+at+e.key, e.name)
		}
		if s.flags.keyevent {
			s.pubsub.publish("__keyevent"+at+e.name, e.key)
		}
	}
}

// An outcome describes an executed command: its raw reply, and the effect on its first key.
type outcome struct {
	cmd   string
	args  []string
	reply string
	was   bool // true if the key existed before; set only for commands that trim
	gone  bool // true if the key no longer exists; set only for commands that shrink or trim
}

// A plan describes the events of a command.
type plan struct {
	class byte
	name  string
	when  func(outcome) bool // reports whether the command changed the first key
	// shrinks means that the command may remove the key, which is an event of its own. trims means the same for
	// commands whose reply does not reveal whether the key existed.
	shrinks, trims bool
	// all returns the events; if it is set, the fields above are not used.
	all func(outcome) []event
}

// events returns the events of the command.
func (p *plan) events(o outcome) []event {
	switch {
	case failed(o.reply):
		return nil
	case p.all != nil:
		return p.all(o)
	case !p.when(o):
		return nil
	}
	events := []event{{p.class, p.name, o.args[0]}}
	if o.gone {
		events = append(events, event{'g', "del", o.args[0]})
	}
	return events
}

func always(outcome) bool    { return true }
func counted(o outcome) bool { return number(o.reply) > 0 }
func notNull(o outcome) bool { return !isNull(o.reply) }
func existed(o outcome) bool { return o.was }

// Raw replies.

func failed(reply string) bool { return strings.HasPrefix(reply, "-") }

func isNull(reply string) bool {
	return slices.ContainsFunc([]string{"$-1", "_", "*-1", "*0"}, func(start string) bool {
		return strings.HasPrefix(reply, start)
	})
}

// number returns an integer reply; 0 for others.
func number(reply string) int {
	digits, ok := strings.CutPrefix(reply, ":")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(digits))
	return n
}

// texts returns the strings of a raw reply that is a list, a map or a set. It returns nil for null.
func texts(reply string) (list []*string) {
	_, rest, _ := strings.Cut(reply, "\r\n")
	for rest != "" {
		head, after, _ := strings.Cut(rest, "\r\n")
		digits, ok := strings.CutPrefix(head, "$")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 || n > len(after)-2 {
			list, rest = append(list, nil), after
			continue
		}
		text := after[:n]
		list, rest = append(list, &text), after[n+2:]
	}
	return list
}
