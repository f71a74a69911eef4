package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/swss"
)

// leastRedis is the oldest version whose scripts may write after a pop, as those of ProducerState do.
const leastRedis = 5

// nearlyFull is the share of a limit, between 0 and 1, above which the doctor warns.
const nearlyFull = 0.9

// maxSkew is the largest accepted difference between the clocks of Redis' machine and of this machine.
const maxSkew = time.Second

func redisChecks() []check {
	return []check{
		{"Redis", false, reach},
		{"Redis version", true, redisVersion},
		{"keyspace events", true, keyspaceEvents},
		{"Redis role", true, role},
		{"persistence", true, persistence},
		{"memory of Redis", true, memory},
		{"clients of Redis", true, clients},
		{"number of databases", true, databases},
		{"clock", true, clock},
	}
}

// reach checks that the server answers, and reads its information.
func reach(ctx context.Context, p *installation) answer {
	d := p.r.DB(swss.ConfigDB)
	start := time.Now()
	if err := d.Ping(ctx); swss.WantsLogin(err) {
		return fail("--redis-user and --redis-password-file, or username and password_path in database_config.json, "+
			"for the daemons too", "at %s: %s", p.r.Addr(), swss.Why(err))
	} else if err != nil {
		return fail("start Redis, or give its address with --redis", "at %s: %s", p.r.Addr(), swss.Why(err))
	}
	took := time.Since(start)
	p.info = map[string]string{}
	if text, err := d.Client().Info(ctx).Result(); err == nil {
		p.info = parseInfo(text)
	}
	if conf, err := d.Client().ConfigGet(ctx, "*").Result(); err == nil {
		p.conf = conf
	}
	return well("at %s, answers in %v", p.r.Addr(), took.Round(10*time.Microsecond))
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// notSaid returns the result for information that the server does not provide. The server that is embedded in tamtam up
// lacks some, which is right there.
func (p *installation) notSaid(what string) answer {
	if p.embedded() {
		return well("Redis is embedded in process %d: it has no %s of its own", p.Local.PID, what)
	}
	return unknown("the server does not report its %s", what)
}

// embedded reports whether the Redis is that of a switch in one process.
func (p *installation) embedded() bool { return p.Local != nil && p.Local.Embedded }

func (p *installation) number(of map[string]string, name string) (uint64, bool) {
	n, err := strconv.ParseUint(of[name], 10, 64)
	return n, err == nil
}

func redisVersion(_ context.Context, p *installation) answer {
	v := p.info["redis_version"]
	major, _, _ := strings.Cut(v, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil:
		return p.notSaid("version")
	case n < leastRedis:
		return fail(fmt.Sprintf("install Redis %d or newer", leastRedis),
			"%s is too old: its scripts may not write after they have popped", v)
	}
	return well("%s", v)
}

func keyspaceEvents(_ context.Context, p *installation) answer {
	flags, said := p.conf["notify-keyspace-events"]
	if !said {
		return p.notSaid("notify-keyspace-events")
	}
	has := func(class string) bool { return strings.Contains(flags, class) }
	if has("K") && (has("A") || has("g") && has("h")) {
		return well("%s", flags)
	}
	return fail("redis-cli config set notify-keyspace-events AKE, and the same in redis.conf",
		"notify-keyspace-events is %q: changes of CONFIG_DB go unnoticed", flags)
}

func role(_ context.Context, p *installation) answer {
	switch r := p.info["role"]; r {
	case "":
		return p.notSaid("role")
	case "master":
		return well("master")
	default:
		return fail("redis-cli replicaof no one, or give the master's address with --redis",
			"%s of %s:%s, link %s: it takes no writes, or loses them", r, p.info["master_host"],
			p.info["master_port"], p.info["master_link_status"])
	}
}

func persistence(_ context.Context, p *installation) answer {
	aof, said := p.info["aof_enabled"]
	if !said && p.embedded() {
		return well("Redis is embedded in process %d: `write memory` and --keep keep CONFIG_DB", p.Local.PID)
	}
	if !said {
		return p.notSaid("persistence")
	}
	space := "see the log of Redis, the free space and the permissions of its directory " + p.conf["dir"]
	for _, status := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if s := p.info[status]; s != "ok" && s != "" {
			return fail(space, "%s is %q", status, s)
		}
	}
	if aof == "1" {
		if sync := p.conf["appendfsync"]; sync == "no" {
			return warn("redis-cli config set appendfsync everysec", "append-only file, written when the system likes")
		}
		return well("append-only file, appendfsync %s", orUnknown(p.conf["appendfsync"]))
	}
	save, said := p.conf["save"]
	const keep = "redis-cli config set appendonly yes, and the same in redis.conf"
	switch {
	case !said:
		return p.notSaid("setting of save")
	case save == "":
		return warn(keep, "nothing is kept: a restart of Redis is an empty CONFIG_DB")
	}
	last, ok := p.number(p.info, "rdb_last_save_time")
	when := "never"
	if ok && last > 0 {
		when = time.Unix(int64(last), 0).UTC().Format(time.RFC3339)
	}
	return warn(keep, "snapshots only (save %s), the last %s: %s changes since would be lost", save, when,
		orUnknown(p.info["rdb_changes_since_last_save"]))
}

