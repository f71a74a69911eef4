package swss

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is the server that holds SONiC's databases. In a chassis there are several servers. It is safe for concurrent
// use.
type Redis struct {
	cfg      Config
	embedded *server // nil for an external server

	mu  sync.Mutex
	dbs map[DBName]*DB

	misuses misuses
	conns   connections // empty for an embedded server
}

// Open connects to one server with SONiC's default databases. addr is "host:port", "unix:/path", or "embedded", which
// starts a server in this process that other clients reach at [Redis.Addr]. "embedded:host:port" and "embedded:/path"
// set its address, by default 127.0.0.1 and a free port. It may have several, separated by commas; SONiC's utilities
// need both a port and a unix socket.
func Open(ctx context.Context, addr string) (*Redis, error) {
	if IsEmbedded(addr) {
		var listen []string
		if rest := strings.TrimPrefix(addr, embeddedName); rest != "" {
			listen = strings.Split(rest[1:], ",")
		}
		return OpenEmbedded(listen...)
	}
	cfg, err := DefaultConfig(addr)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, cfg)
}

// IsEmbedded reports whether [Open] would start a server for an address.
func IsEmbedded(addr string) bool {
	rest, ok := strings.CutPrefix(addr, embeddedName)
	return ok && (rest == "" || rest[0] == ':')
}

