package device_test

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
)

// headerEnds returns a switch that encapsulates UDP to 10.9.0.0/16 in headers of alternate marking, which leaves by
// Ethernet1. It decapsulates such packets that arrive.
func headerEnds() device.ConfigDB {
	config := devicetest.RoutedPorts()
	maps.Copy(config["INTERFACE"], map[string]swss.FieldValues{"Ethernet1|2001:db8:2::1/64": {}})
	maps.Copy(config["NEIGH"], map[string]swss.FieldValues{"Ethernet1|2001:db8:2::8": {"neigh": "02:00:00:00:06:08"},
		"Ethernet0|10.1.0.5": {"neigh": "02:00:00:00:01:05"}})
	maps.Copy(config["STATIC_ROUTE"], map[string]swss.FieldValues{"2001:db8:ff::3/128": {"nexthop": "2001:db8:2::8"}})
	config["LOOPBACK_INTERFACE"] = map[string]swss.FieldValues{"Loopback0": {}, "Loopback0|2001:db8:ff::1/128": {}}
	maps.Copy(config["ACL_RULE"], map[string]swss.FieldValues{"TAM|out": {"PRIORITY": "100", "IP_PROTOCOL": "17",
		"DST_IP": "10.9.0.0/16"},
		"TAM|back": {"PRIORITY": "90", "DST_IPV6": "2001:db8:ff::1/128"}})
	config["TAM_FEATURES_TABLE"] = map[string]swss.FieldValues{"ALTMARK": {"status": "ACTIVE"}}
	config["TAM_FLOWGROUP_TABLE"] = map[string]swss.FieldValues{"out": {"id": "1"}, "back": {"id": "2"}}
	session := func(group, role, id, src, dst string) swss.FieldValues {
		return swss.FieldValues{"flowgroup": group, "role": role, "method": "double", "interval": "-7",
			"mark":  "ipv6-altmark-l",
			"mark2": "ipv6-altmark-d", "flow-mon-id": id, "encap-src": src, "encap-dst": dst}
	}
	config["TAM_ALTMARK_TABLE"] = map[string]swss.FieldValues{
		"out":  session("out", "initiator", "74565", "2001:db8:ff::1", "2001:db8:ff::3"),
		"back": session("back", "terminator", "291", "2001:db8:ff::3", "2001:db8:ff::1"),
	}
	return config
}

// Traces and packet fates report which header was added to a packet or removed, between which addresses. They also
// report drops for damaged headers. A packet is identified by the headers with which it arrived.
func TestHeadersByShell(t *testing.T) {
	s := devicetest.NewServedSim(t, device.SimConfig{Config: headerEnds()})
	devicetest.RunUntilIdle(t, s)
	show := devicetest.StartShows(t, s)
	want := func(line string, words ...string) {
		t.Helper()
		text := show(line)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q:\n%s", line, w, text)
			}
		}
	}
	const put, off = "put an IPv6 header with an AltMark option around it",
		"take off the IPv6 header with the AltMark option"
	want("show packet-trace in Ethernet0 src 10.1.0.5 dst 10.9.0.1 protocol udp dst-port 80", "Fate : sent by Ethernet1",
		"altmark_encap    -            hit   FlowMonID 74565             to 2001:db8:ff::3           "+put,
		"2001:db8:ff::3/128", "hit   2001:db8:2::8 at Ethernet1  02:00:00:00:06:08",
		"copy 1: dst-mac 02:00:00:00:07:e4 -> 02:00:00:00:06:08", "copy 1: src 10.1.0.5 -> 2001:db8:ff::1",
		"copy 1: dst 10.9.0.1 -> 2001:db8:ff::3")

	out := s.Chip.Ports()[1]
	var left []byte
	s.Chip.SetOutput(func(o *saisim.Out) {
		if o.Port == out {
			left = bytes.Clone(o.Data)
		}
	})
	send := func(port int, frame []byte) {
		t.Helper()
		devicetest.NoError(t, s.Chip.Receive(s.Chip.Ports()[port], s.Chip.Now(), saisim.Frame{Data: frame}))
		s.Chip.Advance(s.Chip.Now() + 100_000)
	}
	plain := slices.Concat([]byte{2, 0, 0, 0, 7, 0xe4, 2, 0, 0, 0, 1, 5, 8, 0},
		[]byte{0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xb0, 10, 1, 0, 5, 10, 9, 0, 1}, []byte{0, 7, 0, 80, 0, 26, 0, 0},
		make([]byte, 18))
	want("show tam why flow 10.1.0.5 10.9.0.1", "No packet of it is known")
	send(0, plain)
	want("show tam why flow 10.1.0.5 10.9.0.1", "in Ethernet0, 60 bytes: sent at Ethernet1", put)

	// The other end sends the same back, with its own FlowMonID.
	back := slices.Concat([]byte{2, 0, 0, 0, 7, 0xe4, 2, 0, 0, 0, 6, 8}, left[12:22], left[38:54], left[22:38], left[54:])
	copy(back[58:], []byte{0, 0x12, 0x30, 0})
	copy(back[62+12:], []byte{10, 9, 0, 1, 10, 1, 0, 5})
	want("show packet-trace in Ethernet1 frame "+hex.EncodeToString(back), off)
	const outer = "show tam why flow 2001:db8:ff::3 2001:db8:ff::1"
	want(outer, "No packet of it is known")
	send(1, back)
	want(outer, "in Ethernet1, 108 bytes: sent at Ethernet0", off)
	damaged := bytes.Clone(back)
	damaged[62+2] = 9 // this header claims to be longer than the packet
	want("show packet-trace in Ethernet1 frame "+hex.EncodeToString(damaged), "decap")
	send(1, damaged)
	want(outer, "in Ethernet1, 108 bytes: dropped at Ethernet1: decap", "not taken off: headers are damaged")
	want("show drops by reason", "decap")
}
