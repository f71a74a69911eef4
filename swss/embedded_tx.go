package swss

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// A queued command of a transaction. Its probes are queued around it, so that
// they see the data as the command does; their replies are cut out again.
type queued struct {
	outcome
	plan *plan // nil if it causes no events
	part bool  // its reply is not sent, unless it failed: then in place of the next
}

// pauses reports whether it is CLIENT PAUSE, which miniredis does not know.
func (q *queued) pauses() bool {
	return q.cmd == "CLIENT" && len(q.args) > 0 && strings.EqualFold(q.args[0], "PAUSE")
}

var errDBIndex = errors.New("ERR DB index is out of range")

// parseDB reads the argument of SELECT.
func parseDB(args []string) (int, error) {
	if len(args) != 1 {
		return 0, errors.New("ERR wrong number of arguments for 'select' command")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, errors.New("ERR value is not an integer or out of range")
	}
	if n < 0 || n >= databasesInRedis {
		return 0, errDBIndex
	}
	return n, nil
}

// control handles transactions and SELECT.
func (s *server) control(ss *session, cmd string, args []string) {
	switch cmd {
	case "SELECT":
		n, err := parseDB(args)
		if err != nil {
			ss.peer.WriteError(err.Error())
			return
		}
		if ss.multi {
			s.write(ss, cmd, args)
			return
		}
		ss.db = n
		s.native(ss, cmd, args)
	case "MULTI":
		s.native(ss, cmd, args)
		if len(args) == 0 {
			ss.multi, ss.dirty = true, false
		}
	case "DISCARD":
		s.native(ss, cmd, args)
		if len(args) == 0 {
			ss.multi, ss.tx = false, nil
		}
	case "EXEC":
		if !ss.multi || len(args) > 0 {
			s.native(ss, cmd, args)
			return
		}
		s.mu.Lock()
		s.exec(ss)
		s.mu.Unlock()
	}
}

// queue queues a command of a transaction with its probes. The push of an entry
// is queued as the commands of its script.
func (s *server) queue(ss *session, cmd string, args []string) {
	if cmd == "EVALSHA" && isPush(args) {
		if s.queueOne(ss, "LPUSH", []string{args[2], args[4], args[5], args[6]}); !ss.dirty {
			ss.tx[len(ss.tx)-1].part = true
		}
		cmd, args = "PUBLISH", []string{args[3], args[7]}
	}
	ss.peer.WriteRaw(s.queueOne(ss, cmd, args))
}

func (s *server) queueOne(ss *session, cmd string, args []string) (reply string) {
	if s.full { // what is queued would take room, whatever it is
		ss.dirty = true
		return oom
	}
	s.words.share(cmd, args)
	q := queued{outcome: outcome{cmd: cmd, args: args}, plan: planOf(cmd)}
	var before, after []string
	if q.plan != nil {
		before, after = q.plan.probes(args)
	}
	for _, key := range before {
		s.run(ss.peer, "EXISTS", key)
	}
	switch {
	case q.pauses() && len(args) < 2:
		reply = "-ERR wrong number of arguments for 'client|pause' command\r\n"
	case q.pauses():
		reply = s.run(ss.peer, "PING")
	default:
		reply = s.run(ss.peer, cmd, args...)
	}
	if !strings.HasPrefix(reply, "+QUEUED") {
		ss.dirty = true
		return reply
	}
	for _, key := range after {
		s.run(ss.peer, "EXISTS", key)
	}
	q.before, q.after = make([]bool, len(before)), make([]bool, len(after))
	ss.tx = append(ss.tx, q)
	return reply
}

// exec executes a transaction, takes the probes out of the reply and publishes
// the events.
func (s *server) exec(ss *session) {
	tx := ss.tx
	ss.multi, ss.tx = false, nil
	if ss.dirty {
		s.run(ss.peer, "DISCARD")
		ss.peer.WriteError("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	if s.full && slices.ContainsFunc(tx, func(q queued) bool { return needsRoom(q.cmd) }) {
		s.run(ss.peer, "DISCARD")
		ss.peer.WriteError("EXECABORT Transaction discarded because of: " + strings.TrimSpace(oom[1:]))
		return
	}
	s.scriptDB = ss.db
	db := ss.db
	s.beforeTx(db, tx)
	reply := s.run(ss.peer, "EXEC")
	s.afterTx(ss.peer, db, tx)
	replies, err := splitArray(reply)
	if err != nil {
		ss.peer.WriteRaw(reply) // aborted
		return
	}
	var out []string
	var failed string
	next := func() (r string) {
		if len(replies) > 0 {
			r, replies = replies[0], replies[1:]
		}
		return r
	}
	for _, q := range tx {
		for i := range q.before {
			q.before[i] = next() == ":1\r\n"
		}
		q.reply = next()
		for i := range q.after {
			q.after[i] = next() == ":1\r\n"
		}
		switch {
		case q.pauses():
			d, refusal := parsePause(q.args)
			if q.reply = "+OK\r\n"; refusal != "" {
				q.reply = "-" + refusal + "\r\n"
				break
			}
			s.pause.begin(d)
		case q.cmd == "SELECT":
			ss.db, _ = parseDB(q.args)
		case q.cmd == "PUBLISH" && strings.HasPrefix(q.reply, ":"):
			q.reply = fmt.Sprintf(":%d\r\n", s.pubsub.publish(q.args[0], q.args[1]))
		case q.plan != nil:
			q.db = ss.db
			s.emit(q.plan.events(q.outcome))
		}
		switch {
		case q.part && q.failed():
			failed = q.reply
			continue
		case q.part:
			continue
		case failed != "":
			q.reply, failed = failed, ""
		}
		out = append(out, q.reply)
	}
	ss.peer.WriteRaw(fmt.Sprintf("*%d\r\n", len(out)) + strings.Join(out, ""))
}

// splitArray splits the raw reply that is an array into its items.
func splitArray(reply string) ([]string, error) {
	head, rest, ok := strings.Cut(reply, "\r\n")
	if !ok || head == "" || head[0] != '*' {
		return nil, fmt.Errorf("%.20q: want an array", reply)
	}
	n, err := strconv.Atoi(head[1:])
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%.20q: want an array", reply)
	}
	var items []string
	for range n {
		size, err := replySize(rest)
		if err != nil {
			return nil, err
		}
		items = append(items, rest[:size])
		rest = rest[size:]
	}
	return items, nil
}

// replySize returns the length of the first reply in s, with all its items.
func replySize(s string) (int, error) {
	end := strings.Index(s, "\r\n")
	if end < 1 {
		return 0, fmt.Errorf("%.20q: want a reply", s)
	}
	size := end + 2
	n, _ := strconv.Atoi(s[1:end])
	switch s[0] {
	case '$':
		if n >= 0 {
			size += n + 2
		}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			item, err := replySize(s[min(size, len(s)):])
			if err != nil {
				return 0, err
			}
			size += item
		}
	}
	if size > len(s) {
		return 0, fmt.Errorf("%.20q: the reply is cut", s)
	}
	return size, nil
}

// config handles CONFIG.
func (s *server) config(c *mini.Peer, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
