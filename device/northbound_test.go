package device_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/mgmt"
	"tamtam/saisim"
	"tamtam/swss"
)

// The same configuration, however it is entered, gives the same ASIC.
func TestSameASICFromFileRedisAndCLI(t *testing.T) {
	config := devicetest.TwoPorts()
	file := devicetest.NewServedSim(t, device.SimConfig{Config: config})
	devicetest.RunUntilIdle(t, file)
	want := devicetest.View(t, file)

	t.Run("redis, row by row", func(t *testing.T) {
		s := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{"DEVICE_METADATA": config["DEVICE_METADATA"]}})
		for _, table := range device.SortedKeys(config) {
			for _, key := range device.SortedKeys(config[table]) {
				s.Redis.DB(swss.ConfigDB).Client().HSet(t.Context(), table+"|"+key, config[table][key])
				devicetest.RunUntilIdle(t, s)
			}
		}
		if diff := cmp.Diff(want, devicetest.View(t, s)); diff != "" {
			t.Errorf("the ASIC differs from the one that the file gives:\n%s", diff)
		}
	})
	t.Run("shell", func(t *testing.T) {
		base := device.ConfigDB{"DEVICE_METADATA": config["DEVICE_METADATA"], "PORT": config["PORT"]}
		s := devicetest.NewServedSim(t, device.SimConfig{Config: base})
		devicetest.RunUntilIdle(t, s)
		_, shell, out := devicetest.StartNorthbound(t, s)
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
			devicetest.RunUntilIdle(t, s)
		}
		if diff := cmp.Diff(want, devicetest.View(t, s)); diff != "" {
			t.Errorf("the ASIC differs from the one that the file gives:\n%s", diff)
		}
	})
}

// After a final poll CLI, gNMI, COUNTERS_DB and the captures agree exactly.
func TestCountsAgreeEverywhere(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcap")
	var packets []devicetest.Packet
	for i := range 50 {
		proto := layers.IPProtocolUDP
		if i%3 == 0 {
			proto = layers.IPProtocolICMPv4
		}
		f := devicetest.IPv4Frame(t, proto, devicetest.Payload(40+29*i))
		packets = append(packets, devicetest.PacketAt(time.Unix(1000, int64(i)*100_000), f))
	}
	devicetest.WriteCapture(t, in, packets...)
	s := devicetest.NewServedSim(t, device.SimConfig{Config: devicetest.TwoPorts(), Start: time.Unix(1000, 0)})
	devicetest.RunUntilIdle(t, s)
	stampedOut, out := 0, 0
	s.Chip.SetOutput(func(o *saisim.Out) {
		out++
		if o.Stamped {
			stampedOut++
		}
	})
	devicetest.NoError(t, s.Feed(t.Context(), devicetest.Inputs("Ethernet0", in), func() error { return nil }))
	devicetest.Drain(t, s)
	report, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := report.TailStamping["s"]
	if out != 50 || *r.Matched != 50 || int(*r.Stamped) != stampedOut || r.NotStamped["not_tcp_udp"] != 17 ||
		*r.Stamped+r.NotStamped["not_tcp_udp"]+r.NotStamped["mtu"] != 50 || r.NotStamped["mtu"] == 0 {
		t.Fatalf("%d frames came out, %d of them stamped; COUNTERS_DB says %+v", out, stampedOut, r)
	}
	server, shell, text := devicetest.StartNorthbound(t, s)
	for path, want := range map[string]uint64{
		"matched-packets": *r.Matched, "matched-octets": *r.MatchedBytes, "stamped-packets": *r.Stamped,
		"not-stamped/not-tcp-udp": r.NotStamped["not_tcp_udp"], "not-stamped/mtu": r.NotStamped["mtu"],
	} {
		if got := leaf(t, server, "tailstamping-session", "s", "state/counters/"+path); got != fmt.Sprint(want) {
			t.Errorf("gNMI %s is %s, COUNTERS_DB has %d", path, got, want)
		}
	}
	devicetest.NoError(t, shell.Exec(t.Context(), "show tam tail-stamping sessions s"))
	for _, want := range []string{
		fmt.Sprintf("Packet Count       : %d\n", *r.Matched), fmt.Sprintf("Stamped Count      : %d\n", *r.Stamped),
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the shell does not say %q:\n%s", want, text)
		}
	}
}

// leaf reads one leaf of a session over gNMI.
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
	devicetest.NoError(t, json.Unmarshal(got.Notification[0].Update[0].Val.GetJsonIetfVal(), &v))
	return fmt.Sprint(v)
}
