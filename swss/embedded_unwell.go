package swss

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How the embedded server is not well, by the commands that do it to a real one: CLIENT PAUSE, CONFIG SET maxmemory.

// A pause keeps the commands of all connections waiting, also CLIENT UNPAUSE, as Redis does. It may be over before it
// ends, never longer.
type pause struct{ now atomic.Pointer[gate] }

// A gate is one pause.
type gate struct {
	over chan struct{}
	open func()
}

func (p *pause) begin(d time.Duration) {
	over := make(chan struct{})
	g := &gate{over, sync.OnceFunc(func() { close(over) })}
	if before := p.now.Swap(g); before != nil {
		before.open() // who waited there waits at the new one
	}
	time.AfterFunc(d, func() {
		p.now.CompareAndSwap(g, nil)
		g.open()
	})
}

// end ends it: the server closes.
func (p *pause) end() {
	if g := p.now.Swap(nil); g != nil {
		g.open()
	}
}

func (p *pause) wait() {
	for g := p.now.Load(); g != nil; g = p.now.Load() {
		<-g.over
	}
}

// client handles CLIENT as far as it is not left to miniredis, and reports whether it did.
func (s *server) client(args []string) (reply string, ok bool) {
	switch {
	case pauses("CLIENT", args):
		d, refusal := parsePause(args)
		if refusal != "" {
			return "-" + refusal + "\r\n", true
		}
		s.pause.begin(d)
	case len(args) > 0 && strings.EqualFold(args[0], "SETINFO"), len(args) == 1 && strings.EqualFold(args[0], "UNPAUSE"):
	default:
		return "", false
	}
	return "+OK\r\n", true
}

// pauses reports whether it is CLIENT PAUSE, which miniredis does not know.
func pauses(cmd string, args []string) bool {
	return cmd == "CLIENT" && len(args) > 0 && strings.EqualFold(args[0], "PAUSE")
}

// parsePause reads the arguments of CLIENT PAUSE, or says what is wrong with them.
func parsePause(args []string) (d time.Duration, refusal string) {
	if len(args) < 2 || len(args) > 3 {
		return 0, "ERR syntax error"
	}
	const most = 1 << 31 // 24 days
	ms, err := strconv.ParseUint(args[1], 10, 64)
	switch {
	case err != nil || ms > most:
		return 0, "ERR timeout is not an integer or out of range"
	case len(args) == 3 && !strings.EqualFold(args[2], "ALL"):
		return 0, "ERR CLIENT PAUSE mode must be ALL" // WRITE: nobody needs it here
	}
	return time.Duration(ms) * time.Millisecond, ""
}

// leastMemory is what a process with an embedded server has at least: it is full where it may use less. How much the
// rows take is not known, so that other bounds mean nothing.
const leastMemory = 1 << 20

const oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

// setMaxMemory notes whether the server is full. The caller holds mu.
func (s *server) setMaxMemory(text string) {
	n, err := strconv.ParseUint(text, 10, 64)
	s.full = err == nil && n > 0 && n < leastMemory
}

// needsRoom reports whether Redis refuses a command while it is full.
func needsRoom(cmd string) bool {
	switch cmd {
	case "GETDEL", "DEL", "UNLINK", "PERSIST", "RENAME", "RENAMENX", "XDEL":
		return false
	}
	p := plans[cmd]
	return p != nil && !p.shrinks && !p.trims
}
