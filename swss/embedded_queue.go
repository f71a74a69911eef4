package swss

import (
	"fmt"
	"strconv"
	"strings"
)

// The embedded server runs the scripts of queues natively: in Lua each takes more than 0.1 ms, and
// a synchronous SAI call needs four. They need not be loaded there.
var (
	queuePushDigest = NewScript(queuePushText).digest
	queuePopDigest  = NewScript(queuePopText).digest
)

// isPush reports whether EVALSHA has these arguments to push an entry.
func isPush(args []string) bool {
	return len(args) == 8 && args[0] == queuePushDigest && args[1] == "2"
}

// queueScript runs a script of queues; false if it must run in Lua. The caller holds mu.
func (s *server) queueScript(ss *session, args []string) bool {
	switch {
	case isPush(args):
		reply := s.perform(ss.peer, ss.db, "LPUSH", []string{args[2], args[4], args[5], args[6]})
		if !strings.HasPrefix(reply, "-") {
			reply = fmt.Sprintf(":%d\r\n", s.pubsub.publish(args[3], args[7]))
		}
		ss.peer.WriteRaw(reply)
		return true
	case len(args) == 6 && args[0] == queuePopDigest && args[1] == "2":
		return s.queuePop(ss, args[2], args[4], args[5] == "1")
	}
	return false
}

func (s *server) queuePop(ss *session, list, most string, modify bool) bool {
	n, err := strconv.Atoi(most)
	if err != nil {
		return false
	}
	reply := s.do(ss.peer, ss.db, "LRANGE", []string{list, strconv.Itoa(-3 * n), "-1"})
	words, err := splitArray(reply)
	if err != nil {
		return false
	}
	for i := len(words) - 1; modify && i >= 2; i -= 3 {
		if _, op, _ := strings.Cut(words[i-2], "\r\n"); followed(strings.TrimSuffix(op, "\r\n")) {
			return false
		}
	}
	s.perform(ss.peer, ss.db, "LTRIM", []string{list, "0", strconv.Itoa(-3*n - 1)})
	ss.peer.WriteRaw(reply)
	return true
}

// followed reports whether taking the operation, with its letter, changes
// hashes if that is asked for.
func followed(opcode string) bool {
	if opcode == "" {
		return false
	}
	switch opcode[1:] {
	case "set", "SET", "create", "remove", "DEL", "bulkcreate", "bulkset", "bulkremove":
		return true
	}
	return false
}
