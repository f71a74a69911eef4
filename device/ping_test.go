package device_test

import (
	"net/netip"
	"regexp"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/host"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An operator pings from a switch in simulated time by the shell: neighbours, a router and a host behind it, by IPv4
// and IPv6. The shell names what is in the way of others.
func TestPingByShell(t *testing.T) {
	racetest.Stepped(t)
	s := devicetest.NewServedSim(t, device.SimConfig{Host: true, Config: device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": swss.FieldValues{"mac": "02:00:00:00:00:aa"}},
		schema.CfgPort: {
			"Ethernet0": swss.FieldValues{"lanes": "0", "speed": "10000", "admin_status": "up"},
			"Ethernet1": swss.FieldValues{"lanes": "1", "speed": "10000", "admin_status": "down"},
		},
		schema.CfgInterface: {
			"Ethernet0": swss.FieldValues{}, "Ethernet0|10.0.1.1/24": swss.FieldValues{},
			"Ethernet0|2001:db8:1::1/64": swss.FieldValues{},
			"Ethernet1":                  swss.FieldValues{}, "Ethernet1|10.0.2.1/24": swss.FieldValues{},
		},
		schema.CfgStaticRoute: {"10.9.0.0/16": swss.FieldValues{"nexthop": "10.0.1.2", "ifname": "Ethernet0"}},
	}})
	far := newFarEnd(s)
	devicetest.RunUntilIdle(t, s)
	_, shell, out := devicetest.StartNorthbound(t, s)
	run := func(line string) string {
		t.Helper()
		out.Reset()
		done := make(chan error, 1)
		go func() { done <- shell.Exec(t.Context(), line) }()
		for {
			select {
			case err := <-done:
				text := out.String()
				if err != nil {
					text += err.Error() + "\n"
				}
				return regexp.MustCompile(`[\d./]+ ms`).ReplaceAllString(text, "T ms")
			default:
				devicetest.NoError(t, far.pass(t, time.Millisecond))
			}
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"ping 10.0.1.2 count 2", `PING 10.0.1.2 from 10.0.1.1: 56 data bytes
64 bytes from 10.0.1.2: icmp_seq=1 ttl=64 time=T ms
64 bytes from 10.0.1.2: icmp_seq=2 ttl=64 time=T ms

--- 10.0.1.2 ping statistics ---
2 packets transmitted, 2 received, 0% packet loss
rtt min/avg/max = T ms
`},
		{"ping 2001:db8:1::2 count 1 size 4000 source 2001:db8:1::1", `PING 2001:db8:1::2 from 2001:db8:1::1: 4000 data bytes
4008 bytes from 2001:db8:1::2: icmp_seq=1 ttl=64 time=T ms

--- 2001:db8:1::2 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss
rtt min/avg/max = T ms
`},
		{"ping 10.9.0.9 count 1 ttl 1", `PING 10.9.0.9 from 10.0.1.1: 56 data bytes
From 10.0.1.2: icmp_seq=1 Time to live exceeded

--- 10.9.0.9 ping statistics ---
1 packets transmitted, 0 received, +1 errors, 100% packet loss
%Error: No reply from 10.9.0.9
`},
		{"traceroute 10.9.0.9", `TRACEROUTE 10.9.0.9 from 10.0.1.1: 56 data bytes
 1  10.0.1.2  T ms  T ms  T ms
 2  10.9.0.9  T ms  T ms  T ms
`},
		{"ping 10.0.1.77 count 1 timeout 5s", `PING 10.0.1.77 from 10.0.1.1: 56 data bytes
From 10.0.1.1: icmp_seq=1 neighbour 10.0.1.77 at Ethernet0 does not answer ARP requests

--- 10.0.1.77 ping statistics ---
1 packets transmitted, 0 received, +1 errors, 100% packet loss
%Error: No reply from 10.0.1.77
`},
		{"ping 10.0.1.78 count 1", `PING 10.0.1.78 from 10.0.1.1: 56 data bytes
no reply: icmp_seq=1 within T ms

--- 10.0.1.78 ping statistics ---
1 packets transmitted, 0 received, 100% packet loss
Note: neighbour 10.0.1.78 at Ethernet0 has not answered ARP requests
Note: the switch drops replies above the rate of trap group queue1_group1, 6000 packets a second: show copp counts them
%Error: No reply from 10.0.1.78
`},
		{"ping 10.0.2.1 count 1", "%Error: Ping: no route to 10.0.2.1: Ethernet1, whose subnet has it, is down\n"},
		{"traceroute 192.0.2.1", "%Error: Traceroute: no route to 192.0.2.1\n"},
		{"ping 10.0.1.1 count 1", `PING 10.0.1.1 from 10.0.1.1: 56 data bytes
64 bytes from 10.0.1.1: icmp_seq=1 ttl=64 time=T ms

--- 10.0.1.1 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss
rtt min/avg/max = T ms
`},
	} {
		if got := run(tt.line); got != tt.want {
			t.Errorf("%s\n%s\nwant\n%s", tt.line, got, tt.want)
		}
	}
}

// A farEnd is what a switch reaches at Ethernet0: the router 10.0.1.2, and the host 10.9.0.9 behind it.
type farEnd struct {
	s            *device.Sim
	port         saisim.PortID
	router, host *host.Stack
	frames       [][]byte
}

func newFarEnd(s *device.Sim) *farEnd {
	f := &farEnd{s: s, router: host.New(host.DefaultConfig()), host: host.New(host.DefaultConfig())}
	f.port, _ = s.Chip.PortByName("Ethernet0")
	eth0 := host.Interface{Name: "eth0", MAC: host.MAC{2, 0, 0, 0, 0, 2}, MTU: 1500, Up: true}
	for stack, addrs := range map[*host.Stack][]string{
		f.router: {"10.0.1.2/24", "2001:db8:1::2/64"}, f.host: {"10.0.1.9/24", "10.9.0.9/16"},
	} {
		i := eth0
		for _, a := range addrs {
			i.Addrs = append(i.Addrs, netip.MustParsePrefix(a))
		}
		stack.Configure(s.Now(), []host.Interface{i})
	}
	f.host.Frames() // its announcements
	f.host.SetStatic(s.Now(), "eth0", netip.MustParseAddr("10.0.1.1"), host.MAC{2, 0, 0, 0, 0, 0xaa})
	s.Chip.SetOutput(func(o *saisim.Out) {
		s.Punt(o)
		if o.Port == f.port {
			f.frames = append(f.frames, append([]byte(nil), o.Data...))
		}
	})
	return f
}

// pass lets time pass. The far end receives frames at its end, and answers immediately.
func (f *farEnd) pass(t *testing.T, d time.Duration) error {
	if err := f.s.Advance(t.Context(), f.s.Chip.Now()+f.s.Chip.CycleAt(d)); err != nil {
		return err
	}
	now := f.s.Now()
	for _, b := range f.frames {
		const ttl, dst = 14 + 8, 14 + 16
		behind := b[12] == 8 && b[13] == 0 && [2]byte(b[dst:]) == [2]byte{10, 9}
		if behind && b[ttl] > 1 {
			f.host.Receive(now, "eth0", false, b)
		} else {
			f.router.Receive(now, "eth0", behind, b)
		}
	}
	f.frames = nil
	f.router.Advance(now)
	for _, out := range append(f.router.Frames(), f.host.Frames()...) {
		if err := f.s.Chip.Receive(f.port, f.s.Chip.Now(), saisim.Frame{Data: out.Data}); err != nil {
			return err
		}
	}
	return nil
}