// Connect connects to the servers of cfg. It fails with [ErrUnavailable] if the server of CONFIG_DB does not answer. It
// enables keyspace events on that server. All sources of a [Listener] must be on it too.
func Connect(ctx context.Context, cfg Config) (*Redis, error) {
	r := &Redis{cfg: cfg, dbs: map[DBName]*DB{}}
	if err := r.DB(ConfigDB).enableEvents(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Look connects like [Connect], for read-only callers. It changes no setting of a server, and sends nothing yet.
func Look(cfg Config) *Redis { return &Redis{cfg: cfg, dbs: map[DBName]*DB{}} }

// Addr returns the address at which other clients reach the server: "host:port" or "unix:/path".
func (r *Redis) Addr() string {
	if r.embedded != nil {
		return r.embedded.addr()
	}
	network, addr := r.cfg.Instances[defaultInstance].network()
	if network == "unix" {
		return unixPrefix + addr
	}
	return addr
}

// Close closes all connections and stops an embedded server.
func (r *Redis) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dbs {
		d.client.Close()
	}
	if r.embedded != nil {
		r.embedded.close()
	}
	return nil
}

// DefaultSeparators reports whether each database that SONiC has by default separates tables and keys as SONiC's does.
func (r *Redis) DefaultSeparators() bool {
	for name, standard := range defaultDatabases() {
		if db, ok := r.cfg.Databases[name]; ok && db.Separator != standard.Separator {
			return false
		}
	}
	return true
}

// DB returns a database. Its connections are opened when first needed.
func (r *Redis) DB(name DBName) *DB {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.dbs[name]; ok {
		return d
	}
	db, ok := r.cfg.Databases[name]
	if !ok {
		db = Database{ID: -1, Separator: ":", Instance: defaultInstance} // every command will report this
	}
	client := newClient(r, db)
	client.AddHook(watcher{name, r})
	d := &DB{redis: r, name: name, id: db.ID, sep: db.Separator, client: client}
	d.listen = func(ctx context.Context, channels ...string) Subscription { return client.Subscribe(ctx, channels...) }
	r.dbs[name] = d
	return d
}

// quiet silences go-redis, which otherwise writes to standard error each time a server is unreachable. The returned
// errors already contain the cause.
var quiet = sync.OnceFunc(func() { redis.SetLogger(discard{}) })

type discard struct{}

func (discard) Printf(context.Context, string, ...any) {}

const (
	dialTimeout = 2 * time.Second
	// answerTimeout is the maximum time for an answer of Redis to a command that does not block. After that the
	// connection counts as dead.
	answerTimeout = 10 * time.Second
)

func newClient(r *Redis, db Database) *redis.Client {
	quiet()
	inst := r.cfg.Instances[db.Instance]
	network, addr := inst.network()
	opts := &redis.Options{
		Network:               network,
		Addr:                  addr,
		DB:                    db.ID,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // a push must not be repeated; daemons retry
		DialerRetries:         1,
		Dialer:                r.conns.dial,
		ReadTimeout:           answerTimeout,
		WriteTimeout:          answerTimeout,
		ContextTimeoutEnabled: true,
		// go-redis' own buffers of 32 kB would be a fifth of the memory of an idle switch, which has fifty connections.
		ReadBufferSize:  8192,
		WriteBufferSize: 8192,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	if inst.PasswordFile != "" {
		opts.CredentialsProviderContext = func(context.Context) (string, string, error) { return inst.login() }
	}
	if r.embedded != nil {
		// A switch has forty connections, mostly of subscribers, and a lab has a thousand switches. Long buffers would
		// not save system calls.
		opts.ReadBufferSize, opts.WriteBufferSize = 1024, 1024
		opts.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return r.embedded.dial() }
	}
	return redis.NewClient(opts)
}

// A Client is the part of go-redis's client that is used here. It keeps the client's own type out of other packages:
// each package that sees it must compile the maps in it again.
type Client interface {
	redis.Cmdable
	AddHook(hook redis.Hook)
	Close() error
}

// A Subscription is a connection that receives messages.
type Subscription interface {
	Subscribe(ctx context.Context, channels ...string) error
	PSubscribe(ctx context.Context, patterns ...string) error
	Ping(ctx context.Context, payload ...string) error
	Receive(ctx context.Context) (any, error)
	ReceiveTimeout(ctx context.Context, timeout time.Duration) (any, error)
	Close() error
}

// A DB is one of SONiC's databases.
type DB struct {
	redis  *Redis
	name   DBName
	id     int
	sep    string
	client Client
	listen func(ctx context.Context, channels ...string) Subscription
}

// Name returns SONiC's name of the database.
func (d *DB) Name() DBName { return d.name }

// ID returns the database's number in Redis.
func (d *DB) ID() int { return d.id }

// Separator returns the separator between table and key.
func (d *DB) Separator() string { return d.sep }

// Client returns the client, for commands that this package does not offer.
func (d *DB) Client() Client { return d.client }

// Subscribe opens a connection that listens to channels.
func (d *DB) Subscribe(ctx context.Context, channels ...string) Subscription {
	return d.listen(ctx, channels...)
}

// Redis returns the server that holds the database.
func (d *DB) Redis() *Redis { return d.redis }

// Ping checks that the server answers.
func (d *DB) Ping(ctx context.Context) error { return d.wrap(d.client.Ping(ctx).Err(), "ping") }

// Add adds n to a counter and returns the sum.
func (d *DB) Add(ctx context.Context, counter string, n int64) (sum int64, err error) {
	if n == 1 { // as SONiC's library does
		sum, err = d.client.Incr(ctx, counter).Result()
	} else {
		sum, err = d.client.IncrBy(ctx, counter, n).Result()
	}
	return sum, d.wrap(err, "add to", counter)
}

// channel returns the name of the channel of a table's consumers.
func (d *DB) channel(table string) string { return fmt.Sprintf("%s_CHANNEL@%d", table, d.id) }

// rowKey returns the Redis key of a row that a caller names. If key is empty it is the table's name, as in SONiC: some
// tables are a single row. This does not apply to keys that were listed: a listed key can be empty.
func (d *DB) rowKey(table, key string) string {
	if key == "" {
		return table
	}
	return table + d.sep + key
}

// keyspaceFlags is SONiC's setting of notify-keyspace-events.
const keyspaceFlags = "AKE"

// enableEvents turns keyspace events on, as SONiC's redis.conf does. Without them changes of CONFIG_DB go unnoticed.
func (d *DB) enableEvents(ctx context.Context) error {
	got, err := d.client.ConfigGet(ctx, "notify-keyspace-events").Result()
	if err != nil {
		return d.wrap(err, "config get notify-keyspace-events")
	}
	flags := got["notify-keyspace-events"]
	has := func(class string) bool { return strings.Contains(flags, class) }
	if has("K") && (has("A") || has("g") && has("h")) {
		return nil
	}
	if err := d.client.ConfigSet(ctx, "notify-keyspace-events", keyspaceFlags).Err(); err != nil {
		return d.wrap(err, "config set notify-keyspace-events", keyspaceFlags)
	}
	return nil
}
