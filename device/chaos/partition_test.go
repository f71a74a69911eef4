package chaos

import (
	"testing"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// The network between a daemon and Redis is cut: connections are neither closed nor answered. Other daemons report
// that the daemon is silent, and the consequence. When the network is restored, all recovers without a restart. Then
// a firewall forgets the daemon's connections, which are never closed or answered again. The daemon detects that, and
// opens new ones.
func TestPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := swsstest.StartServer(t)
			proxy := swsstest.StartProxy(t, server.Addr)
			p := startPlantOn(t, server, map[string]*swsstest.Proxy{name: proxy})
			p.stops["mgmtd"] = p.start("mgmtd")
			p.load(devicetest.TwoPorts())
			p.until("the session", func() bool { return p.active("s") })
			p.ready()
			proxy.Part()
			p.load(more("new"))
			p.until("an alarm that nothing is heard of it", func() bool {
				return p.row(swss.StateDB, schema.StateAlarm, name+"-silent")[schema.AlarmText] != ""
			})
			p.unhealthy(name, "has not been heard of")
			if name == "syncd" {
				p.awaitUnknown("syncd ") // the reason continues: syncd is silent, or does not answer
			} else if !p.active("s") {
				t.Error("the session is in doubt, and the ASIC is not")
			}
			if p.active("new") {
				t.Errorf("a session is active that %s cannot have heard of", name)
			}
			proxy.Heal()
			p.until("the new session", func() bool { return p.active("new") && p.active("s") })
			p.ready()
			p.same(devicetest.Merge(devicetest.TwoPorts(), more("new")))
			proxy.Forget()
			p.load(more("forgotten"))
			p.until("the new session", func() bool { return p.active("forgotten") && p.active("s") })
			p.ready()
			p.same(devicetest.Merge(devicetest.TwoPorts(), devicetest.Merge(more("new"), more("forgotten"))))
			if n := p.chips.Load(); n > 1 {
				t.Errorf("syncd has had %d chips", n)
			}
		})
	}
}
