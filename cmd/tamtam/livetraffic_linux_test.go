package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/internal/netns"
	"tamtam/internal/netns/netnstest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// TCP between two hosts, whose interfaces have Linux's default offloads, passes the switch without loss. This also
// holds if a session stamps it. Segments without space for a record leave without a record and are counted. With
// clamp-mss there are no such segments. Each frame that a host sent was received by the switch, or counted as lost. An
// interface that appears later is also used.
func TestLiveTraffic(t *testing.T) {
	racetest.Live(t)
	if !netnstest.Own(t) {
		return
	}
	ip(t, "link set lo up")
	hosts := [2]*netns.Namespace{newHost(t, 1), newHost(t, 2)}
	f := startUp(t, liveTrafficConfig(), "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2", "--port",
		"Ethernet8=eth3")
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		f.wait(t, schema.StatePort, port, portUp)
	}
	f.wait(t, schema.StateTAMTailStamp, "tcp", active)

	missing := func(row swss.FieldValues) bool { return row[schema.WireStatus] == schema.WireMissing }
	f.wait(t, schema.StateWire, "Ethernet8", missing)
	veths(t, [2]string{"eth3", "host3"})
	f.wait(t, schema.StateWire, "Ethernet8", func(row swss.FieldValues) bool {
		return row[schema.WireStatus] == schema.WireUp
	})

	stamped := watchStamps(t, hosts[1])
	sendTCP(t, hosts)
	if n := stamped(); n == 0 {
		t.Error("no frame with a stamp was read at host 2")
	}
	stamps := func(row swss.FieldValues) bool { return row["STAMPED_PACKETS"] != "0" && row["NOT_STAMPED_MTU"] != "0" }
	f.waitIn(t, swss.CountersDB, schema.CountersTailStamp, "tcp", stamps)
	clampLive(t, f, hosts)

	countAll(t, f)
}

// The benchmark of live ports measures each load on both switches.
func TestBenchLive(t *testing.T) {
	if testing.Short() {
		t.Skip("TestLiveTraffic has the same processes for the race detector")
	}
	if !netnstest.Own(t) {
		return
	}
	t.Setenv(asTamtam, "1")
	results, err := benchLive(t.Context(), 1, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Value <= 0 && r.Unit != "segments" && r.Unit != "ns" { // processor time (ns) may be 0: its clock is coarse
			t.Errorf("%s: %v %s", r.Name, r.Value, r.Unit)
		}
	}
	if len(results) != 33 {
		t.Errorf("%d results: %+v", len(results), results)
	}
}

func liveTrafficConfig() device.ConfigDB {
	port := func(lanes string) swss.FieldValues {
		return swss.FieldValues{"lanes": lanes, "speed": "100000", "admin_status": "up"}
	}
	untagged := swss.FieldValues{"tagging_mode": "untagged"}
	return device.ConfigDB{
		schema.CfgPort: {"Ethernet0": port("0,1,2,3"), "Ethernet4": port("4,5,6,7"), "Ethernet8": port("8,9,10,11")},
		schema.CfgVLAN: {"Vlan10": swss.FieldValues{"vlanid": "10"}},
		schema.CfgVLANMember: {
			"Vlan10|Ethernet0": untagged, "Vlan10|Ethernet4": untagged, "Vlan10|Ethernet8": untagged,
		},
		schema.CfgFlexCounter:  {"ACL": swss.FieldValues{"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"}},
		schema.CfgTAMFeature:   {"TAILSTAMPING": swss.FieldValues{"status": "ACTIVE"}},
		schema.CfgTAMFlowGroup: {"tcp": swss.FieldValues{"id": "1"}},
		schema.CfgACLRule:      {"TAM|tcp": swss.FieldValues{"IP_PROTOCOL": "6", "PRIORITY": "10"}},
		schema.CfgTAMTailStamp: {"tcp": swss.FieldValues{"flowgroup": "tcp"}},
	}
}

// newHost creates a host 10.9.0.N behind ethN. The host sends nothing by itself except ARP.
func newHost(t *testing.T, n int) *netns.Namespace {
	t.Helper()
	h, err := netns.New()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(h.Close)
	quiet := func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0))
	}
	if err := errors.Join(h.Do(quiet), quiet()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	number := strconv.Itoa(n)
	ip(t, "link add eth"+number+" type veth peer name host netns "+h.Path())
	ip(t, "link set eth"+number+" up")
	if err := h.IP("link set lo up", "link set host up", "addr add 10.9.0."+number+"/24 dev host"); err != nil {
		t.Fatal(err)
	}
	return h
}

