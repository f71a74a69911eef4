package device_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// simARP returns an ARP request of a host at Ethernet0, 10.0.0.2 with the MAC address 02:00:00:00:00:02.
func simARP(target string) []byte {
	t := netip.MustParseAddr(target).As4()
	b := append(bytes.Repeat([]byte{0xff}, 6), 2, 0, 0, 0, 0, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0,
		2)
	return append(append(append(b, make([]byte, 6)...), t[:]...), make([]byte, 18)...)
}

func simPing(dst string, ttl byte) []byte {
	t := netip.MustParseAddr(dst).As4()
	ip := append([]byte{0x45, 0, 0, 48, 0, 1, 0, 0, ttl, 1, 0, 0, 10, 0, 0, 2}, t[:]...)
	binary.BigEndian.PutUint16(ip[10:], onesSum(ip))
	icmp := append([]byte{8, 0, 0, 0, 0, 7, 0, 1}, make([]byte, 20)...)
	binary.BigEndian.PutUint16(icmp[2:], onesSum(icmp))
	return append(append([]byte{2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 2, 8, 0}, ip...), icmp...)
}

func onesSum(b []byte) uint16 {
	n := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		n += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return ^uint16(n)
}

// In simulated time the switch answers within some tens of microseconds, and the same input gives the same frames at
// the same cycles.
func TestHostInSimulatedTime(t *testing.T) {
	config := device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": swss.FieldValues{"mac": "02:00:00:00:00:aa"}},
		schema.CfgPort: {
			"Ethernet0": swss.FieldValues{"lanes": "0", "speed": "10000", "admin_status": "up"},
			"Ethernet1": swss.FieldValues{"lanes": "1", "speed": "10000", "admin_status": "up"},
		},
		schema.CfgInterface: {"Ethernet0": swss.FieldValues{}, "Ethernet0|10.0.0.1/24": swss.FieldValues{}},
		schema.CfgVLAN:      {"Vlan20": swss.FieldValues{"vlanid": "20"}},
		schema.CfgVLANMember: {
			"Vlan20|Ethernet1": swss.FieldValues{"tagging_mode": "tagged"},
		},
		schema.CfgVLANInterface: {"Vlan20": swss.FieldValues{}, "Vlan20|10.0.1.1/24": swss.FieldValues{},
			"Vlan20|2001:db8:1::1/64": swss.FieldValues{}},
	}
	run := func() string {
		ctx := t.Context()
		racetest.Stepped(t)
		s, err := device.NewSim(ctx, device.SimConfig{Profile: profile.Small(), Config: config, Host: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all []string
		s.Chip.SetOutput(func(o *saisim.Out) {
			s.Punt(o)
			if o.Port != saisim.CPUPort {
				all = append(all, fmt.Sprintf("port %d at %d: %x", o.Port, o.At, o.Data))
			}
		})
		devicetest.NoError(t, s.RunUntilIdle(ctx))
		pass := func(d time.Duration) {
			devicetest.NoError(t, s.Advance(ctx, s.Chip.Now()+s.Chip.CycleAt(d)))
		}
		pass(10 * time.Second)
		first := len(all)
		port, _ := s.Chip.PortByName("Ethernet0")
		for _, f := range [][]byte{simARP("10.0.0.1"), simPing("10.0.0.1", 64), simPing("10.0.1.9", 1),
			simPing("10.0.1.9", 64)} {
			devicetest.NoError(t, s.Chip.Receive(port, s.Chip.Now(), saisim.Frame{Data: f}))
			pass(100 * time.Microsecond)
		}
		answers := strings.Join(all[first:], "\n")
		kinds := []string{}
		for _, line := range all[first:] {
			f := line[strings.LastIndex(line, " ")+1:]
			switch {
			case strings.HasPrefix(f[24:], "0806") && f[40:44] == "0002":
				kinds = append(kinds, "ARP reply")
			case strings.Contains(f[:40], "81000014") && f[32:36] == "0806":
				kinds = append(kinds, "ARP question in VLAN 20")
			case strings.HasPrefix(f[24:], "0800") && f[68:70] == "00":
				kinds = append(kinds, "echo reply")
			case strings.HasPrefix(f[24:], "0800") && f[68:70] == "0b":
				kinds = append(kinds, "time exceeded")
			default:
				kinds = append(kinds, line)
			}
		}
		if got, want := strings.Join(kinds, ", "),
			"ARP reply, echo reply, time exceeded, ARP question in VLAN 20"; got != want {
			t.Errorf("answers: %s\nwant %s\n%s", got, want, answers)
		}
		row, _, err := swss.NewTable(s.Redis.DB(swss.ApplDB), schema.AppNeigh).Get(ctx, "Ethernet0:10.0.0.2")
		if err != nil || row["neigh"] != "02:00:00:00:00:02" {
			t.Errorf("NEIGH_TABLE has %v, %v", row, err)
		}
		return strings.Join(all, "\n")
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ:\n%s\n\n%s", a, b)
	}
}

// A port's MTU above its wire's is lowered in the chip, at its router interface and in the host. So a packet that
// does not fit is answered by ICMP, until the wire accepts it.
func TestMTUOfTheWire(t *testing.T) {
	ctx := t.Context()
	config := device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": swss.FieldValues{"mac": "02:00:00:00:00:aa"}},
		schema.CfgPort: {
			"Ethernet0": swss.FieldValues{"lanes": "0", "speed": "10000", "admin_status": "up"},
			"Ethernet1": swss.FieldValues{"lanes": "1", "speed": "10000", "admin_status": "up"},
		},
		schema.CfgInterface: {
			"Ethernet0": swss.FieldValues{}, "Ethernet0|10.0.0.1/24": swss.FieldValues{},
			"Ethernet1": swss.FieldValues{"mtu": "9000"}, "Ethernet1|10.0.1.1/24": swss.FieldValues{},
		},
		schema.CfgNeigh: {"Ethernet1|10.0.1.9": swss.FieldValues{"neigh": "02:00:00:00:00:09"}},
	}
	s, err := device.NewSim(ctx, device.SimConfig{Profile: profile.Small(), Config: config, Host: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	devicetest.NoError(t, s.RunUntilIdle(ctx))
	in, _ := s.Chip.PortByName("Ethernet0")
	var big []string // MTUs that the sender was informed of
	forwarded := 0
	s.Chip.SetOutput(func(o *saisim.Out) {
		s.Punt(o)
		switch {
		case o.Port == in && len(o.Data) > 42 && o.Data[34] == 3 && o.Data[35] == 4: // fragmentation needed
			big = append(big, fmt.Sprint(binary.BigEndian.Uint16(o.Data[40:])))
		case o.Port != saisim.CPUPort && len(o.Data) > 1400:
			forwarded++
		}
	})
	wires := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateWire)
	for _, tt := range []struct{ wire, reported string }{{"", ""}, {"1400", "1400"}, {"1448", ""}, {"1447", "1447"}} {
		big, forwarded = nil, 0
		if tt.wire != "" {
			devicetest.NoError(t, wires.Set(ctx, "Ethernet1", swss.FieldValues{schema.WireMTU: tt.wire}))
		}
		devicetest.NoError(t, s.RunUntilIdle(ctx))
		ip := []byte{0x45, 0, 5, 0xa8, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 1, 9}
		ip = append(ip, make([]byte, 1428)...)
		binary.BigEndian.PutUint16(ip[10:], onesSum(ip[:20]))
		for _, f := range [][]byte{simARP("10.0.0.1"), append([]byte{2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 2, 8, 0}, ip...)} {
			devicetest.NoError(t, s.Chip.Receive(in, s.Chip.Now(), saisim.Frame{Data: f}))
			devicetest.NoError(t, s.Advance(ctx, s.Chip.Now()+s.Chip.CycleAt(100*time.Microsecond)))
		}
		if reported := strings.Join(big, " "); reported != tt.reported || (forwarded == 1) != (tt.reported == "") {
			t.Errorf("a wire of %q: told %q, want %q; %d were forwarded", tt.wire, reported, tt.reported, forwarded)
		}
	}
}
