package swss

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/google/go-cmp/cmp"
)

// A direct is a raw connection to an embedded server of the same process.
type direct struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func startDirect(t testing.TB) (*server, func() direct) {
	t.Helper()
	s, err := newServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s, func() direct {
		t.Helper()
		c, err := s.dial()
		if err != nil {
			t.Fatal(err)
		}
		return direct{t, c, bufio.NewReader(c)}
	}
}

func (d direct) send(words ...string) {
	d.t.Helper()
	if _, err := io.WriteString(d.conn, command(words...)); err != nil {
		d.t.Fatalf("%v: %v", words, err)
	}
}

func command(words ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return text
}

// want reads one reply.
func (d direct) want(want string) {
	d.t.Helper()
	d.conn.SetReadDeadline(time.Now().Add(time.Minute))
	got, err := proto.Read(d.r)
	if err != nil || strings.ReplaceAll(got, "\r\n", " ") != want+" " {
		d.t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// TestDirectPieces: commands arrive in pieces of any length, and several in one piece.
func TestDirectPieces(t *testing.T) {
	commands := [][]string{
		{"PING"}, {"SET", "k", "a\r\n*1\r\nb"}, {}, {"SET", "", ""}, {"APPEND", "k", strings.Repeat("x", 3000)},
	}
	var text string
	var want []string
	for _, c := range commands {
		text += command(c...)
		if len(c) > 0 {
			want = append(want, strings.Join(c, "|"))
		}
	}
	for _, size := range []int{1, 2, 3, 7, 100, len(text)} {
		var r commandReader
		var got []string
		for piece := range slices.Chunk([]byte(text), size) {
			r.add(piece)
			for {
				words, err := r.next()
				if err != nil {
					t.Fatal(err)
				}
				if words == nil {
					break
				}
				got = append(got, strings.Join(words, "|"))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces of %d bytes: %s", size, diff)
		}
	}
}

// TestDirectProtocol: what is not a command ends the connection, after the replies to earlier commands.
func TestDirectProtocol(t *testing.T) {
	_, dial := startDirect(t)
	for _, text := range []string{"PING\r\n", "*1\r\n:1\r\n", "*-1\r\n", "*1\r\n$x\r\n", "*1\n$4\nPING\n"} {
		d := dial()
		if _, err := io.WriteString(d.conn, command("PING")+text); err != nil {
			t.Fatal(err)
		}
		d.want("+PONG")
		if b, err := d.r.ReadByte(); err != io.EOF {
			t.Errorf("after %q: %q, %v, want the end", text, b, err)
		}
	}
}

// TestDirectWaits: a command that waits does not hold up its writer. The commands after it keep their order.
func TestDirectWaits(t *testing.T) {
	_, dial := startDirect(t)
	waiting, other := dial(), dial()
	waiting.send("BLPOP", "list", "0")
	waiting.send("PING", "after")
	other.send("RPUSH", "list", "x")
	other.want(":1")
	waiting.want("*2 $4 list $1 x")
	waiting.want("$5 after")
}

// TestDirectPause: while commands are paused, a client of this process waits no longer than its deadline for a reply.
func TestDirectPause(t *testing.T) {
	s, dial := startDirect(t)
	d := dial()
	s.pause.begin(time.Hour)
	d.send("PING")
	d.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := d.r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("during the pause: %v, want a timeout", err)
	}
	s.pause.end()
	d.want("+PONG")
}

// TestDirectClose: either end may close the connection, also while the client reads. The subscriptions end with it.
func TestDirectClose(t *testing.T) {
	s, dial := startDirect(t)
	for _, x := range []struct {
		name  string
		close func(direct)
		want  error
	}{
		{"client", func(d direct) { d.conn.Close() }, net.ErrClosed},
		{"QUIT", func(d direct) { d.send("QUIT") }, nil},
		{"server", func(direct) { s.close() }, io.EOF},
	} {
		d := dial()
		d.send("SUBSCRIBE", "news")
		d.want("*3 $9 subscribe $4 news :1")
		read := make(chan error)
		go func() {
			_, err := d.r.ReadByte()
			read <- err
		}()
		x.close(d)
		if err := <-read; !errors.Is(err, x.want) {
			t.Errorf("closed by %s: %v, want %v", x.name, err, x.want)
		}
		s.mu.Lock()
		if n := s.pubsub.publish("news", "x"); n != 0 {
			t.Errorf("closed by %s: %d subscriptions are left", x.name, n)
		}
		s.mu.Unlock()
		if x.want == nil {
			continue
		}
		if _, err := d.conn.Write([]byte(command("PING"))); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed by %s: a write gives %v", x.name, err)
		}
	}
	if _, err := s.dial(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial after the server is closed: %v", err)
	}
}

// TestDirectWriteDeadline: a command that is written too late does not run.
func TestDirectWriteDeadline(t *testing.T) {
	_, dial := startDirect(t)
	d := dial()
	d.conn.SetWriteDeadline(time.Unix(1, 0))
	if _, err := io.WriteString(d.conn, command("SET", "k", "v")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
	d.conn.SetDeadline(time.Time{})
	d.send("EXISTS", "k")
	d.want(":0")
}

// TestHears: events of a database are made if a subscription can match them.
func TestHears(t *testing.T) {
	for _, x := range []struct {
		name    string
		pattern bool
		want    []int // databases
	}{
		{"__keyspace@4__:PORT|*", true, []int{4}}, {"__key*@6__:*", true, []int{4, 6}}, {"*", true, []int{4, 6}},
		{"__keyevent@6__:del", false, []int{6}}, {"news", false, nil}, {"__keyspace@4*", true, []int{4}},
		{"[_]*", true, []int{4, 6}}, {"ne*", true, nil},
	} {
		var p pubsub
		ss := &session{}
		p.join(ss, x.name, x.pattern)
		for range 2 { // the second answer is remembered
			var got []int
			for _, db := range []int{4, 6} {
				if p.hears(db) {
					got = append(got, db)
				}
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("%s: events of the databases %v, want %v", x.name, got, x.want)
			}
		}
		p.drop(ss)
		if p.hears(4) || p.hears(6) {
			t.Errorf("%s: events without a subscription", x.name)
		}
	}
}

// BenchmarkCommand measures a command of a client of this process.
func BenchmarkCommand(b *testing.B) {
	r, err := OpenEmbedded()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	db := r.DB(ApplDB)
	b.ReportAllocs()
	for b.Loop() {
		if err := db.Client().HSet(b.Context(), "T:k", "f", "v").Err(); err != nil {
			b.Fatal(err)
		}
	}
}
