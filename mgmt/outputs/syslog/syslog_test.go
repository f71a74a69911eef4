package syslog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"tamtam/mgmt/outputs"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 123456789, time.UTC)

// A line has the format of RFC 5424, including escapes.
func TestLine(t *testing.T) {
	m := Message{At: noon, Severity: Error, ID: "STATUS", Text: `t|s is failed: "no"`, Params: []Param{
		{"table", "t"}, {"reason", `a "b" \ ]`},
	}}
	got := string(Sender{Host: "leaf1", Version: "1.2"}.Line(m, 7))
	want := `<27>1 2026-11-26T12:00:00.123456Z leaf1 tamtam - STATUS [meta sequenceId="7"][origin software="tamtam" ` +
		`swVersion="1.2"]` +
		`[tamtam@32473 table="t" reason="a \"b\" \\ \]"] t|s is failed: "no"`
	if got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
	p, err := parseLine(got)
	if err != nil || p.param("tamtam@32473", "reason") != `a "b" \ ]` {
		t.Errorf("%+v, %v", p, err)
	}
	if got := string(Sender{}.Line(Message{Text: "\u00fc"}, 1)); !strings.HasSuffix(got, " \xef\xbb\xbf\u00fc") {
		t.Error(got)
	}
	audit := Sender{}.Line(Message{Severity: Info, Audit: true}, 1)
	if p, err := parseLine(string(audit)); err != nil || p.facility != 13 || p.host != "-" || p.id != "-" {
		t.Errorf("%s: %+v, %v", audit, p, err)
	}
}

// Any message results in a valid RFC 5424 line of bounded length, without line breaks.
func FuzzLine(f *testing.F) {
	f.Add("leaf1", "STATUS", "reason", "no", "it failed", uint8(3), int64(0))
	f.Add("a b\x00", "\xff", `]="`, "\"\\]\n", "line\nline\x00\u2028", uint8(9), int64(1)<<62)
	f.Add("", "", "", "", "", uint8(0), int64(-1)<<62)
	f.Add(strings.Repeat("h", 300), strings.Repeat("i", 300), strings.Repeat("n", 300), strings.Repeat("\u00fc", 3000),
		strings.Repeat("\u20ac", 3000), uint8(7), int64(5))
	f.Fuzz(func(t *testing.T, host, id, name, value, text string, severity uint8, at int64) {
		m := Message{At: time.Unix(at, 5), Severity: Severity(severity), ID: id, Text: text}
		for range 20 {
			m.Params = append(m.Params, Param{name, value})
		}
		line := string(Sender{Host: host, Version: value}.Line(m, 5))
		p, err := parseLine(line)
		if err != nil {
			t.Fatalf("%v\n%q", err, line)
		}
		if len(line) > mostLine || strings.ContainsFunc(line, unicode.IsControl) || p.param("meta", "sequenceId") != "5" {
			t.Errorf("%d bytes: %q", len(line), line)
		}
	})
}

// The records of an audit log become messages.
func TestHandler(t *testing.T) {
	var got []Message
	log := slog.New(NewHandler(func(m Message) { got = append(got, m) }))
	log.With("user", "ada").WithGroup("rpc").Warn("refused", "name", "Set", slog.Group("peer", "port", 99))
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	m := got[0]
	if !m.Audit || m.Severity != Warning || m.Text != "refused" ||
		fmt.Sprint(m.Params) != "[{user ada} {rpc.name Set} {rpc.peer.port 99}]" {
		t.Errorf("%+v", m)
	}
}

// A sink numbers its messages, and omits those that are not severe enough.
func TestSink(t *testing.T) {
	s := &Sink{Out: outputs.New(nil, outputs.DefaultBounds()), Least: Warning, sequence: mostSequence}
	for _, sev := range []Severity{Warning, Info, Error} {
		s.Report(Message{Severity: sev, ID: "X", Text: "t"})
	}
	for _, want := range []string{"1", "2"} {
		m, _ := s.Out.Next(time.Now())
		s.Out.Done(false)
		if p, err := parseLine(string(m.Data)); err != nil || p.param("meta", "sequenceId") != want {
			t.Errorf("%s: %v, want sequence %s", m.Data, err, want)
		}
	}
	if n, _, _, _ := s.Out.Fill(time.Now()); n != 0 {
		t.Errorf("%d more", n)
	}
}

// framedLine reads a line that is prefixed by its length.
func framedLine(r *bufio.Reader) (string, error) {
	text, err := r.ReadString(' ')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, " "))
	if err != nil {
		return "", err
	}
	line := make([]byte, n)
	_, err = io.ReadFull(r, line)
	return string(line), err
}

func target(t *testing.T, scheme, addr string) outputs.Target {
	t.Helper()
	to, err := outputs.ParseTarget(scheme+"://"+addr, Schemes())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// Over TCP, each line is prefixed by its length, and a closed connection is detected.
func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := NewLink(target(t, "tcp", l.Addr().String()), "127.0.0.1", nil)
	defer link.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := link.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for _, want := range []string{"one", "two\nlines"} {
		if err := link.Send(ctx, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := framedLine(r); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	conn.Close()
	<-link.Gone()
	if err := link.Send(ctx, []byte("three")); err == nil {
		t.Error("a line was sent to nobody")
	}
}

func TestUDP(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	link := NewLink(target(t, "udp", c.LocalAddr().String()), "", nil)
	defer link.Close()
	if err := link.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := link.Send(t.Context(), []byte("one")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, _, err := c.ReadFrom(buf); err != nil || string(buf[:n]) != "one" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}
