package swss

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
)

// OpenEmbedded starts a server in this process. It listens at each of listen:
// "host:port", or "/path" of a unix socket; at 127.0.0.1 and a free port if none
// is given.
//
// It is miniredis with what SONiC needs besides: keyspace events for every writer (clients,
// transactions, scripts), CONFIG, CLIENT PAUSE, unix sockets, and 64 databases; rows are kept packed, and the scripts
// of tables are run without Lua. It keeps nothing on disk, is full only where maxmemory is below 1 MiB, times
// to live do not run down, and blocking pops cause no events and may get what a transaction pushes before that ends.
func OpenEmbedded(listen ...string) (*Redis, error) {
	cfg, err := DefaultConfig("")
	if err != nil {
		return nil, err
	}
	s, err := newServer(listen)
	if err != nil {
		return nil, fmt.Errorf("embedded redis: %w", err)
	}
	return &Redis{cfg: cfg, embedded: s, dbs: map[DBName]*DB{}}, nil
}

// A server is the embedded Redis. Its hook sees every command before miniredis
// does: they run inside mu, so that a script is seen whole, and the events of writes are published
// before anybody sees the reply, in their order.
type server struct {
	data      *miniredis.Miniredis
	srv       *mini.Server
	listeners []net.Listener
	accepting sync.WaitGroup

	sessionMu sync.RWMutex
	sessions  map[*mini.Peer]*session
	closed    bool

	pause pause

	mu       sync.Mutex
	params   map[string]string // of CONFIG
	full     bool              // and takes nothing more
	flags    eventFlags
	pubsub   pubsub
	shadows  [2]shadow // by depth: a script, in it a command
	depth    int
	scriptDB int // database of the script that runs
	shelf    shelf
	natives  map[string]Native // by digest
}

// A session is one connection. It belongs to the connection's goroutine.
type session struct {
	peer          *mini.Peer
	db            int
	pass          bool         // the hook lets the command pass
	tx            *transaction // nil outside of one
	subscriptions int          // how many; changed inside server.mu
}

// A shadow is a peer whose replies are kept instead of sent.
type shadow struct {
	peer *mini.Peer
	w    *bufio.Writer
	buf  bytes.Buffer
}

func newServer(listen []string) (*server, error) {
	s := &server{
		data:     miniredis.NewMiniRedis(),
		sessions: map[*mini.Peer]*session{},
		shelf:    newShelf(),
		natives:  maps.Clone(ownScripts),
		params: map[string]string{
			"databases": fmt.Sprint(databasesInRedis), "save": "", "appendonly": "no",
			"maxmemory": "0", "timeout": "0",
		},
	}
	s.flags.set(keyspaceFlags)
	for i := range s.shadows {
		sh := &s.shadows[i]
		sh.w = bufio.NewWriter(&sh.buf)
		sh.peer = mini.NewPeer(sh.w)
	}
	first, err := s.data.Dial() // starts it, without a listener of its own
	if err != nil {
		return nil, err
	}
	first.Close()
	s.srv = s.data.Server()
	s.srv.SetPreHook(s.hook)
	if len(listen) == 0 {
		listen = []string{"127.0.0.1:0"}
	}
	for _, addr := range listen {
		network := "tcp"
		if strings.HasPrefix(addr, "/") {
			network = "unix"
			removeLeft(addr)
		}
		l, err := net.Listen(network, addr)
		if err != nil {
			s.close()
			return nil, err
		}
		s.listeners = append(s.listeners, l)
		s.accepting.Add(1)
		go s.accept(l)
	}
	return s, nil
}

// removeLeft removes the socket of a process that was killed: nobody listens there.
func removeLeft(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		c.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		os.Remove(path) // what is wrong with it, Listen says
	}
}

func (s *server) accept(l net.Listener) {
	defer s.accepting.Done()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.srv.ServeConn(newAsyncConn(conn))
		}
	}
}

// addr returns where clients reach the server.
func (s *server) addr() string {
	a := s.listeners[0].Addr()
	if a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return a.String()
}

// dial returns a connection that stays within the process.
func (s *server) dial() (net.Conn, error) {
	s.sessionMu.RLock()
	defer s.sessionMu.RUnlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	s.srv.ServeConn(newAsyncConn(server))
	return client, nil
}

func (s *server) close() {
	s.sessionMu.Lock()
	s.closed = true
	s.sessionMu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
	s.accepting.Wait()
	s.pause.end()
	s.data.Close()
}

// session returns the session of a connection, nil for the peers of scripts and for shadows: those
// come with a context from elsewhere.
func (s *server) session(c *mini.Peer) *session {
	s.sessionMu.RLock()
	ss := s.sessions[c]
	s.sessionMu.RUnlock()
	if ss != nil || c.Ctx != nil || s.shadowed(c) {
		return ss
	}
	ss = &session{peer: c}
	s.sessionMu.Lock()
	s.sessions[c] = ss
	s.sessionMu.Unlock()
	c.OnDisconnect(func() {
		s.sessionMu.Lock()
		delete(s.sessions, c)
		s.sessionMu.Unlock()
		s.mu.Lock()
		s.pubsub.drop(ss)
		s.mu.Unlock()
	})
	return ss
}

func (s *server) shadowed(c *mini.Peer) bool {
	for i := range s.shadows {
		if c == s.shadows[i].peer {
			return true
		}
	}
	return false
}

