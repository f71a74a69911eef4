package swsstest

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Command is one line of MONITOR.
type Command struct {
	DB   string
	By   string   // "lua", or the address of the client
	Args []string // the name in upper case, a script's digest as "digest"
}

// A Monitor receives all commands that reach a server.
type Monitor struct {
	s    *Server
	conn net.Conn
	r    *bufio.Reader
}

// Monitor starts monitoring the server.
func (s *Server) Monitor() *Monitor {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	m := &Monitor{s: s, conn: conn, r: bufio.NewReader(conn)}
	fmt.Fprint(conn, "MONITOR\r\n")
	m.line()
	return m
}

func (m *Monitor) line() string {
	m.s.t.Helper()
	m.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := m.r.ReadString('\n')
	if err != nil {
		m.s.t.Fatalf("monitor: %v", err)
	}
	return line
}

// Commands returns the commands since Monitor or the last Commands.
func (m *Monitor) Commands() []Command {
	m.s.t.Helper()
	conn, err := net.Dial("tcp", m.s.Addr)
	if err != nil {
		m.s.t.Fatal(err)
	}
	defer conn.Close()
	const mark = "end of commands"
	fmt.Fprintf(conn, "ECHO \"%s\"\r\n", mark)
	var text strings.Builder
	for {
		line := m.line()
		if strings.Contains(line, mark) {
			return ParseMonitor(m.s.t, text.String())
		}
		text.WriteString(line)
	}
}

var (
	monitorLine = regexp.MustCompile(`\[(\d+) ([^\]]+)\] (.*)$`)
	monitorWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// ParseMonitor decodes the output of MONITOR. It skips other lines.
func ParseMonitor(t testing.TB, text string) []Command {
	t.Helper()
	var out []Command
	for line := range strings.Lines(text) {
		m := monitorLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		c := Command{DB: m[1], By: m[2]}
		for _, w := range monitorWord.FindAllString(m[3], -1) {
			s, err := strconv.Unquote(w)
			if err != nil {
				t.Fatalf("%s: %v", w, err)
			}
			c.Args = append(c.Args, s)
		}
		if c.Args[0] = strings.ToUpper(c.Args[0]); c.Args[0] == "EVALSHA" {
			c.Args[1] = "digest"
		}
		out = append(out, c)
	}
	return out
}
