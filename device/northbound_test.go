package device

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli"
	"tamtam/mgmt"
	"tamtam/saisim"
	"tamtam/swss"
)

// northbound starts mgmtd on the switch's databases and returns it with a shell.
func startNorthbound(t *testing.T, s *Sim) (*mgmt.Server, *cli.Shell, *bytes.Buffer) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "mgmt.sock")
	server, err := mgmt.NewServer(mgmt.Config{Redis: s.Redis, Socket: socket, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	var out bytes.Buffer
	shell, err := cli.New(cli.Config{Target: "unix:" + socket, Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shell.Close()
		stop()
		<-done
	})
	return server, shell, &out
}

// The same configuration, however it is entered, gives the same ASIC.
func TestSameASICFromFileRedisAndCLI(t *testing.T) {
	config := twoPorts()
	file := servedSim(t, SimConfig{Config: config})
	settle(t, file)
	want := view(t, file)

	t.Run("redis, row by row", func(t *testing.T) {
		s := testSim(t, SimConfig{Config: ConfigDB{"DEVICE_METADATA": config["DEVICE_METADATA"]}})
		for _, table := range SortedKeys(config) {
			for _, key := range SortedKeys(config[table]) {
				s.Redis.DB(swss.ConfigDB).Client().HSet(t.Context(), table+"|"+key, config[table][key])
				settle(t, s)
			}
		}
		if diff := cmp.Diff(want, view(t, s)); diff != "" {
			t.Errorf("the ASIC differs from the one that the file gives:\n%s", diff)
		}
	})
	t.Run("shell", func(t *testing.T) {
		base := ConfigDB{"DEVICE_METADATA": config["DEVICE_METADATA"], "PORT": config["PORT"]}
		s := servedSim(t, SimConfig{Config: base})
		settle(t, s)
		_, shell, out := startNorthbound(t, s)
		for _, line := range []string{
			"configure terminal",
			"interface Vlan 10", "exit", "interface Vlan 20", "exit",
			"interface Ethernet0", "switchport access Vlan 10", "switchport trunk allowed Vlan 20", "exit",
			"interface Ethernet1", "switchport access Vlan 10", "switchport trunk allowed Vlan 20", "exit",
			"tam",
			"flow-group all id 1",
			"exit",
			"interface Ethernet0", "flow-group all", "exit",
			"tam", "tail-stamping", "enable", "session s flowgroup all",
		} {
			if err := shell.Exec(t.Context(), line); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			settle(t, s)
		}
		if diff := cmp.Diff(want, view(t, s)); diff != "" {
			t.Errorf("the ASIC differs from the one that the file gives:\n%s", diff)
		}
	})
}

// After a final poll CLI, gNMI, COUNTERS_DB and the captures agree exactly.
func TestCountsAgreeEverywhere(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcap")
	var packets []packet
	for i := range 50 {
		proto := layers.IPProtocolUDP
		if i%3 == 0 {
			proto = layers.IPProtocolICMPv4
		}
		f := frame(t, eth(layers.EthernetTypeIPv4), ip4(proto), payload(40+29*i))
		packets = append(packets, packet{time.Unix(1000, int64(i)*100_000), f, len(f)})
	}
	writeCapture(t, in, packets...)
	s := servedSim(t, SimConfig{Config: twoPorts(), Start: time.Unix(1000, 0)})
	settle(t, s)
	stampedOut, out := 0, 0
	s.Chip.SetOutput(func(o *saisim.Out) {
		out++
		if o.Stamped {
			stampedOut++
		}
	})
	if err := s.Feed(t.Context(), []Input{{"Ethernet0", in}}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	drain(t, s)
	report, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := report.TailStamping["s"]
	if out != 50 || *r.Matched != 50 || int(*r.Stamped) != stampedOut || r.NotStamped["not_tcp_udp"] != 17 ||
		*r.Stamped+r.NotStamped["not_tcp_udp"]+r.NotStamped["mtu"] != 50 || r.NotStamped["mtu"] == 0 {
		t.Fatalf("%d frames came out, %d of them stamped; COUNTERS_DB says %+v", out, stampedOut, r)
	}
	server, shell, text := startNorthbound(t, s)
	for path, want := range map[string]uint64{
		"matched-packets": *r.Matched, "matched-octets": *r.MatchedBytes, "stamped-packets": *r.Stamped,
		"not-stamped/not-tcp-udp": r.NotStamped["not_tcp_udp"], "not-stamped/mtu": r.NotStamped["mtu"],
	} {
		if got := leaf(t, server, "tailstamping-session", "s", "state/counters/"+path); got != fmt.Sprint(want) {
			t.Errorf("gNMI %s is %s, COUNTERS_DB has %d", path, got, want)
		}
	}
	if err := shell.Exec(t.Context(), "show tam tail-stamping sessions s"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("Packet Count       : %d\n", *r.Matched), fmt.Sprintf("Stamped Count      : %d\n", *r.Stamped),
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the shell does not say %q:\n%s", want, text)
		}
	}
}

// leaf reads one leaf of a session by gNMI.
func leaf(t *testing.T, server *mgmt.Server, list, name, path string) string {
	t.Helper()
	p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: list + "s"},
		{Name: list, Key: map[string]string{"name": name}}}}
	for e := range strings.SplitSeq(path, "/") {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: e})
	}
	got, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var v any
	if err := json.Unmarshal(got.Notification[0].Update[0].Val.GetJsonIetfVal(), &v); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}
