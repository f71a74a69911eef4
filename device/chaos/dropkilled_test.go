package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/host/cpuport"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/ipfix"
)

// dropping makes a chip, whose CPU port is served, drop a frame every 5 ms. Each frame has a higher number than the one
// before.
func dropping(
	r *swss.Redis, hub *cpuport.Hub, c daemons.Common,
) func(ctx context.Context, chip *saisim.Chip, start time.Time) error {
	return func(ctx context.Context, chip *saisim.Chip, start time.Time) error {
		go func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if ctx.Err() != nil {
					return
				}
				frame := append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5}, make([]byte, 50)...)
				binary.BigEndian.PutUint64(frame[14:], uint64(time.Now().UnixNano()))
				if port, ok := chip.PortByName("Ethernet0"); ok {
					chip.SetLink(port, true)
					_ = chip.Receive(port, chip.Now()+1000, saisim.Frame{Data: frame}) // the next frame may succeed
				}
			}
		}()
		return daemons.RunUnwired(ctx, r, chip, start, hub, c)
	}
}

// A dropListener is a collector that receives reports of the frames of dropping.
type dropListener struct {
	mu     sync.Mutex
	newest uint64 // highest number of a reported frame
}

func (l *dropListener) listen(conn *net.UDPConn) {
	d, b := ipfix.NewDecoder(0), make([]byte, 2000)
	for {
		n, err := conn.Read(b)
		if err != nil {
			return // the connection is closed
		}
		_ = d.Message(b[:n], func(r *ipfix.DataRecord) { // an exporter has restarted if the message is inconsistent
			for i, f := range r.Fields {
				if frame := r.Values[i]; f.Name() == "dataLinkFrameSection" && len(frame) >= 22 {
					l.mu.Lock()
					l.newest = max(l.newest, binary.BigEndian.Uint64(frame[14:]))
					l.mu.Unlock()
				}
			}
		})
	}
}

// since reports whether a frame that arrived after t was reported.
func (l *dropListener) since(t time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest > uint64(t.UnixNano())
}

// Each daemon is killed while reports pass through the management interface. If reports do not need the daemon, they
// continue. If they need it, STATE_DB does not report the session as in force. When the daemon is back, all is as it
// was, and counters that had to start again report that.
func TestDropMonitorKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	collector := &dropListener{}
	go collector.listen(conn)
	c := startChaos(t, swsstest.StartServer(t), nil, cpuVariable+"="+filepath.Join(t.TempDir(), "cpu"))
	c.proxies["hostifd"] = c.proxies["tammgrd"]
	t.Cleanup(func() { c.kill("hostifd") })
	c.launch("hostifd")
	config := device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": "02:00:00:00:00:aa"}},
		schema.CfgPort:           {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"}},
		"TAM_COLLECTOR": {"c1": {
			"dst_ip": "127.0.0.1", "dst_port": fmt.Sprint(conn.LocalAddr().(*net.UDPAddr).Port), "vrf": "mgmt",
		}},
		// This configuration has no trap that only a host requires.
		"COPP_GROUP": {"errors": {"queue": "1", "trap_action": "trap", "trap_priority": "1"}},
		"COPP_TRAP": {"errors": {
			"trap_ids": "l3_mtu_error,neighbor_miss,ttl_error", "trap_group": "errors", "always_enabled": "true",
		}},
		"TAM_SESSION": {"drops": {"type": "drop-monitor", "collector": "c1"}},
	}
	c.load(config)
	state := func() string {
		row := c.liveSwitch.row(swss.StateDB, schema.StateTAMDropMonitor, "drops")
		if row["status_detail"] != row["reason"] || row["collectors"] != "c1" || row["drop_stages"] != "ingress,egress,tm" {
			return fmt.Sprint("a row that disagrees: ", row)
		}
		return strings.TrimSpace(row["status"] + " " + row["status_detail"])
	}
	since := func() string {
		return c.liveSwitch.row(swss.CountersDB, schema.CountersDropMonitor, "drops")["COUNTED_SINCE"]
	}
	is := func(what string) func() bool {
		return func() bool { return strings.Contains(state(), what) }
	}
	t.Cleanup(func() {
		if t.Failed() {
			row, _, err := swss.NewTable(c.redis.DB(swss.CountersDB), schema.CountersDropMonitor).Get(
				context.Background(), "drops")
			t.Log("counters: ", row, err)
		}
	})
	c.until("the session", is("active"))
	for _, tt := range []struct {
		name  string
		also  string // a daemon that is killed and started in the meantime; "" means none
		dead  string // the session's status while the daemon is dead; "" means that reports continue
		fresh bool   // whether counters start again
	}{
		{"orchagent", "", "", false}, {"tammgrd", "", "", false},
		{"syncd", "", "unknown the state of the ASIC is unknown", true},
		{"hostifd", "", `inactive collector "c1": the host does not send its reports`, false},
		// A session without effect stays in the ASIC when orchagent restarts.
		{"hostifd", "orchagent", `inactive collector "c1": the host does not send its reports`, false},
	} {
		c.until("counters before "+tt.name, func() bool { return since() != "" && state() == "active" })
		began := since()
		c.kill(tt.name)
		killed := time.Now()
		if tt.dead == "" {
			c.until("reports without "+tt.name, func() bool { return collector.since(killed.Add(time.Second)) })
		} else {
			c.until("without "+tt.name+": "+tt.dead, is(tt.dead))
			if collector.since(killed) {
				t.Errorf("reports without %s", tt.name)
			}
		}
		if tt.also != "" {
			c.kill(tt.also)
			c.launch(tt.also)
			c.ready()
		}
		c.launch(tt.name)
		again := time.Now()
		c.until("reports with "+tt.name, func() bool { return collector.since(again) && state() == "active" })
		c.ready()
		c.same(config)
		c.until(fmt.Sprintf("counters after %s, other ones than of %s: %v", tt.name, began, tt.fresh), func() bool {
			return since() != "" && (since() != began) == tt.fresh
		})
	}
}
