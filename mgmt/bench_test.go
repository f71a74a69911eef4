package mgmt

import (
	"context"
	"fmt"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// manySessions is how many sessions the large cases have.
const manySessions = 10000

// fill writes the rows of a switch with n active sessions.
func fill(b testing.TB, r *swss.Redis, n int) {
	b.Helper()
	tables := map[swss.DBName]map[string]map[string]swss.FieldValues{}
	put := func(db swss.DBName, table, key string, fv swss.FieldValues) {
		if tables[db] == nil {
			tables[db] = map[string]map[string]swss.FieldValues{}
		}
		if tables[db][table] == nil {
			tables[db][table] = map[string]swss.FieldValues{}
		}
		tables[db][table][key] = fv
	}
	rules := swss.FieldValues{}
	for i := range n {
		f, s, oid := fmt.Sprintf("f%d", i), fmt.Sprintf("s%d", i), fmt.Sprintf("oid:0x9%012x", i)
		rule := swss.FieldValues{"PRIORITY": "100", "SRC_IP": "10.0.0.0/8", "DST_IP": "10.1.2.3",
			"L4_DST_PORT": fmt.Sprint(i)}
		state := swss.FieldValues{"status": "active", "reason": "", "since": "2026-01-02T03:04:05Z", "by": "orchagent"}
		put(swss.ConfigDB, "TAM_FLOWGROUP_TABLE", f, swss.FieldValues{"id": fmt.Sprint(i + 1), "table-name": "TAM"})
		put(swss.ConfigDB, "ACL_RULE", "TAM|"+f, rule)
		put(swss.ApplDB, "ACL_RULE_TABLE", "TAM:"+f, rule)
		put(swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", s, swss.FieldValues{"flowgroup": f})
		put(swss.ApplDB, "TAM_TAILSTAMPING_TABLE", s, swss.FieldValues{"acl-table-name": "TAM", "acl-rule-name": f})
		put(swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE", f, state)
		put(swss.StateDB, "TAM_STATE_TAILSTAMPING_TABLE", s, state)
		put(swss.CountersDB, "TAM_TAILSTAMPING_COUNTERS", s, swss.FieldValues{"MATCHED_PACKETS": "1", "MATCHED_BYTES": "64",
			"STAMPED_PACKETS":         "1",
			"NOT_STAMPED_NOT_TCP_UDP": "0", "NOT_STAMPED_NOT_ETHERNET_II": "0", "NOT_STAMPED_CUT": "0", "NOT_STAMPED_MTU": "0"})
		put(swss.CountersDB, "COUNTERS", oid, swss.FieldValues{rulePackets: "1", ruleOctets: "64"})
		rules["TAM:"+f] = oid
	}
	ctx := context.Background()
	for db, ts := range tables {
		for table, rows := range ts {
			if err := swss.NewTable(r.DB(db), table).SetMany(ctx, rows); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := swss.NewTable(r.DB(swss.CountersDB), "ACL_COUNTER_RULE_MAP").Set(ctx, "", rules); err != nil {
		b.Fatal(err)
	}
}

// onBoth runs a benchmark on the embedded and on a real Redis.
func onBoth(b *testing.B, f func(*testing.B, *Server)) {
	for name, open := range map[string]func(*testing.B) *swss.Redis{
		"embedded": func(b *testing.B) *swss.Redis { return swsstest.Start(b) },
		"redis": func(b *testing.B) *swss.Redis {
			r, err := swss.Open(b.Context(), swsstest.StartServer(b).Addr)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { r.Close() })
			return r
		},
	} {
		b.Run(name, func(b *testing.B) {
			r := open(b)
			fill(b, r, manySessions)
			s, err := NewServer(Config{Redis: r})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(s.Close)
			f(b, s)
		})
	}
}

func BenchmarkGet(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Server) {
		for _, p := range []string{
			sessions + "/tailstamping-session[name=s77]", flowgroups + "/flowgroup/config/id", "/tallies", "/",
		} {
			for _, enc := range []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO} {
				b.Run(p+" "+enc.String(), func(b *testing.B) {
					for b.Loop() {
						if _, err := s.Get(b.Context(), &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: enc}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	})
}

func BenchmarkSet(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Server) {
		set := func(b *testing.B, req *gpb.SetRequest) {
			if _, err := s.Set(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("one", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				set(b, &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+
					"/flowgroup[name=f7]/transport/config/destination-port", fmt.Sprint(i%65535))}})
			}
		})
		b.Run("add and remove a flow group", func(b *testing.B) {
			for b.Loop() {
				set(b, &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=x]/config", `{"id":1000000}`)}})
				set(b, &gpb.SetRequest{Delete: []*gpb.Path{path(flowgroups + "/flowgroup[name=x]")}})
			}
		})
		b.Run("10,000 sessions", func(b *testing.B) {
			req := &gpb.SetRequest{}
			for i := range manySessions {
				req.Update = append(req.Update,
					update(fmt.Sprintf("%s/flowgroup[name=g%d]", flowgroups, i),
						`{"config":{"priority":7},"ipv4":{"config":{"source-address":"10.0.0.1/32"}}}`),
					update(fmt.Sprintf("%s/tailstamping-session[name=t%d]/config/flowgroup", sessions, i), fmt.Sprintf(`"g%d"`, i)))
			}
			for b.Loop() {
				set(b, req)
			}
		})
	})
}