func orUnknown(s string) string {
	if s == "" {
		return "(not known)"
	}
	return s
}

func memory(_ context.Context, p *installation) answer {
	used, ok := p.number(p.info, "used_memory")
	limit, limited := p.number(p.conf, "maxmemory")
	policy, evicted := p.conf["maxmemory-policy"], p.info["evicted_keys"]
	const grow = "raise maxmemory, or find the large keys: redis-cli --bigkeys"
	switch {
	case !ok || !limited || policy == "":
		return p.notSaid("memory")
	case evicted != "" && evicted != "0":
		return fail("redis-cli config set maxmemory-policy noeviction; then restart the daemons",
			"%s keys were evicted: rows are lost", evicted)
	case limit == 0:
		return well("%d MiB used, no limit", used>>20)
	case policy != "noeviction":
		return fail("redis-cli config set maxmemory-policy noeviction",
			"maxmemory is %d MiB and maxmemory-policy %s: rows would be lost", limit>>20, policy)
	case used >= limit:
		return fail(grow, "%d of %d KiB used: Redis takes no writes", used>>10, limit>>10)
	case float64(used) > nearlyFull*float64(limit):
		return warn(grow, "%d of %d KiB used", used>>10, limit>>10)
	}
	return well("%d of %d MiB used, noeviction", used>>20, limit>>20)
}

func clients(_ context.Context, p *installation) answer {
	n, ok := p.number(p.info, "connected_clients")
	most, limited := p.number(p.conf, "maxclients")
	rejected, counted := p.number(p.info, "rejected_connections")
	const raise = "redis-cli config set maxclients, or find the clients: redis-cli client list"
	switch {
	case !ok || !limited || !counted:
		return p.notSaid("clients")
	case rejected > 0:
		return warn(raise, "%d connections were rejected since Redis began; now %d of %d", rejected, n, most)
	case float64(n) > nearlyFull*float64(most):
		return warn(raise, "%d of %d", n, most)
	}
	return well("%d of %d", n, most)
}

// used lists the databases that the daemons work on.
var used = []swss.DBName{
	swss.ApplDB, swss.ASICDB, swss.CountersDB, swss.ConfigDB, swss.FlexCounterDB, swss.StateDB,
}

func databases(ctx context.Context, p *installation) answer {
	for _, name := range used {
		d := p.r.DB(name)
		if _, err := d.Client().DBSize(ctx).Result(); err != nil {
			return fail("databases in redis.conf must be at least 16, and database_config.json must have their places",
				"%s, number %d: %s", name, d.ID(), swss.Why(err))
		}
	}
	return well("all %d that are used are there", len(used))
}

func clock(ctx context.Context, p *installation) answer {
	before := p.Now()
	there, err := p.r.DB(swss.StateDB).Client().Time(ctx).Result()
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	took := p.Now().Sub(before)
	skew := there.Sub(before.Add(took / 2))
	if skew.Abs() > maxSkew+took {
		return warn("run a time service (NTP, PTP) on both",
			"Redis' clock is %v from this machine's: times in STATE_DB mislead", skew.Round(time.Millisecond))
	}
	return well("Redis' is that of this machine, within %v", max(skew.Abs(), took).Round(time.Microsecond))
}
