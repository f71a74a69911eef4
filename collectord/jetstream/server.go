package jetstream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions say how a server runs.
type ServerOptions struct {
	Dir  string // where messages are kept
	Name string // within its cluster
	// Listen is HOST:PORT for clients; "" is nowhere, so that only this process is served.
	Listen string
	// Cluster is HOST:PORT for the other servers of a cluster, and Routes are theirs; "" is a server by itself.
	Cluster string
	Routes  []string
	// Sync is how long a message may wait for its way from the kernel's memory to the disk. 0: none, each is synced
	// before it is acknowledged. A process that dies loses nothing either way; a machine that loses its power loses
	// that long.
	Sync   time.Duration
	Logger *slog.Logger
}

// A Server is a NATS server with JetStream inside this process.
type Server struct {
	nats *server.Server
	lock *os.File
}

// startWithin is how long a server may take until it serves; it reads what is kept first.
const startWithin = time.Minute

// StartServer starts a server, and returns when it serves.
func StartServer(o ServerOptions) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("the log's server: no folder to keep messages in")
	}
	opts := &server.Options{
		ServerName: cmp.Or(o.Name, "tamtam"), JetStream: true, StoreDir: o.Dir, NoSigs: true, NoLog: true,
		DontListen: o.Listen == "", SyncAlways: o.Sync == 0, SyncInterval: cmp.Or(o.Sync, 2*time.Minute),
		JetStreamMaxStore: 1 << 50, // streams have bounds of their own
	}
	var err error
	if o.Listen != "" {
		if opts.Host, opts.Port, err = hostPort("the log's clients", o.Listen); err != nil {
			return nil, err
		}
	}
	if o.Cluster != "" {
		opts.Cluster.Name = "tamtam"
		if opts.Cluster.Host, opts.Cluster.Port, err = hostPort("the log's cluster", o.Cluster); err != nil {
			return nil, err
		}
		for _, r := range o.Routes {
			if _, _, err := hostPort("a route of the log's cluster", r); err != nil {
				return nil, err
			}
			opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: r})
		}
	}
	lock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the log's server in %s: %w", o.Dir, err), lock.Close())
	}
	if o.Logger != nil {
		s.SetLoggerV2(serverLog{o.Logger}, false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(startWithin) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, errors.Join(fmt.Errorf("the log's server in %s, listening at %q: does not serve after %s",
			o.Dir, o.Listen, startWithin), lock.Close())
	}
	return &Server{s, lock}, nil
}

// lockFolder takes a folder for one server, until the file is closed or the process dies: two would each write messages
// of its own under the same numbers, and NATS does not look for another.
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

// URL is where clients reach it; "" if it does not listen.
func (s *Server) URL() string {
	if a, ok := s.nats.Addr().(*net.TCPAddr); ok && a != nil {
		return "nats://" + a.String()
	}
	return ""
}

// Close stops it, and returns when all that was kept is on the disk.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	_ = s.lock.Close() // it has nothing to write
}

// serverLog hands on what a server has to say. Its notices are of no use to an operator.
type serverLog struct{ to *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.to.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.to.Warn("nats: " + fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(string, ...any)           {}
func (l serverLog) Tracef(string, ...any)           {}
