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
// to live do not run down, blocking pops cause no events, and the events of a script within a
// transaction come before those of the transaction's other commands.
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
	shadows  [3]shadow // by depth: a transaction, in it a script, in it a command
	depth    int
	scriptDB int // database of the script that runs
	words    words
	shelf    shelf
	own      mini.Peer         // has no transaction
	natives  map[string]Native // by digest
}

// A session is one connection. It belongs to the connection's goroutine.
type session struct {
	peer  *mini.Peer
	db    int
	pass  bool // the hook lets the command pass
	multi bool // in a transaction
	dirty bool // the transaction can no longer be executed
	tx    []queued

	channels, patterns []string // subscribed to
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
		natives:  maps.Clone(stateScripts),
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
	if len(ss.channels)+len(ss.patterns) > 0 && !c.Resp3 && s.subscribedOnly(ss, cmd, args) {
		return true
	}
	switch cmd {
	case "MULTI", "EXEC", "DISCARD", "SELECT":
		s.control(ss, cmd, args)
		return true
	}
	if ss.multi {
		s.write(ss, cmd, args)
		return true
	}
	return s.plain(ss, cmd, args)
}

// plain handles a command outside of a transaction, if it is not left to miniredis, and reports whether it did.
func (s *server) plain(ss *session, cmd string, args []string) bool {
	switch cmd {
	case "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PUBSUB":
		s.mu.Lock()
		s.subscription(ss, cmd, args)
		s.mu.Unlock()
	case "PUBLISH":
		if len(args) != 2 {
			return false
		}
		s.mu.Lock()
		n := s.pubsub.publish(args[0], args[1])
		s.mu.Unlock()
		ss.peer.WriteInt(n)
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		s.mu.Lock()
		s.scriptDB = ss.db
		if cmd != "EVALSHA" || !s.queueScript(ss, args) && !s.nativeScript(ss, args) {
			s.native(ss, cmd, args)
		}
		s.mu.Unlock()
	case "CONFIG":
		s.config(ss.peer, args)
	case "COMMAND":
		ss.peer.WriteLen(0)
	case "CLIENT":
		return s.client(ss.peer, args)
	default:
		if planOf(cmd) != nil {
			s.write(ss, cmd, args)
			break
		}
		if !s.srv.IsRegisteredCommand(cmd) {
			return false
		}
		s.mu.Lock() // nobody sees half of what a script does
		defer s.mu.Unlock()
		if reply, ok := s.shelved(ss.peer, ss.db, cmd, args); ok {
			ss.peer.WriteRaw(reply)
			break
		}
		s.unshelve(ss.peer, ss.db, cmd, args)
		if waits(cmd) {
			return false
		}
		s.native(ss, cmd, args)
	}
	return true
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

// write runs a command that may cause events, or queues it in a transaction.
func (s *server) write(ss *session, cmd string, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss.multi {
		s.queue(ss, cmd, args)
		return
	}
	ss.peer.WriteRaw(s.perform(ss.peer, ss.db, cmd, args))
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
	case planOf(cmd) != nil:
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
	if s.full && needsRoom(cmd) {
		return oom
	}
	p := planOf(cmd)
	if p == nil {
		return s.do(c, db, cmd, args)
	}
	s.words.share(cmd, args)
	before, after := p.probes(args)
	o := outcome{db: db, cmd: cmd, args: args, before: make([]bool, len(before)), after: make([]bool, len(after))}
	for i, key := range before {
		o.before[i] = s.do(c, db, "EXISTS", []string{key}) == ":1\r\n"
	}
	o.reply = s.do(c, db, cmd, args)
	for i, key := range after {
		o.after[i] = s.do(c, db, "EXISTS", []string{key}) == ":1\r\n"
	}
	s.emit(p.events(o))
	return o.reply
}
