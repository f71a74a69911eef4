package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions configure a server.
type ServerOptions struct {
	Dir  string // folder of the messages
	Name string // name of the server within its cluster
	// Listen is HOST:PORT for clients. "" means that only this process is served.
	Listen string
	// Cluster is HOST:PORT for the other servers of a cluster, and Routes are the addresses of these. "" means a single
	// server.
	Cluster string
	Routes  []string
	// Sync is the maximum time until a message is synced from the kernel's memory to the disk. 0 means that each is
	// synced before it is acknowledged. A process that dies loses nothing either way; a power failure loses the
	// messages of that time.
	Sync   time.Duration
	Access Access // access for clients and the other servers
	Logger *slog.Logger
}

// A Server is a NATS server with JetStream inside this process.
type Server struct {
	options ServerOptions
	opts    *server.Options
	url     string
	lock    *os.File
	broken  chan string // receives the reason when NATS stops writing a stream
	end     chan struct{}
	watched chan struct{}
	close   sync.Once

	mu       sync.Mutex
	nats     *server.Server // nil during a restart
	trouble  string         // reason why its folder cannot be written; "" if it can
	restarts int
}

// startWithin is the time limit for a start; the server first reads its files.
const startWithin = time.Minute

// StartServer starts a server, and returns when it serves.
func StartServer(o ServerOptions) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("the log's server: no folder to keep messages in")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.Access.Check([]string{o.Listen, o.Cluster}, nil); err != nil {
		return nil, fmt.Errorf("the log's server: %w", err)
	}
	opts, err := natsOptions(o)
	if err != nil {
		return nil, err
	}
	if err := o.Access.admit(opts); err != nil {
		return nil, err
	}
	lock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, opts: opts, lock: lock, broken: make(chan string, 1), end: make(chan struct{}),
		watched: make(chan struct{})}
	if s.nats, err = s.start(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	// After a restart it listens at the same address.
	if a, ok := s.nats.Addr().(*net.TCPAddr); ok && a != nil {
		s.url, s.opts.Port = "nats://"+a.String(), a.Port
	}
	if a := s.nats.ClusterAddr(); a != nil {
		s.opts.Cluster.Port = a.Port
	}
	go s.watch()
	return s, nil
}

func natsOptions(o ServerOptions) (opts *server.Options, err error) {
	opts = &server.Options{
		ServerName: cmp.Or(o.Name, "tamtam"), JetStream: true, StoreDir: o.Dir, NoSigs: true, NoLog: true,
		DontListen: o.Listen == "", SyncAlways: o.Sync == 0, SyncInterval: cmp.Or(o.Sync, 2*time.Minute),
		JetStreamMaxStore: 1 << 50, // streams have their own limits
	}
	if o.Listen != "" {
		if opts.Host, opts.Port, err = hostPort("the log's clients", o.Listen); err != nil {
			return opts, err
		}
	}
	if o.Cluster == "" {
		return opts, nil
	}
	opts.Cluster.Name = "tamtam"
	if opts.Cluster.Host, opts.Cluster.Port, err = hostPort("the log's cluster", o.Cluster); err != nil {
		return opts, err
	}
	for _, r := range o.Routes {
		if _, _, err := hostPort("a route of the log's cluster", r); err != nil {
			return opts, err
		}
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	return opts, nil
}

func (s *Server) start() (*server.Server, error) {
	n, err := server.NewServer(s.opts.Clone())
	if err != nil {
		return nil, fmt.Errorf("the log's server in %s: %w", s.options.Dir, err)
	}
	fatal := make(chan string, 1)
	n.SetLoggerV2(serverLog{s, fatal}, false, false, false)
	n.Start()
	for began := time.Now(); !n.ReadyForConnections(100 * time.Millisecond); {
		why := ""
		select {
		case why = <-fatal:
		default:
			if time.Since(began) > startWithin {
				why = fmt.Sprintf("does not serve after %s", startWithin)
			}
		}
		if why != "" {
			n.Shutdown()
			n.WaitForShutdown()
			return nil, fmt.Errorf("the log's server in %s, listening at %q: %s", s.options.Dir, s.options.Listen, why)
		}
	}
	return n, nil
}

// lockFolder locks a folder for one server, until the file is closed or the process ends. Two servers would each write
// their own messages under the same numbers, and NATS does not check for another.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the log's server: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the log's server: %w", err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("the log's server in %s: another one, of this process or of another, has this "+
			"folder: want one for each", dir), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("the log's server: lock %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

func hostPort(what, address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	n, numberErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numberErr != nil {
		return "", 0, fmt.Errorf("%s: address %q, want HOST:PORT", what, address)
	}
	if n == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(n), nil
}

// URL returns the URL for clients, or "" if it does not listen.
func (s *Server) URL() string { return s.url }

// InProcessConn returns a connection for clients in this process.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	now := s.nats
	s.mu.Unlock()
	if now == nil {
		return nil, errors.New("the log's server is being started again")
	}
	return now.InProcessConn()
}

// Close stops the server, and returns when all messages are on the disk.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.end)
		<-s.watched
		if s.nats != nil {
			s.nats.Shutdown()
			s.nats.WaitForShutdown()
		}
		_ = s.lock.Close() // there is nothing to write
	})
}

// serverLog forwards the messages of a server. Its notices do not help an operator, so they are at debug level. While
// the server cannot write, the cause is logged only once.
type serverLog struct {
	of    *Server
	fatal chan<- string
}

func (l serverLog) Noticef(format string, v ...any) {
	l.say(slog.LevelDebug, fmt.Sprintf(format, v...))
}
func (l serverLog) Warnf(format string, v ...any)  { l.say(slog.LevelWarn, fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any) { l.say(slog.LevelError, fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(string, ...any)          {}
func (l serverLog) Tracef(string, ...any)          {}

func (l serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.say(slog.LevelDebug, text) // start returns it as an error
	select {
	case l.fatal <- text:
	default:
	}
}

// say logs a message. It also detects messages about write errors after which NATS stops writing: there is no other
// reliable and timely sign.
func (l serverLog) say(level slog.Level, text string) {
	broken := false
	for _, sign := range []string{"ritical write error: ", "ailed to store a msg on stream", "will be DISABLED",
		"disabling JetStream: "} {
		broken = broken || strings.Contains(text, sign)
	}
	if broken {
		select {
		case l.of.broken <- text:
		default:
		}
	}
	if broken || l.of.Trouble() != "" {
		level = slog.LevelDebug
	}
	l.of.options.Logger.Log(context.Background(), level, "nats: "+text)
}