// watchStamps reads the stamps of frames that arrive at a host. The returned function ends this and returns the number
// of stamped frames.
func watchStamps(t *testing.T, host *netns.Namespace) func() int64 {
	t.Helper()
	var in *capture.Live
	if err := host.Do(func() (err error) { in, err = capture.Listen("host"); return err }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- collector.WatchTailStamp(ctx, &out, "host", in, nil, collector.DecodeOptions{JSON: true})
	}()
	return func() int64 {
		cancel()
		var r collector.Report
		if err := errors.Join(<-ended, json.Unmarshal(out.Bytes(), &r)); err != nil {
			t.Errorf("%v: %s", err, &out)
		}
		return r.Stamped
	}
}

// sentBytes is the number of bytes that sendTCP sends.
const sentBytes = 8 << 20

// sendTCP sends sentBytes from one host to the other.
func sendTCP(t *testing.T, hosts [2]*netns.Namespace) {
	t.Helper()
	var l net.Listener
	var c net.Conn
	if err := hosts[1].Do(func() (err error) { l, err = net.Listen("tcp4", "10.9.0.2:0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make([]byte, sentBytes)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(sent)
	got := make(chan []byte, 1)
	go func() {
		defer close(got)
		if c, err := l.Accept(); err == nil {
			all, _ := io.ReadAll(c)
			got <- all
		}
	}()
	if err := hosts[0].Do(func() (err error) { c, err = net.Dial("tcp4", l.Addr().String()); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if all := <-got; !bytes.Equal(all, sent) {
		t.Errorf("of %d bytes %d came, or others", len(sent), len(all))
	}
}

// clampLive makes the session reserve space for its record. Then every segment between two hosts with the MTU of the
// switch's interfaces leaves with a record.
func clampLive(t *testing.T, f *fleet, hosts [2]*netns.Namespace) {
	t.Helper()
	row := swss.FieldValues{"flowgroup": "tcp", "clamp-mss": "1"}
	if err := swss.NewTable(f.redis.DB(swss.ConfigDB), schema.CfgTAMTailStamp).Set(t.Context(), "tcp", row); err != nil {
		t.Fatal(err)
	}
	was := swss.FieldValues{}
	f.waitIn(t, swss.CountersDB, schema.CountersTailStamp, "tcp", func(row swss.FieldValues) bool {
		was = row
		return row["SYNS"] == "0" // the clamp is active
	})
	sendTCP(t, hosts)
	const least = sentBytes / (1500 - 40 - 32) // minimum number of segments
	is := swss.FieldValues{}
	f.waitIn(t, swss.CountersDB, schema.CountersTailStamp, "tcp", func(row swss.FieldValues) bool {
		is = row
		return since(row, was, "STAMPED_PACKETS") >= least && row["SYNS_CLAMPED"] == "2"
	})
	if n := since(is, was, "NOT_STAMPED_MTU"); n != 0 {
		t.Errorf("%d segments had no room for a record: %v", n, is)
	}
}

// since returns by how much a count has grown.
func since(is, was swss.FieldValues, field string) uint64 {
	a, _ := strconv.ParseUint(is[field], 10, 64)
	b, _ := strconv.ParseUint(was[field], 10, 64)
	return a - b
}

// countAll floods the switch with frames from an otherwise unused interface, and checks that its counters contain every
// one.
func countAll(t *testing.T, f *fleet) {
	t.Helper()
	const frames = 20_000
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Ifindex: ifindex(t, "host3")}
	data := frame("\x02\x00\x00\x00\xaa\x02\x02\x00\x00\x00\xaa\x01\x88\xb5")
	for i := 0; i < frames; {
		switch err := unix.Sendto(fd, data, 0, to); err {
		case nil:
			i++
		case unix.ENOBUFS, unix.EINTR: // the frame has not left the host
		default:
			t.Fatal(err)
		}
	}
	n := uint64(0)
	f.wait(t, schema.StateWire, "Ethernet8", func(row swss.FieldValues) bool {
		n = 0
		for _, field := range []string{schema.WireReceived, "lost-ring-full", "lost-too-long"} {
			v, _ := strconv.ParseUint(row[field], 10, 64)
			n += v
		}
		return n >= frames
	})
	if n != frames {
		t.Errorf("of %d frames sent the switch has %d", frames, n)
	}
}
