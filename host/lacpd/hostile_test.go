package lacpd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/host/lacp"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// said returns the next LACPDU of the other side at Ethernet0.
func (b *bench) said() []byte {
	b.Helper()
	for range 40 {
		b.now = b.now.Add(time.Second)
		b.all[1].stepOne(b.all[1].d)
		sent := b.all[1].sent
		b.all[1].sent = nil
		for _, f := range sent {
			if f.Port == "Ethernet0" {
				return f.Data
			}
		}
	}
	b.Fatal("it says nothing")
	return nil
}

// A partner floods LACPDUs with random systems, keys or other contents. Rows change ten times a second at most, no port
// sends more than the standard allows, and the other link is not affected.
func TestFlood(t *testing.T) {
	b := newBench(t, "admin_status=up fast_rate=true")
	b.pass(4 * time.Second)
	b.want("in the beginning", bothUp)
	s := b.all[0]
	frame := b.said()
	b.pass(2 * time.Second)
	s.sent, s.asic = nil, nil
	changes, last := 0, ""
	for i := range 1000 {
		switch i % 3 {
		case 0:
			frame[20], frame[21] = byte(i>>8), byte(i) // bytes of the actor's system
		case 1:
			frame[26]++ // byte of the actor's key
		default:
			frame[32] ^= byte(i) // the actor's state
		}
		if err := s.d.Do(t.Context(), func() { s.lacp.Receive("Ethernet0", frame) }); err != nil {
			t.Fatal(err)
		}
		s.stepOne(s.d)
		if is := fmt.Sprint(s.row(swss.StateDB, schema.StateLACPMember, "PortChannel1|Ethernet0")); is != last {
			changes, last = changes+1, is
		}
	}
	if changes > 11 || len(s.sent) > 4 {
		t.Errorf("1000 LACPDUs changed the row %d times and had %d sent", changes, len(s.sent))
	}
	if n := len(s.lacp.rows[schema.AppLAGMember]); n != 2 {
		t.Errorf("there are %d members", n)
	}
	if got := s.members(); !strings.HasSuffix(got, "Ethernet4 distributing") {
		t.Errorf("the other link: %s", got)
	}
	b.pass(time.Second)
	if c := s.row(swss.CountersDB, schema.CountersLACP, "PortChannel1:Ethernet0"); c["discarded-lacpdu-limit"] < "9" {
		t.Errorf("counted %v", c)
	}
	b.pass(10 * time.Second)
	b.want("it has ended", bothUp)
}

// Rows of LACP that another client writes are corrected: no member carries traffic without negotiation, and a
// PortChannel that does not exist has no row.
func TestForgedRows(t *testing.T) {
	b := newBench(t, "admin_status=up")
	s := b.all[0]
	for _, side := range b.all {
		side.up("Ethernet4", "down")
	}
	b.pass(4 * time.Second)
	const want = "Ethernet0 distributing; Ethernet4 detached the port is down"
	b.want("in the beginning", want)
	s.asic = nil
	is := s.row(swss.ApplDB, schema.AppLAGMember, "PortChannel1:Ethernet4")[schema.FieldIncarnation]
	for _, forged := range []struct{ table, key, row string }{
		{schema.StateLACPMember, "PortChannel1|Ethernet4", "mux=distributing incarnation=" + is},
		{schema.StateLACPMember, "PortChannel1|Ethernet0", "mux=detached"},
		{schema.StateLACPMember, "PortChannel1|Ethernet0", "extra=field"},
		{schema.StateLACPMember, "PortChannel1|Ethernet8", "mux=distributing"},
		{schema.StateLACPMember, "PortChannel1", "mux=distributing"},
		{schema.StateLACPMember, "x|y|z", "mux="},
		{schema.StateLACP, "PortChannel9", "links=7"},
		{schema.StateLACP, "PortChannel1", "links=7 partner=x incarnation=9223372036854775807/11"},
	} {
		s.set(swss.StateDB, forged.table, forged.key, forged.row)
		b.step()
		b.want(fmt.Sprint("forged ", forged), want)
		if row := s.row(swss.StateDB, schema.StateLACP, "PortChannel1"); row["links"] != "1" ||
			len(s.row(swss.StateDB, schema.StateLACP, "PortChannel9")) > 0 {
			t.Errorf("forged %v: the PortChannel is %v", forged, row)
		}
	}
	if err := swss.NewTable(s.redis.DB(swss.StateDB), schema.StateLACPMember).Del(t.Context(),
		"PortChannel1|Ethernet0"); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.want("a row is gone", want)
	for port, does := range map[string]string{"Ethernet0": schema.OperUp, "Ethernet4": schema.OperDown} {
		for _, what := range slices.Backward(s.asic) {
			if !strings.HasPrefix(what, port) {
				continue
			}
			if !strings.HasSuffix(what, does) {
				t.Errorf("%s: put into force %q", port, s.asic)
			}
			break
		}
	}
}

