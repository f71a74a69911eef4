package chaos

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/device/fault"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// startFaulty starts a liveSwitch that accepts faults, with a configuration and a synchronised clock.
func startFaulty(t *testing.T, config device.ConfigDB) *liveSwitch {
	trusted := altmark.KernelClock{Boot: [2]uint64{1, 2}, Known: true, Synchronised: true, MaxError: time.Microsecond}
	p := bareplant(t)
	p.faults, p.kernel = true, func() altmark.KernelClock { return trusted }
	p.started()
	p.until("all take faults", func() bool {
		accepting, err := fault.Accepting(p.Context(), p.redis)
		return err == nil && len(accepting) == 3
	})
	p.load(config)
	p.until("the session", func() bool { return p.active("s") })
	p.ready()
	return p
}

func (p *liveSwitch) inject(at string, f fault.Fault) {
	p.Helper()
	if _, err := fault.Inject(p.Context(), p.redis, at, f); err != nil {
		p.Fatal(err)
	}
}

// clear ends all faults.
func (p *liveSwitch) clear() {
	p.Helper()
	if _, err := fault.Clear(p.Context(), p.redis); err != nil {
		p.Fatal(err)
	}
}

// injected waits until the health of a daemon and an alarm report an injected fault.
func (p *liveSwitch) injected(name, what string) {
	p.Helper()
	p.unhealthy(name, "faults are injected on purpose: "+what)
	mgmtd := daemons.NewAlarms(p.redis)
	p.until("there is an alarm", func() bool {
		if err := mgmtd.Look(p.Context(), time.Now()); err != nil {
			return false
		}
		alarm := p.row(swss.StateDB, schema.StateAlarm, name+"-fault-injected")
		return strings.Contains(alarm[schema.AlarmText], what) && alarm[schema.AlarmSeverity] == schema.SeverityMajor
	})
}

// hits returns how often the faults of a daemon have been applied.
func (p *liveSwitch) hits(name string) (sum int) {
	reported, _, err := fault.Reported(p.Context(), p.redis)
	if err != nil {
		return 0 // Redis is unusable
	}
	for _, n := range reported {
		if n.At == name {
			sum += n.Hits
		}
	}
	return sum
}

func (p *liveSwitch) status(session string) swss.FieldValues {
	return p.row(swss.StateDB, schema.StateTAMTailStamp, session)
}

// An injected SAI failure is reported as the session's reason. Rows that are configured later are applied.
func TestInjectedSAIFailure(t *testing.T) {
	skipShort(t)
	t.Parallel()
	config := devicetest.Merge(devicetest.TwoPorts(), more("new"))
	p := startFaulty(t, devicetest.TwoPorts())
	p.inject("", fault.Fault{Kind: fault.SAIFail, Op: sai.OpCreate, Type: sai.ObjectTypeACLEntry,
		Status: sai.StatusTableFull, For: time.Hour})
	p.injected("syncd", "SAI create of SAI_OBJECT_TYPE_ACL_ENTRY: SAI_STATUS_TABLE_FULL")
	p.load(more("new"))
	p.until("the reason is told", func() bool {
		row := p.status("new")
		return row["status"] != schema.StatusActive && strings.Contains(row["reason"], "SAI_STATUS_TABLE_FULL")
	})
	p.until("that it was met is told", func() bool { return p.hits("syncd") > 0 })
	p.clear()
	// A failed row stays failed until it is written again.
	p.redis.DB(swss.ConfigDB).Client().Del(t.Context(), schema.CfgTAMTailStamp+"|new")
	p.until("the session is gone", func() bool { return p.status("new")["status"] == "" })
	p.load(config)
	p.until("the session", func() bool { return p.active("new") && p.active("s") })
	p.ready()
	p.same(config)
}

