package swss

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Simulated faults of the embedded server, by the commands that cause them in a real one: CLIENT PAUSE and CONFIG SET
// maxmemory.

// A pause blocks the commands of all connections, including CLIENT UNPAUSE, as Redis does. A pause can end early, but
// never late.
type pause struct{ now atomic.Pointer[gate] }

// A gate holds commands back during one pause. open ends the pause.
type gate struct {
	over chan struct{}
	open func()
}

func (p *pause) begin(d time.Duration) {
	over := make(chan struct{})
	g := &gate{over, sync.OnceFunc(func() { close(over) })}
	if before := p.now.Swap(g); before != nil {
		before.open() // waiting commands continue at the new pause
	}
	time.AfterFunc(d, func() {
		p.now.CompareAndSwap(g, nil)
		g.open()
	})
}

// end ends the pause because the server closes.
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

// client handles some CLIENT commands. It returns false if miniredis must handle the command.
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

// pauses reports whether the command is CLIENT PAUSE, which miniredis does not implement.
func pauses(cmd string, args []string) bool {
	return cmd == "CLIENT" && len(args) > 0 && strings.EqualFold(args[0], "PAUSE")
}

// parsePause decodes the arguments of CLIENT PAUSE. refusal is the error reply if they are invalid.
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
		return 0, "ERR CLIENT PAUSE mode must be ALL" // mode WRITE is not implemented
	}
	return time.Duration(ms) * time.Millisecond, ""
}

// leastMemory is the least memory of a process with an embedded server: with a smaller limit the server is full. The
// memory of the rows is unknown, so other limits have no effect.
const leastMemory = 1 << 20

const oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

// setMaxMemory determines whether the server is full. The caller holds mu.
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
