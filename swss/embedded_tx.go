package swss

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// A transaction holds the commands that EXEC runs consecutively, without other commands in between.
type transaction struct {
	commands []queued
	check    *mini.Peer // in a transaction, so that miniredis' reply shows whether a command is valid; nil if unused
	dirty    bool       // true if EXEC will be refused
}

// A queued command of a transaction.
type queued struct {
	cmd  string
	args []string
}

var errDBIndex = errors.New("ERR DB index is out of range")

// parseDB decodes the argument of SELECT.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case cmd == "SELECT":
		n, err := parseDB(args)
		switch {
		case err != nil:
			ss.peer.WriteError(err.Error())
		case ss.tx != nil:
			s.queueLocked(ss, cmd, args)
		default:
			ss.db = n
			s.native(ss, cmd, args)
		}
	case len(args) > 0:
		ss.peer.WriteError(wrongNumber(cmd))
	case cmd == "MULTI" && ss.tx != nil:
		ss.peer.WriteError("ERR MULTI calls can not be nested")
	case cmd == "MULTI":
		ss.tx = &transaction{}
		ss.reply("+OK\r\n")
	case ss.tx == nil:
		ss.peer.WriteError("ERR " + cmd + " without MULTI")
	case cmd == "DISCARD":
		ss.tx = nil
		ss.peer.WriteRaw(s.run(ss.peer, "UNWATCH"))
	default:
		s.exec(ss)
	}
}

func wrongNumber(cmd string) string {
	return "ERR wrong number of arguments for '" + strings.ToLower(cmd) + "' command"
}

// queue queues a command of a transaction.
func (s *server) queue(ss *session, cmd string, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueLocked(ss, cmd, args)
}

func (s *server) queueLocked(ss *session, cmd string, args []string) {
	reply := "+QUEUED\r\n"
	switch {
	case s.full: // any queued command would need memory
		reply = oom
	case valid(cmd, args):
	case !pauses(cmd, args):
		if ss.tx.check == nil {
			ss.tx.check = &mini.Peer{}
			s.run(ss.tx.check, "MULTI")
		}
		reply = s.run(ss.tx.check, cmd, args...)
	case len(args) < 2:
		reply = "-" + wrongNumber("client|pause") + "\r\n"
	}
	if strings.HasPrefix(reply, "+QUEUED") {
		ss.tx.commands = append(ss.tx.commands, queued{cmd, args})
	} else {
		ss.tx.dirty = true
	}
	ss.reply(reply)
}

// valid reports whether a command of a transaction is surely valid. It only decides about the commands of syncd's
// transactions; miniredis checks the others.
func valid(cmd string, args []string) bool {
	n := len(args)
	switch cmd {
	case "HSET":
		return n > 2 && n%2 == 1
	case "HDEL":
		return n > 1
	case "DEL":
		return n > 0
	case "HINCRBY":
		return n == 3 && isNumber(args[2])
	case "LTRIM":
		return n == 3 && isNumber(args[1]) && isNumber(args[2])
	}
	return false
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// exec executes a transaction.
func (s *server) exec(ss *session) {
	tx, abort := ss.tx, ""
	ss.tx = nil
	switch {
	case tx.dirty:
		abort = "of previous errors."
	case s.full && slices.ContainsFunc(tx.commands, func(q queued) bool { return needsRoom(q.cmd) }):
		abort = "of: " + strings.TrimSpace(oom[1:])
	}
	if abort != "" {
		s.run(ss.peer, "UNWATCH")
		ss.peer.WriteError("EXECABORT Transaction discarded because " + abort)
		return
	}
	if s.packed.off { // a client watches keys: an empty transaction reveals whether one has changed
		s.run(ss.peer, "MULTI")
		if reply := s.run(ss.peer, "EXEC"); reply != "*0\r\n" {
			ss.peer.WriteRaw(reply)
			return
		}
	}
	var out strings.Builder
	out.WriteString(rawNumber('*', len(tx.commands)))
	for _, q := range tx.commands {
		out.WriteString(s.queuedReply(ss, q.cmd, q.args))
	}
	ss.reply(out.String())
}

// queuedReply runs a command of a transaction, and returns its raw reply.
func (s *server) queuedReply(ss *session, cmd string, args []string) string {
	if reply, ok := s.here(ss, cmd, args); ok {
		return reply
	}
	switch {
	case cmd == "SELECT":
		ss.db, _ = parseDB(args)
	case waits(cmd): // in a transaction of its own it does not block
		s.run(ss.peer, "MULTI")
		s.run(ss.peer, cmd, args...)
		return strings.TrimPrefix(s.run(ss.peer, "EXEC"), "*1\r\n")
	}
	return s.perform(ss.peer, ss.db, cmd, args)
}