// An injected SAI delay delays only what waits for the call.
func TestInjectedSAIDelay(t *testing.T) {
	skipShort(t)
	t.Parallel()
	config := devicetest.Merge(devicetest.TwoPorts(), more("new"))
	p := startFaulty(t, devicetest.TwoPorts())
	const late = time.Second
	p.inject("", fault.Fault{Kind: fault.SAIDelay, Op: sai.OpCreate, Type: sai.ObjectTypeACLEntry, Delay: late, Count: 1,
		For: time.Hour})
	began := time.Now()
	p.load(config)
	p.until("the session", func() bool { return p.active("new") })
	if took := time.Since(began); took < late {
		t.Errorf("the session was there after %v, want %v or more", took, late)
	}
	p.ready()
	p.same(config)
}

// If notifications are lost or duplicated anywhere, the switch reaches its configuration while the fault lasts.
func TestInjectedNotifications(t *testing.T) {
	t.Parallel()
	skipShort(t)
	for _, at := range fault.At(fault.NotificationsLose) {
		for _, kind := range []fault.Kind{fault.NotificationsLose, fault.NotificationsDouble} {
			t.Run(string(kind)+" at "+at, func(t *testing.T) {
				t.Parallel()
				config := devicetest.Merge(devicetest.TwoPorts(), more("new"))
				config["PORT"]["Ethernet2"] = maps.Clone(config["PORT"]["Ethernet1"])
				config["PORT"]["Ethernet2"]["lanes"] = "2"
				p := startFaulty(t, devicetest.TwoPorts())
				p.inject(at, fault.Fault{Kind: kind, For: time.Hour})
				p.injected(at, "notifications ")
				p.load(config)
				p.until("the session", func() bool { return p.active("new") && p.active("s") })
				p.until("that it was met is told", func() bool { return p.hits(at) > 0 })
				config["PORT"]["Ethernet1"]["admin_status"] = "down"
				p.load(config)
				if at == "orchagent" { // orchagent does not receive a repetition either
					p.until("that it was met is told", func() bool { return p.hits(at) > 2 })
					p.clear()
				}
				p.until("the port's state", func() bool {
					return p.row(swss.ApplDB, "PORT_TABLE", "Ethernet1")["oper_status"] == "down" &&
						p.row(swss.ApplDB, "PORT_TABLE", "Ethernet2")["oper_status"] == "up"
				})
				p.same(config)
				p.clear()
				p.ready()
			})
		}
	}
}

// After an injected fault of Redis ends, the switch reaches its configuration.
func TestInjectedRedis(t *testing.T) {
	t.Parallel()
	skipShort(t)
	for _, tt := range []struct {
		name   string
		f      fault.Fault
		fresh  bool
		during func(p *liveSwitch)
	}{
		{"paused", fault.Fault{Kind: fault.RedisPause, For: 3 * time.Second}, false, func(*liveSwitch) {}},
		{"slow", fault.Fault{Kind: fault.RedisSlow, Delay: time.Second / 5, For: time.Hour}, false, func(p *liveSwitch) {
			p.injected("syncd", "Redis answers up to 200ms late")
			p.load(more("slow"))
			p.until("the session", func() bool { return p.active("slow") })
			p.clear()
		}},
		{"full", fault.Fault{Kind: fault.RedisFull, For: time.Hour}, false, func(p *liveSwitch) {
			p.unhealthy("orchagent", "Redis is full, until")
			p.clear()
		}},
		{"CONFIG_DB emptied", fault.Fault{Kind: fault.RedisEmpty, DB: swss.ConfigDB}, false, func(*liveSwitch) {}},
		{"all emptied", fault.Fault{Kind: fault.RedisEmpty, DB: fault.AllDBs}, true, func(p *liveSwitch) {
			p.unhealthy("tammgrd", "CONFIG_DB is empty")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startFaulty(t, devicetest.TwoPorts())
			p.inject("", tt.f)
			tt.during(p)
			config := devicetest.Merge(devicetest.TwoPorts(), more("new"))
			if tt.f.Kind == fault.RedisSlow {
				config = devicetest.Merge(config, more("slow"))
			}
			p.load(config)
			p.until("the session", func() bool { return p.active("new") && p.active("s") })
			p.ready()
			p.same(config)
			if n := p.chips.Load(); n > 1 != tt.fresh {
				t.Errorf("syncd has had %d chips; it needed a fresh one: %t", n, tt.fresh)
			}
		})
	}
}

