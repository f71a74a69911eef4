package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"tamtam/device"
	"tamtam/internal/command"
	"tamtam/swss"
)

// A redisFlags holds the address of Redis and the login. Every command that needs Redis has these flags.
type redisFlags struct{ addr, database, user, passwordFile string }

func (p *redisFlags) flags(c *cobra.Command, addr, usage string) {
	f := c.Flags()
	f.StringVar(&p.addr, "redis", addr, usage)
	f.StringVar(&p.database, "database-config", "", "`FILE`, a SONiC database_config.json, instead of --redis")
	f.StringVar(&p.user, "redis-user", "", "ACL user of Redis (default: the default user of Redis)")
	f.StringVar(&p.passwordFile, "redis-password-file", "", "`FILE` whose first line is the password for Redis")
}

// usualRedis is the default address of Redis.
const usualRedis = "127.0.0.1:6379"

// usual adds the flags of a command that needs a Redis which other processes reach.
func (p *redisFlags) usual(c *cobra.Command) { p.flags(c, usualRedis, "HOST:PORT or unix:PATH") }

// config returns the configuration of the databases, from the flags.
func (p *redisFlags) config() (cfg swss.Config, err error) {
	if p.database != "" {
		cfg, err = swss.LoadConfig(p.database)
	} else if cfg, err = swss.DefaultConfig(p.addr); err != nil {
		err = command.Usage(err)
	}
	if err != nil || p.user == "" && p.passwordFile == "" {
		return cfg, err
	}
	if p.passwordFile == "" {
		return cfg, usagef("--redis-user %s: want its password, too: --redis-password-file", p.user)
	}
	return cfg.Login(p.user, p.passwordFile)
}

// open connects, and waits until Redis is up.
func (p *redisFlags) open(cmd *cobra.Command) (*swss.Redis, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	return device.WaitRedis(cmd.Context(), cfg, logger(cmd))
}

// openNow connects to a Redis that may be embedded, without waiting.
func (p *redisFlags) openNow(ctx context.Context) (*swss.Redis, error) {
	if p.embedded() {
		return swss.Open(ctx, p.addr)
	}
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	return swss.Connect(ctx, cfg)
}

// embedded reports whether Redis runs in this process.
func (p *redisFlags) embedded() bool { return p.database == "" && swss.IsEmbedded(p.addr) }

// A localFlags finds the Redis of a switch that `tamtam up` runs on this machine, unless flags give an address.
type localFlags struct {
	redisFlags
	data string
}

// flags adds the flags of a command. It hides those of redisFlags, since the default is a local switch.
func (p *localFlags) flags(c *cobra.Command) {
	p.redisFlags.flags(c, usualRedis, "HOST:PORT or unix:PATH; without it, that of the tamtam up with this --data")
	c.Flags().StringVar(&p.data, "data", device.DataDir(), "data directory of the running tamtam up")
}

// find returns the switch of `tamtam up` in the data directory, and uses its Redis. It returns false if there is none,
// or if flags give the addresses. It returns an error if --data was given and neither up nor mgmtd runs there: another
// switch must not be taken for it.
func (p *localFlags) find(given func(flag string) bool) (local device.Local, ok bool, err error) {
	if given("redis") || given("database-config") || given("gnmi") {
		return local, false, nil
	}
	if local, ok = device.FindLocal(p.data); ok {
		p.addr = local.Redis
	}
	if ok || !given("data") {
		return local, ok, nil
	}
	conn, err := net.DialTimeout("unix", device.SocketPath(p.data), time.Second)
	if err != nil {
		return local, false, fmt.Errorf("--data %s: no switch runs there; want the directory of `tamtam up --data`, or "+
			"--redis HOST:PORT", p.data)
	}
	return local, false, conn.Close()
}

// open connects to the Redis of a local switch, or to that of the flags.
func (p *localFlags) open(cmd *cobra.Command) (*swss.Redis, error) {
	if _, _, err := p.find(cmd.Flags().Changed); err != nil {
		return nil, err
	}
	return p.redisFlags.open(cmd)
}
