package swss

import (
	"strconv"
)

// A Native does the work of a script by the same commands, and returns the raw reply, "" for null. If it does not
// support the arguments, it does nothing and returns false. In Lua a command costs 8 kB of buffers, and a row needs ten
// commands.
type Native func(r *ScriptRun) (reply string, ok bool)

// Natively returns the script with a native version, which an embedded server runs instead.
func (s Script) Natively(run Native) Script {
	s.native = run
	return s
}

// A ScriptRun is one run of a script in an embedded server. Other clients see no data before it ends.
type ScriptRun struct {
	Keys, Args []string

	s      *server
	ss     *session
	failed string // raw reply of the command that failed and ended the script
}

// learn makes the server run a script natively.
func (s *server) learn(script Script) {
	if script.native == nil {
		return
	}
	s.mu.Lock()
	s.natives[script.digest] = script.native
	s.mu.Unlock()
}

// nativeScript runs a script natively, and returns the raw reply. ok is false if it must run in Lua. The caller holds
// mu.
func (s *server) nativeScript(ss *session, args []string) (reply string, ok bool) {
	if len(args) < 2 {
		return "", false
	}
	n, err := strconv.Atoi(args[1])
	native := s.natives[args[0]]
	if native == nil || err != nil || n < 0 || n > len(args)-2 {
		return "", false
	}
	r := ScriptRun{Keys: args[2 : 2+n], Args: args[2+n:], s: s, ss: ss}
	reply, ok = native(&r)
	switch {
	case r.failed != "":
		reply = r.failed
	case reply == "":
		reply = rawNull(ss.peer)
	}
	return reply, ok
}

// Do runs a command, with its events, and returns the raw reply. After a failure it does nothing.
func (r *ScriptRun) Do(cmd string, args ...string) (raw string) {
	if r.failed != "" {
		return ""
	}
	reply := r.s.perform(r.ss.peer, r.ss.db, cmd, args)
	if failed(reply) {
		r.failed = reply
	}
	return reply
}

// HMGet returns fields of a hash, nil for missing ones.
func (r *ScriptRun) HMGet(key string, fields ...string) []*string {
	out := make([]*string, len(fields))
	if row, ok := r.s.packed.dbs[r.ss.db][key]; ok && r.failed == "" {
		for i, f := range fields {
			if text, has := row.get(f); has {
				out[i] = &text
			}
		}
		return out
	}
	copy(out, texts(r.Do("HMGET", append([]string{key}, fields...)...)))
	return out
}

// Announce returns the reply of a script that adds rows to a set of pending keys: how many it added. If there are any,
// it publishes the script's first argument on the channel that is its first key.
func (r *ScriptRun) Announce(added int) (reply string) {
	if added > 0 && r.failed == "" {
		r.s.pubsub.publish(r.Keys[0], r.Args[0])
	}
	return rawNumber(':', added)
}

// Count runs a command with Do and returns its integer reply.
func (r *ScriptRun) Count(cmd string, args ...string) int {
	return number(r.Do(cmd, args...))
}

// list runs a command with Do and returns its list of strings.
func (r *ScriptRun) list(cmd string, args ...string) []string {
	found := texts(r.Do(cmd, args...))
	list := make([]string, 0, len(found))
	for _, text := range found {
		if text != nil {
			list = append(list, *text)
		}
	}
	return list
}
