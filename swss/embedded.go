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

// OpenEmbedded starts a server in this process. It listens at each of listen: "host:port", or the "/path" of a unix
// socket. Without any it listens at 127.0.0.1 and a free port.
//
// It is miniredis with the additions that SONiC needs: keyspace events for every writer (clients, transactions,
// scripts), CONFIG, CLIENT PAUSE, unix sockets, and 64 databases. Rows are stored packed, and the scripts of tables run
// without Lua. It differs from Redis: it stores nothing on disk, it is full only if maxmemory is below 1 MiB, and times
// to live do not elapse. Blocking pops cause no events. They may receive a value that a transaction pushes before the
// transaction ends. INFO counts only clients of other processes.
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

// A server is the embedded Redis. Its hook receives every command before miniredis does. Commands run under mu, so
// that a script is atomic. The events of a write are published in order, before any client receives the reply.
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
	params   map[string]string // settings that clients changed by CONFIG SET
	full     bool              // true if writes are refused with the error OOM
	flags    eventFlags
	pubsub   pubsub
	shadows  [2]shadow // buffers for replies: 0 for a client's script or command, 1 for a command inside a script
	depth    int
	scriptDB int // database of the script that is running
	packed   rowStore
	natives  map[string]Native // native versions of scripts, by digest
}

// A session is one connection. It belongs to the connection's goroutine.
type session struct {
	peer          *mini.Peer
	direct        *directConn // nil for a client of another process
	db            int
	pass          bool         // true while the hook passes a command on to miniredis
	tx            *transaction // nil outside a transaction
	subscriptions int          // number of subscriptions; changed under server.mu
}

// A shadow is a peer whose replies are stored in memory instead of sent.
type shadow struct {
	peer *mini.Peer
	w    *bufio.Writer
	buf  bytes.Buffer
}

func newServer(listen []string) (*server, error) {
	s := &server{
		data:     miniredis.NewMiniRedis(),
		sessions: map[*mini.Peer]*session{},
		packed:   newRowStore(),
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
	first, err := s.data.Dial() // starts miniredis, without a listener of its own
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

// removeLeft removes the socket of a killed process, if no process listens there.
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
		os.Remove(path) // if that fails, Listen reports the cause
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

// addr returns the address at which clients reach the server.
func (s *server) addr() string {
	a := s.listeners[0].Addr()
	if a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return a.String()
}

// dial returns an in-process connection.
func (s *server) dial() (net.Conn, error) {
	s.sessionMu.Lock()
	defer s.sessionMu.Unlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	c := newDirectConn(s)
	s.sessions[c.ss.peer] = c.ss
	return c, nil
}

func (s *server) close() {
	s.sessionMu.Lock()
	s.closed = true
	var direct []*directConn
	for _, ss := range s.sessions {
		if ss.direct != nil {
			direct = append(direct, ss.direct)
		}
	}
	s.sessionMu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
	s.accepting.Wait()
	for _, c := range direct {
		c.close(false)
	}
	s.pause.end()
	s.data.Close()
}

// session returns the session of a connection. It is nil for the peers of scripts and for shadows: these arrive with
// a context that already exists.
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
	c.OnDisconnect(func() { s.forget(ss) })
	return ss
}

// forget ends the session of a closed connection.
func (s *server) forget(ss *session) {
	s.sessionMu.Lock()
	delete(s.sessions, ss.peer)
	s.sessionMu.Unlock()
	s.mu.Lock()
	s.pubsub.drop(ss)
	s.mu.Unlock()
}

func (s *server) shadowed(c *mini.Peer) bool {
	for i := range s.shadows {
		if c == s.shadows[i].peer {
			return true
		}
	}
	return false
}

// hook receives a command first and reports whether it has handled it.
func (s *server) hook(c *mini.Peer, cmd string, args ...string) bool {
	ss := s.session(c)
	if ss == nil {
		return !s.shadowed(c) && s.nested(c, cmd, args)
	}
	if ss.pass {
		return false
	}
	if ss.direct == nil {
		s.pause.wait()
	}
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

// plain handles a command outside of a transaction. It returns false if miniredis must handle the command.
func (s *server) plain(ss *session, cmd string, args []string) bool {
	s.mu.Lock() // no client sees a script half done
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
		if reply, ok = s.runPacked(ss.peer, ss.db, cmd, args); ok {
			break
		}
		s.unpack(ss.peer, ss.db, cmd, args)
		if !waits(cmd) {
			s.native(ss, cmd, args)
		}
		return !waits(cmd)
	}
	ss.reply(reply)
	return true
}

// reply sends a raw reply. A message to the same client cannot come in between: the caller holds mu.
func (ss *session) reply(raw string) {
	if ss.direct == nil {
		ss.peer.WriteRaw(raw)
		return
	}
	ss.peer.Flush()
	receive(ss.direct, raw)
}

// here runs a command that does not concern data, inside or outside of a transaction, and returns the raw reply. ok is
// false if the server does not implement the command itself.
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

// waits reports whether a command can block until another command writes. None of our scripts writes a type that such
// commands read.
func waits(cmd string) bool {
	switch cmd {
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BZMPOP", "BZPOPMIN", "BZPOPMAX", "XREAD", "XREADGROUP":
		return true
	}
	return false
}

// native passes a command of a connection to miniredis.
func (s *server) native(ss *session, cmd string, args []string) {
	ss.pass = true
	s.srv.Dispatch(ss.peer, append([]string{cmd}, args...))
	ss.pass = false
}

// run runs a command with the context of c and returns the raw reply. The caller holds mu.
func (s *server) run(c *mini.Peer, cmd string, args ...string) string {
	sh := &s.shadows[s.depth]
	s.depth++
	sh.buf.Reset()
	sh.peer.Ctx, sh.peer.Resp3 = c.Ctx, c.Resp3
	s.srv.Dispatch(sh.peer, append([]string{cmd}, args...))
	c.Ctx = sh.peer.Ctx // set by the first command of a connection
	_ = sh.w.Flush()    // writes to memory
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
		if reply, ok := s.runPacked(c, s.scriptDB, cmd, args); ok {
			c.WriteRaw(reply)
			return true
		}
		s.unpack(c, s.scriptDB, cmd, args)
		return false
	}
	return true
}

// perform runs a command, publishes its events, and returns the raw reply.
func (s *server) perform(c *mini.Peer, db int, cmd string, args []string) string {
	p := plans[cmd]
	switch {
	case s.full && needsRoom(cmd):
		return oom
	case p == nil || len(args) == 0 || !s.pubsub.hears(db):
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

// exists reports whether there is a key. Commands of Lua scripts run while miniredis is locked, so they ask by command.
func (s *server) exists(c *mini.Peer, db int, key string) bool {
	if s.depth > 0 {
		return number(s.do(c, db, "EXISTS", []string{key})) > 0
	}
	_, here := s.packed.dbs[db][key]
	return here || s.data.DB(db).Exists(key)
}