// A stepped clock is never trusted: each period has a flag as long as the fault lasts.
func TestInjectedClockStep(t *testing.T) {
	t.Parallel()
	skipShort(t)
	config := devicetest.Merge(devicetest.TwoPorts(), device.ConfigDB{
		schema.CfgTAMFeature: {schema.FeatureAltMark: {"status": "ACTIVE"}},
		schema.CfgTAMAltMark: {"a": {"flowgroup": "all", "role": "initiator", "method": "muxed", "interval": "0",
			"mark": "dscp0"}},
	})
	for _, tt := range []struct {
		of    string
		says  string // expected report on the chip's clock; "" means that it is not trusted
		steps bool
	}{
		{fault.ChipClock, "", true},
		{fault.HostClock, "the kernel's clock was set: the chip's is ", false},
	} {
		t.Run(tt.of, func(t *testing.T) {
			t.Parallel()
			p := startFaulty(t, config)
			period := func() (number uint64, flags, clock string) {
				c, err := schema.ParseAltMarkCounters("a", p.row(swss.CountersDB, schema.CountersAltMark, "a"))
				if err != nil || !c.Has {
					return 0, "none", ""
				}
				return c.Period.Number, c.Period.Flags.String(), c.Period.Clock.Says
			}
			good := func() bool {
				_, flags, clock := period()
				return flags == "" && strings.HasPrefix(clock, "the kernel's clock has a maximum error of")
			}
			p.until("a good period", good)
			// The clock steps forward, so that periods have new numbers.
			p.inject("", fault.Fault{Kind: fault.ClockStep, Of: tt.of, Step: 2 * time.Second, For: time.Hour})
			p.injected("syncd", "the clock of the "+tt.of+" is set by +2s")
			stepped := func() bool {
				for _, past := range p.row(swss.CountersDB, schema.CountersAltMarkPast, "a") {
					if strings.Contains(past, "clock-step") {
						return true
					}
				}
				return false
			}
			seen, steps := map[uint64]bool{}, false
			p.until("five periods during the fault", func() bool {
				steps = steps || stepped() // only the most recent periods are kept
				number, flags, clock := period()
				switch {
				case strings.Contains(flags, "unsynchronised") && strings.HasPrefix(clock, tt.says):
					seen[number] = true
				case len(seen) > 0 && flags != "none":
					t.Errorf("period %d has the flags %q, and of the clock %q", number, flags, clock)
					return true
				}
				return len(seen) >= 5
			})
			if steps != tt.steps {
				t.Errorf("a period is flagged clock-step: %t, want %t", steps, tt.steps)
			}
			p.clear()
			p.until("a good period", good)
			p.ready()
		})
	}
}

// A daemon without --allow-faults accepts no faults, and continues. Faults end with the process that injects them,
// including faults of Redis.
func TestFaultsNeedLeaveAndEndWithTheDaemon(t *testing.T) {
	skipShort(t)
	t.Parallel()
	p := startFaulty(t, devicetest.TwoPorts())
	p.inject("", fault.Fault{Kind: fault.RedisFull, For: time.Hour})
	p.stops["syncd"]()
	p.faults = false
	p.stops["syncd"] = p.start("syncd")
	p.ready()
	for _, f := range []fault.Fault{{Kind: fault.SAIFail}, {Kind: fault.ClockStep, Step: time.Second}} {
		if _, err := fault.Inject(t.Context(), p.redis, "", f); !errors.Is(err, fault.ErrRefused) ||
			!strings.Contains(err.Error(), "(syncd: started without --allow-faults)") {
			t.Error(err)
		}
	}
	if reported, unread, err := fault.Reported(t.Context(), p.redis); err != nil || len(reported)+len(unread) > 0 {
		t.Errorf("%+v, %v, %v", reported, unread, err)
	}
	p.same(devicetest.TwoPorts())
}

func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
}
