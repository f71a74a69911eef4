package lacpd

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/schema"
)

func (s *side) remove(table, key string) {
	s.b.Helper()
	if err := swss.NewTable(s.redis.DB(swss.ConfigDB), table).Del(s.b.Context(), key); err != nil {
		s.b.Fatal(err)
	}
}

// renewals are changes that replace the negotiated member by another one, though in the end the configuration is as
// before.
var renewals = []struct {
	name   string
	change func(s *side)
	back   func(s *side)
}{
	{"the PortChannel is made anew",
		func(s *side) { s.remove(schema.CfgPortChannel, "PortChannel1") },
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up") }},
	{"the member is",
		func(s *side) { s.remove(schema.CfgPortChannelMbr, "PortChannel1|Ethernet0") },
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel1|Ethernet0", "NULL=NULL") }},
	{"all is",
		func(s *side) {
			s.remove(schema.CfgPortChannelMbr, "PortChannel1|Ethernet0")
			s.remove(schema.CfgPortChannelMbr, "PortChannel1|Ethernet4")
			s.remove(schema.CfgPortChannel, "PortChannel1")
		},
		func(s *side) {
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up")
			s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel1|Ethernet0", "NULL=NULL")
			s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel1|Ethernet4", "NULL=NULL")
		}},
	{"it is in another PortChannel meanwhile",
		func(s *side) {
			s.remove(schema.CfgPortChannelMbr, "PortChannel1|Ethernet0")
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel2", "admin_status=up")
			s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel2|Ethernet0", "NULL=NULL")
		},
		func(s *side) {
			s.remove(schema.CfgPortChannelMbr, "PortChannel2|Ethernet0")
			s.remove(schema.CfgPortChannel, "PortChannel2")
			s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel1|Ethernet0", "NULL=NULL")
		}},
	{"another key",
		func(s *side) {
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up lacp_key=12")
		},
		func(s *side) {
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up lacp_key=auto")
		}},
	{"another system_mac",
		func(s *side) {
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up system_mac=02:00:00:00:00:99")
		},
		func(s *side) {
			s.remove(schema.CfgPortChannel, "PortChannel1")
			s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up")
		}},
	{"static",
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "static=true") },
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "static=false") }},
	{"set down",
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=down") },
		func(s *side) { s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "admin_status=up") }},
	{"the feature is off",
		func(s *side) { s.set(swss.ConfigDB, schema.CfgFeature, "teamd", "state=disabled") },
		func(s *side) { s.set(swss.ConfigDB, schema.CfgFeature, "teamd", "state=enabled") }},
}

// carries returns what was last put into force for Ethernet0.
func (s *side) carries() string {
	for i := len(s.asic) - 1; i >= 0; i-- {
		if does, ok := strings.CutPrefix(s.asic[i], "Ethernet0 "); ok {
			return does
		}
	}
	return ""
}

// LACP's state of a member is void once the member was created again, even if no daemon runs LACP that could withdraw
// it: the member carries no traffic until it is negotiated.
func TestMadeAnewWhileLACPIsDead(t *testing.T) {
	for _, tt := range renewals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "admin_status=up")
			b.pass(4 * time.Second)
			b.want("after 4 s", bothUp)
			s := b.all[0]
			s.kill()
			s.asic = nil
			for _, do := range []func(*side){tt.change, tt.back} {
				do(s)
				b.step()
			}
			if is := s.row(swss.ApplDB, schema.AppLAGMember, "PortChannel1:Ethernet0"); s.carries() != schema.OperDown ||
				is["status"] != schema.MemberDisabled || is[schema.FieldCollecting] != "" {
				t.Errorf("it was put into force %q; the row is %v", s.asic, is)
			}
			s.start()
			b.pass(4 * time.Second)
			b.want("LACP is back", bothUp)
			if got := strings.Join(s.asic[len(s.asic)-4:], ", "); !strings.Contains(got, "Ethernet0 collecting") ||
				s.carries() != schema.OperUp {
				t.Errorf("it was put into force %q", s.asic)
			}
		})
	}
}

// killer makes every Redis command fail after a number of them, as for a daemon that is killed there.
type killer struct {
	armed atomic.Bool
	left  atomic.Int64
}

var errKilled = errors.New("killed")

func (k *killer) dead() bool {
	return k.armed.Load() && k.left.Add(-1) < 0
}

func (k *killer) DialHook(next redis.DialHook) redis.DialHook { return next }
func (k *killer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if k.dead() {
			c.SetErr(errKilled)
			return errKilled
		}
		return next(ctx, c)
	}
}

func (k *killer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if k.dead() {
			for _, c := range cmds {
				c.SetErr(errKilled)
			}
			return errKilled
		}
		return next(ctx, cmds)
	}
}

// stepKilled runs tammgrd until it is killed after n Redis commands. It returns false if fewer were needed.
func (s *side) stepKilled(k *killer, n int64) bool {
	k.left.Store(n)
	k.armed.Store(true)
	_, err := s.mgr.Step(s.b.Context(), s.b.now)
	k.armed.Store(false)
	return err != nil
}

// Wherever tammgrd is killed while LACP does not run: once the switch has stopped the traffic of a member, it does not
// resume it before LACP is back.
func TestKilledAnywhereWhileLACPIsDead(t *testing.T) {
	for _, tt := range renewals {
		if tt.name != "all is" && tt.name != "another key" && testing.Short() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "admin_status=up")
			s := b.all[0]
			k := &killer{}
			for _, db := range []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB} {
				s.redis.DB(db).Client().AddHook(k)
			}
			for n, again := int64(0), true; again; n++ {
				b.pass(4 * time.Second)
				b.want("before", bothUp)
				s.kill()
				s.asic = nil
				again = false
				for _, do := range []func(*side){tt.change, tt.back} {
					do(s)
					if s.stepKilled(k, n) {
						again = true
						s.enforce()
						s.manage()
					}
				}
				b.step()
				ceased := false
				for _, what := range s.asic {
					if !strings.HasPrefix(what, "Ethernet0 ") {
						continue
					}
					if does := strings.TrimPrefix(what, "Ethernet0 "); does != schema.OperUp {
						ceased = true
					} else if ceased && tt.name != "static" && tt.name != "the feature is off" {
						t.Fatalf("killed behind %d commands: %q", n, s.asic)
					}
				}
				if is := s.row(swss.ApplDB, schema.AppLAGMember, "PortChannel1:Ethernet0"); ceased &&
					is["status"] != schema.MemberDisabled {
					t.Fatalf("killed behind %d commands: %q, and the row is %v", n, s.asic, is)
				}
				s.start()
			}
		})
	}
}