// Whatever the rows contain from which LACP continues, it does not stop, reports only existing members, and recovers
// when the rows are right.
func TestHostileRows(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 6, Short: 2}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		value := func() string {
			return pick("", "0", "1", "-1", "65535", "65536", "99999999999999999999999", "true", "TRUE", "auto", "x", "\x00\xff",
				strings.Repeat("9", 5000), "02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "1/11", "18446744073709551615/11", "/",
				"2/11/02:00:00:00:00:01",
				"distributing", "collecting", "current", "up", "down", "unknown", "lacp", "enabled")
		}
		fields := func(names ...string) swss.FieldValues {
			f := swss.FieldValues{}
			for range 1 + rng.IntN(6) {
				f[pick(names...)] = value()
			}
			return f
		}
		var info []string
		for _, what := range []string{"system", "system_priority", "key", "port", "port_priority", "state"} {
			info = append(info, "runner.partner_lacpdu_info."+what)
		}
		b := newBench(t, "admin_status=up")
		s := b.all[0]
		for range 10 {
			lag := pick("PortChannel1", "PortChannel2", "PortChannel-1", "PortChannel99999", "x", "PortChannel0001")
			port := pick("Ethernet0", "Ethernet4", "Ethernet65535", "Ethernet99999999999", "Ethernet-4", "eth",
				"Ethernet0:Ethernet4")
			put := func(db swss.DBName, table, key string, row swss.FieldValues) {
				if err := swss.NewTable(s.redis.DB(db), table).Set(t.Context(), key, row); err != nil {
					t.Fatal(err)
				}
			}
			switch rng.IntN(8) {
			case 0:
				put(swss.ConfigDB, schema.CfgPortChannel, lag, fields("min_links", "fallback", "fast_rate", "lacp_key", "static",
					"system_mac", "mtu", "protocol", "incarnation"))
			case 1:
				put(swss.ConfigDB, schema.CfgPortChannelMbr, lag+"|"+port, fields("status", "collecting", "incarnation", "alias"))
			case 2:
				put(swss.ApplDB, schema.AppLAG, lag, fields("min_links", "fallback", "fast_rate", "lacp_key", "static", "protocol",
					"incarnation", "system_mac"))
			case 3:
				put(swss.ApplDB, schema.AppLAGMember, lag+":"+port, fields("status", "collecting", "incarnation", "oper_status"))
			case 4:
				put(swss.StateDB, schema.StateLACP, lag, fields("links", "reason", "incarnation", "partner"))
			case 5, 6:
				put(swss.StateDB, schema.StateLACPMember, lag+"|"+port, fields(
					append(info, "mux", "incarnation", "fallback", "runner.state")...))
			default:
				put(swss.ApplDB, schema.AppPort, port, fields("oper_status", "speed", "lanes"))
			}
			if rng.IntN(3) == 0 {
				s.start()
			}
			if rng.IntN(3) == 0 {
				s.manage()
			}
			b.pass(time.Second)
		}
		for _, db := range []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB} {
			if err := s.redis.DB(db).Client().FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		s.configure("admin_status=up")
		s.manage()
		s.start()
		b.pass(100 * time.Second) // the other side may still wait for its timeout
		b.want("all is well again", bothUp)
	})
}

// FuzzBefore checks that accepted rows of an earlier agent equal those that would be written.
func FuzzBefore(f *testing.F) {
	f.Add("distributing", "02:00:00:00:00:02", "65535", "61", "current")
	f.Add("collecting", "ff:ff:ff:ff:ff:ff", "-1", "256", "current")
	f.Fuzz(func(t *testing.T, mux, system, number, state, receiver string) {
		const at = "runner.partner_lacpdu_info."
		b, ok := beforeOf(swss.FieldValues{
			schema.FieldMux: mux, "runner.state": receiver, at + "system": system, at + "state": state,
			at + "system_priority": number, at + "key": number, at + "port": number, at + "port_priority": number,
		})
		if !ok {
			return
		}
		row := memberRow(lacp.Status{Mux: b.Mux, Partner: b.Partner, Receiver: lacp.ReceiverCurrent})
		if again, ok := beforeOf(row); !ok || *again != *b {
			t.Errorf("%v of %+v is %+v", row, b, again)
		}
	})
}
