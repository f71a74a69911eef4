// Package swsstest starts Redis servers for tests: the embedded one, and a real redis-server as a child process that
// tests can kill and restart. Only tests may import it.
package swsstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"tamtam/swss"
)

// Start starts an empty embedded server for the duration of the test.
func Start(t testing.TB) *swss.Redis {
	t.Helper()
	r, err := swss.Open(context.Background(), "embedded")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A Server is a real redis-server. Its data survives Stop and Start. Kill loses it.
type Server struct {
	Addr string // "127.0.0.1:port"
	Unix string // path of the unix socket

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	// exited is closed when cmd has ended.
	exited chan struct{}
	out    bytes.Buffer
}

// StartServer starts a real redis-server on a free port and a temporary directory for the duration of the test. The
// test is skipped if redis-server is not installed. args configure persistence; by default the data is saved only at
// Stop.
func StartServer(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed: behaviour is not compared with a real Redis")
	}
	dir, err := os.MkdirTemp("", "redis") // short: unix socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	if len(args) == 0 {
		args = []string{"--save", "", "--appendonly", "no"}
	}
	s := &Server{t: t, dir: dir, args: args, Unix: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	for range 20 { // between the choice of a port and its use, another process may occupy it
		addr, held := freeAddr(t)
		t.Cleanup(func() { held.Close() })
		s.Addr = addr
		if err = s.start(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Open connects to the server for the duration of the test.
func (s *Server) Open() *swss.Redis {
	s.t.Helper()
	r, err := swss.Open(context.Background(), s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Close() })
	return r
}

// Start restarts the server at its port, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the server and waits until it answers at its socket, which it creates once it has its port.
func (s *Server) start() error {
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	s.out.Reset()
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--unixsocket", s.Unix,
		"--dir", s.dir, "--databases", "64", "--notify-keyspace-events", "AKE"}, s.args...)
	cmd, exited := exec.Command("redis-server", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		r, err := swss.Open(ctx, "unix:"+s.Unix)
		if err == nil {
			r.Close()
			return nil
		}
		select {
		case <-exited:
			s.cmd = nil
			return fmt.Errorf("redis-server has ended: %s", s.out.String())
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("redis-server does not answer: %w\n%s", err, s.out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop saves the data and ends the server.
func (s *Server) Stop() {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	if out, err := s.shutdown(); err != nil {
		s.t.Fatalf("redis-server shutdown: %v\n%s", err, out)
	}
	<-s.exited
	s.cmd = nil
}

func (s *Server) shutdown() (string, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "SHUTDOWN SAVE\r\n"); err != nil {
		return "", err
	}
	reply := make([]byte, 512)
	n, _ := conn.Read(reply) // returns when the connection ends
	if n > 0 {
		return string(reply[:n]), fmt.Errorf("refused")
	}
	return "", nil
}

// Kill ends the server immediately. Its data is lost, unless it was saved before.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// Signal sends a signal to the server. For example, SIGSTOP makes it hang until SIGCONT.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// freeAddr returns a free address. held reserves the port for this process among all test servers on this machine, even
// while the server is killed. It is a name that disappears with the process. The port is below the range of ports that
// the system assigns to clients.
func freeAddr(t testing.TB) (addr string, held io.Closer) {
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		var held io.Closer = io.NopCloser(nil)
		if runtime.GOOS == "linux" {
			l, err := net.Listen("unix", fmt.Sprintf("@tamtam-test-port-%d", port))
			if err != nil {
				continue
			}
			held = l
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return l.Addr().String(), held
		}
		held.Close()
	}
	t.Fatal("of 100 ports none is free")
	return "", nil
}
