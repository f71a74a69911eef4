package swss

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// eventFlags is the setting of notify-keyspace-events.
type eventFlags struct {
	keyspace, keyevent bool
	classes            string
}

// allClasses is what the flag A stands for, in the order of CONFIG GET.
const allClasses = "g$lshzxetd"

// set reads the flags, false if one is not known.
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

func (s *server) configGet(c *mini.Peer, patterns []string) {
	s.params["notify-keyspace-events"] = s.flags.String()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		for _, p := range patterns {
			if globMatch(strings.ToLower(p), name) {
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
	db    int
	class byte // as in notify-keyspace-events
	name  string
	key   string
}

// emit publishes events as the flags say.
func (s *server) emit(events []event) {
	for _, e := range events {
		if strings.IndexByte(s.flags.classes, e.class) < 0 {
			continue
		}
		at := "@" + strconv.Itoa(e.db) + "__:"
		if s.flags.keyspace {
			s.pubsub.publish("__keyspace"+at+e.key, e.name)
		}
		if s.flags.keyevent {
			s.pubsub.publish("__keyevent"+at+e.name, e.key)
		}
	}
}

// An outcome is a command that ran: its reply, and whether the probed keys
// existed before and after.
type outcome struct {
	db            int
	cmd           string
	args          []string
	reply         string
	before, after []bool
}

func (o outcome) failed() bool { return strings.HasPrefix(o.reply, "-") }
func (o outcome) null() bool {
	nothing := func(start string) bool { return strings.HasPrefix(o.reply, start) }
	return slices.ContainsFunc([]string{"$-1", "_", "*-1", "*0"}, nothing)
}

// number returns an integer reply, 0 for others.
func (o outcome) number() int {
	if !strings.HasPrefix(o.reply, ":") {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(o.reply[1:]))
	return n
}

func (o outcome) event(class byte, name, key string) event {
	return event{db: o.db, class: class, name: name, key: key}
}

// A plan says which events a command causes.
type plan struct {
	class byte
	name  string
	when  func(outcome) bool // whether the first key was changed
	// shrinks: the key may be gone afterwards, which is an event of its own.
	shrinks bool
	// keys returns the keys to probe before and after, for commands whose only key is not their
	// first argument.
	keys func(args []string) (before, after []string)
	// all replaces what the fields above say.
	all func(outcome) []event
}

// probes returns the keys to probe before and after the command.
func (p *plan) probes(args []string) (before, after []string) {
	switch {
	case len(args) == 0:
		return nil, nil
	case p.keys != nil:
		return p.keys(args)
	case p.shrinks:
		return nil, args[:1]
	}
	return nil, nil
}

// events returns what the command caused.
func (p *plan) events(o outcome) []event {
	if o.failed() || len(o.args) == 0 {
		return nil
	}
	if p.all != nil {
		return p.all(o)
	}
	if !p.when(o) {
		return nil
	}
	events := []event{o.event(p.class, p.name, o.args[0])}
	if p.shrinks && !o.after[0] {
		events = append(events, o.event('g', "del", o.args[0]))
	}
	return events
}

func always(outcome) bool                      { return true }
func counted(o outcome) bool                   { return o.number() > 0 }
func notNull(o outcome) bool                   { return !o.null() }
func everyKey(a []string) ([]string, []string) { return a, nil }

// planOf returns the plan of a command, nil if it causes no events.
func planOf(cmd string) *plan { return plans[cmd] }