// hook sees a command first and reports whether it has handled it.
func (s *server) hook(c *mini.Peer, cmd string, args ...string) bool {
	ss := s.session(c)
	if ss == nil {
		return !s.shadowed(c) && s.nested(c, cmd, args)
	}
	if ss.pass {
		return false
	}
	s.pause.wait()
	if ss.subscriptions > 0 && !c.Resp3 && s.subscribedOnly(ss, cmd, args) {
		return true
	}
	switch {
	case cmd == "MULTI", cmd == "EXEC", cmd == "DISCARD", cmd == "SELECT":
		s.control(ss, cmd, args)
	case ss.tx != nil:
		s.queue(ss, cmd, args)
	default:
		return s.plain(ss, cmd, args)
	}
	return true
}

// plain handles a command outside of a transaction, if it is not left to miniredis, and reports whether it did.
func (s *server) plain(ss *session, cmd string, args []string) bool {
	s.mu.Lock() // nobody sees half of what a script does
	defer s.mu.Unlock()
	switch cmd {
	case "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PUBSUB":
		s.subscription(ss, cmd, args)
		return true
	case "CONFIG":
		s.config(ss.peer, args)
		return true
	case "COMMAND":
		ss.peer.WriteLen(0)
		return true
	}
	reply, ok := s.here(ss, cmd, args)
	switch {
	case ok:
	case plans[cmd] != nil:
		reply = s.perform(ss.peer, ss.db, cmd, args)
	case !s.srv.IsRegisteredCommand(cmd):
		return false
	default:
		if reply, ok = s.shelved(ss.peer, ss.db, cmd, args); ok {
			break
		}
		s.unshelve(ss.peer, ss.db, cmd, args)
		if !waits(cmd) {
			s.native(ss, cmd, args)
		}
		return !waits(cmd)
	}
	ss.peer.WriteRaw(reply)
	return true
}

// here runs a command that is not one on data, in a transaction or outside, and returns the raw reply; false if it is
// none of those that the server has itself.
func (s *server) here(ss *session, cmd string, args []string) (reply string, ok bool) {
	switch cmd {
	case "PUBLISH":
		if len(args) == 2 {
			return rawNumber(':', s.pubsub.publish(args[0], args[1])), true
		}
	case "CLIENT":
		return s.client(args)
	case "EVALSHA":
		s.scriptDB = ss.db
		if reply, ok := s.nativeScript(ss, args); ok {
			return reply, true
		}
		return s.run(ss.peer, cmd, args...), true
	case "EVAL", "EVAL_RO", "EVALSHA_RO":
		s.scriptDB = ss.db
		return s.run(ss.peer, cmd, args...), true
	}
	return "", false
}

// waits reports whether a command may wait for another to write; no script of ours writes what these read.
func waits(cmd string) bool {
	switch cmd {
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BZMPOP", "BZPOPMIN", "BZPOPMAX", "XREAD", "XREADGROUP":
		return true
	}
	return false
}

// native runs a command of a connection in miniredis.
func (s *server) native(ss *session, cmd string, args []string) {
	ss.pass = true
	s.srv.Dispatch(ss.peer, append([]string{cmd}, args...))
	ss.pass = false
}

// run runs a command with the context of c and returns the raw reply. The
// caller holds mu.
func (s *server) run(c *mini.Peer, cmd string, args ...string) string {
	sh := &s.shadows[s.depth]
	s.depth++
	sh.buf.Reset()
	sh.peer.Ctx, sh.peer.Resp3 = c.Ctx, c.Resp3
	s.srv.Dispatch(sh.peer, append([]string{cmd}, args...))
	c.Ctx = sh.peer.Ctx // made by the first command of a connection
	_ = sh.w.Flush()    // into a buffer
	s.depth--
	return sh.buf.String()
}

// nested handles a command of a script; the script's caller holds mu.
func (s *server) nested(c *mini.Peer, cmd string, args []string) bool {
	switch {
	case cmd == "SELECT":
		reply := s.run(c, cmd, args...)
		if n, err := parseDB(args); err == nil {
			s.scriptDB = n
		}
		c.WriteRaw(reply)
	case cmd == "PUBLISH" && len(args) == 2:
		c.WriteInt(s.pubsub.publish(args[0], args[1]))
	case plans[cmd] != nil:
		c.WriteRaw(s.perform(c, s.scriptDB, cmd, args))
	default:
		if reply, ok := s.shelved(c, s.scriptDB, cmd, args); ok {
			c.WriteRaw(reply)
			return true
		}
		s.unshelve(c, s.scriptDB, cmd, args)
		return false
	}
	return true
}

// perform runs a command and publishes its events.
func (s *server) perform(c *mini.Peer, db int, cmd string, args []string) string {
	p := plans[cmd]
	switch {
	case s.full && needsRoom(cmd):
		return oom
	case p == nil || len(args) == 0:
		return s.do(c, db, cmd, args)
	case cmd == "DEL" || cmd == "UNLINK":
		return s.remove(c, db, cmd, args)
	}
	o := outcome{cmd: cmd, args: args, was: !p.trims || s.exists(c, db, args[0])}
	o.reply = s.do(c, db, cmd, args)
	o.gone = (p.shrinks || p.trims) && !s.exists(c, db, args[0])
	s.emit(db, p.events(o)...)
	return o.reply
}

// remove deletes keys, with an event for each.
func (s *server) remove(c *mini.Peer, db int, cmd string, keys []string) string {
	n := 0
	for _, key := range keys {
		if number(s.do(c, db, cmd, []string{key})) > 0 {
			n++
			s.emit(db, event{'g', "del", key})
		}
	}
	return rawNumber(':', n)
}

func (s *server) exists(c *mini.Peer, db int, key string) bool {
	return number(s.do(c, db, "EXISTS", []string{key})) > 0
}
