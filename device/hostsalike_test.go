package device_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device/devicetest"
	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/hostd"
	"tamtam/host/hostifd"
	"tamtam/host/lldp"
	"tamtam/host/lldpd"
	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

var gatewayMAC = schema.MAC{2, 0, 0, 0, 0, 0xaa}

// A street holds hosts at Ethernet0, LLDP neighbours at Ethernet0 and Ethernet4, and the switch as a host. The host is
// hostd, or hostifd with a Linux that has the neighbours' answers. Time is simulated.
type street struct {
	*testing.T
	r        *swss.Redis
	orchs, d *orch.Daemon
	now      time.Time
	hosts    map[string]*host.Stack // by address and MAC address
	peers    map[string]*lldp.Agent // by port
	frames   []cpuport.Frame        // frames that the switch has sent
	asked    []hostifd.Neighbor     // neighbours that Linux was asked to resolve
	receive  func(cpuport.Packet)
	learned  func(hostifd.Neighbor)
}

// hostKinds holds the daemons that make the switch act as a host, by name.
var hostKinds = map[string]func(*street) func(){
	"hostd": func(s *street) func() {
		h := hostd.New(hostd.Config{
			Daemon: s.d, Redis: s.r, Stack: host.DefaultConfig(), MAC: host.MAC(gatewayMAC),
		})
		s.receive = h.Receive
		return func() { h.SetLine(s, func() (c cpuport.Counts, ok bool) { return c, false }) }
	},
	"hostifd": func(s *street) func() {
		host := hostifd.NewHost(streetLinux{s}, slog.New(slog.DiscardHandler))
		host.SetKeeper(streetKeeper{})
		h := hostifd.New(hostifd.Config{Daemon: s.d, Redis: s.r, Host: host, Fallback: gatewayMAC})
		speaker := lldpd.New(lldpd.Config{Daemon: s.d, Redis: s.r, System: lldp.System{MAC: gatewayMAC}})
		s.learned = h.Learned
		s.receive = func(p cpuport.Packet) {
			if lldpd.Is(p.Data) {
				speaker.Receive(p.Port, p.Data)
			} else {
				h.Received(&p)
			}
		}
		return func() { h.SetLine(s); speaker.SetLine(s) }
	},
}

func newStreet(t *testing.T, kind string) *street {
	s := &street{
		T: t, r: swsstest.Start(t), now: time.Unix(1_000_000, 0), hosts: map[string]*host.Stack{},
		peers: map[string]*lldp.Agent{},
	}
	s.orchs, s.d = orch.NewDaemon("orchagent", s.r, orch.Options{}), orch.NewDaemon(kind, s.r, orch.Options{})
	t.Cleanup(func() { s.orchs.Close(); s.d.Close() })
	orch.Accept(s.orchs, s.r.DB(swss.ApplDB), schema.AppNeigh, schema.AppCOPP)
	port := swss.FieldValues{"lanes": "0", "speed": "1000", "admin_status": "up", "oper_status": "up", "mtu": "1500"}
	s.set(schema.AppPort, "Ethernet0", port)
	port["lanes"] = "4"
	s.set(schema.AppPort, "Ethernet4", port)
	s.set(schema.AppPort, schema.PortConfigDone, swss.FieldValues{"count": "2"})
	s.set(schema.AppInterface, "Ethernet0", swss.FieldValues{"NULL": "NULL"})
	s.set(schema.AppInterface, "Ethernet0:10.0.0.1/24", swss.FieldValues{"family": "IPv4"})
	s.set(schema.AppInterface, "Ethernet0:2001:db8::1/64", swss.FieldValues{"family": "IPv6"})
	begin := hostKinds[kind](s)
	s.pass(2 * time.Second)
	s.want("traps without a CPU port", s.rows(swss.ApplDB, schema.AppCOPP))
	s.want("addresses without a CPU port", s.rows(swss.StateDB, schema.StateHostAddress))
	s.do(begin)
	return s
}

func (s *street) set(table, key string, fields swss.FieldValues) {
	s.Helper()
	devicetest.NoError(s.T, swss.NewTable(s.r.DB(swss.ApplDB), table).Set(s.Context(), key, fields))
}

// Send accepts a frame of the switch.
func (s *street) Send(f cpuport.Frame) error { s.frames = append(s.frames, f); return f.Check() }

func (s *street) do(f func()) {
	s.Helper()
	devicetest.NoError(s.T, s.d.Do(s.Context(), f))
	s.step()
}

// step runs all work and the hosts' answers at one time.
func (s *street) step() {
	s.Helper()
	for again := true; again; {
		again = false
		for _, d := range []*orch.Daemon{s.d, s.orchs} {
			did, err := d.Step(s.Context(), s.now)
			if err != nil {
				s.Fatal(err)
			}
			again = again || did
		}
		again = s.exchange() || again
	}
}

// exchange delivers the switch's frames to hosts, and the hosts' frames to the switch. It reports whether there were
// any frames.
func (s *street) exchange() bool {
	s.Helper()
	var in []cpuport.Packet
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		h.Advance(s.now)
		for _, f := range s.frames {
			if f.Port == "Ethernet0" {
				h.Receive(s.now, "eth0", false, f.Data)
			}
		}
		for _, f := range h.Frames() {
			in = append(in, cpuport.Packet{Port: "Ethernet0", Trap: "arp_resp", Data: f.Data, Len: len(f.Data)})
		}
	}
	for port, peer := range s.peers {
		peer.Advance(s.now)
		for _, f := range peer.Frames() {
			in = append(in, cpuport.Packet{Port: port, Trap: "lldp", Data: f.Data, Len: len(f.Data)})
		}
	}
	asked := s.asked
	s.frames, s.asked = nil, nil
	for _, n := range asked {
		n.MAC, n.State, n.Gone = schema.MAC{}, "FAILED", true
		for name := range s.hosts {
			if addr, mac, _ := strings.Cut(name, " "); addr == n.Addr.String() {
				n.MAC, _ = schema.ParseMAC(mac)
				n.State, n.Gone = "REACHABLE", false
			}
		}
		s.learned(n)
	}
	for _, p := range in {
		s.receive(p)
	}
	return len(in)+len(asked) > 0
}

func (s *street) pass(d time.Duration) {
	s.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		s.step()
	}
}

// comes adds a host to the network, which announces itself.
func (s *street) comes(addr string, last byte) {
	s.Helper()
	mac := host.MAC{2, 0, 0, 0, 0, last}
	h := host.New(host.DefaultConfig())
	h.Configure(s.now, []host.Interface{{
		Name: "eth0", MAC: mac, MTU: 1500, Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix(addr + "/24")},
	}})
	s.hosts[addr+" "+schema.MAC(mac).String()] = h
	s.step()
}

func (s *street) goes(addr string, last byte) {
	delete(s.hosts, addr+" "+schema.MAC{2, 0, 0, 0, 0, last}.String())
}

// rows returns the rows of a table, as "KEY FIELD FIELD".
func (s *street) rows(db swss.DBName, table string, fields ...string) (list []string) {
	s.Helper()
	rows, err := swss.NewTable(s.r.DB(db), table).Dump(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		line := key
		for _, f := range fields {
			line += " " + rows[key][f]
		}
		list = append(list, strings.TrimRight(line, " "))
	}
	return list
}

func (s *street) want(what string, got []string, want ...string) {
	s.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("%s: -want +got\n%s", what, d)
	}
}

// streetKeeper acts as syncd, which holds the devices of hostifd.
type streetKeeper struct{}

func (streetKeeper) Set(cpuport.Interface) error { return nil }

// streetLinux is the Linux beside hostifd. It ignores devices, and has neighbours that answer.
type streetLinux struct{ s *street }

func (streetLinux) Ours() ([]string, error) { return nil, nil }

func (streetLinux) Set(string, hostifd.Device, hostifd.Device, bool) error { return nil }

func (streetLinux) Remove(string) error { return nil }

func (streetLinux) SetRoutes([]schema.Route) error { return nil }

func (streetLinux) Links(context.Context, func(string, int)) error { return nil }

func (streetLinux) Neighbors(context.Context, func(hostifd.Neighbor)) error { return nil }

func (streetLinux) Advice() []string { return nil }

func (streetLinux) RemoveNeighbor(hostifd.Neighbor) error { return nil }

func (l streetLinux) SetNeighbor(n hostifd.Neighbor, _ bool) error { return l.Ask(n) }

func (streetLinux) Configured() ([]hostifd.Neighbor, error) { return nil, nil }

func (l streetLinux) Ask(n hostifd.Neighbor) error {
	l.s.asked = append(l.s.asked, n)
	return nil
}

// route adds a route to a neighbour.
func (s *street) route(n int) {
	s.Helper()
	s.set(schema.AppRoute, fmt.Sprintf("10.9.%d.0/24", n), swss.FieldValues{
		"protocol": "bgp", "nexthop": fmt.Sprintf("10.0.0.%d", n), "ifname": "Ethernet0", "weight": "1",
	})
}

// peer adds an LLDP neighbour at a port.
func (s *street) peer(port, name string, last byte) {
	s.Helper()
	a := lldp.New()
	a.Configure(s.now, lldp.System{MAC: [6]byte{2, 0, 0, 0, 1, last}, Name: name}, []lldp.Port{{Name: "Ethernet96"}})
	s.peers[port] = a
	s.step()
}

// hostd and hostifd behave alike. They write the same rows for neighbours, which they resolve again, for LLDP, for
// addresses that another host uses too, and for traps.
func TestHostsAlike(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(hostKinds)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStreet(t, kind)
			neighbors := func() []string {
				return append(s.rows(swss.ApplDB, schema.AppNeigh, "neigh", "family"),
					s.rows(swss.StateDB, schema.StateHostNeigh, "state", "neigh")...)
			}
			s.pass(3 * time.Second)
			s.want("traps", s.rows(swss.ApplDB, schema.AppCOPP, "trap_action", "trap_ids"),
				"host-arp copy arp_req,arp_resp,neigh_discovery", "host-error trap l3_mtu_error,neighbor_miss,ttl_error",
				"host-ip2me trap ip2me")
			addresses := func() []string { return s.rows(swss.StateDB, schema.StateHostAddress, "state", "neigh") }
			usable := []string{
				"Ethernet0|10.0.0.1/24 usable", "Ethernet0|2001:db8::1/64 usable", "Ethernet0|fe80::ff:fe00:aa/64 usable",
			}
			s.want("addresses", addresses(), usable...)

			s.comes("10.0.0.2", 2)
			s.route(2)
			s.pass(8 * time.Second)
			s.want("a next hop", neighbors(), "Ethernet0:10.0.0.2 02:00:00:00:00:02 IPv4",
				"Ethernet0|10.0.0.2 REACHABLE 02:00:00:00:00:02")
			states := swss.NewTable(s.r.DB(swss.StateDB), schema.StateHostNeigh)
			row, _, err := states.Get(t.Context(), "Ethernet0|10.0.0.2")
			at, bad := time.Parse(time.RFC3339, row["confirmed"])
			if err != nil || bad != nil || s.now.Sub(at) > 9*time.Second {
				t.Errorf("it is confirmed %q at %s, %v", row["confirmed"], s.now.UTC(), err)
			}
			s.pass(330 * time.Second)
			s.want("it has answered again", s.rows(swss.ApplDB, schema.AppNeigh, "neigh"),
				"Ethernet0:10.0.0.2 02:00:00:00:00:02")
			s.goes("10.0.0.2", 2)
			s.pass(330 * time.Second)
			s.want("it does not answer when it is asked again", s.rows(swss.ApplDB, schema.AppNeigh))

			s.comes("10.0.0.1", 0x99)
			s.pass(2 * time.Second)
			conflict := []string{"Ethernet0|10.0.0.1/24 conflict 02:00:00:00:00:99", usable[1], usable[2]}
			s.want("a host with the gateway's address", addresses(), conflict...)
			s.pass(200 * time.Second)
			s.want("it stays", addresses(), conflict...)
			s.goes("10.0.0.1", 0x99)
			s.pass(90 * time.Second)
			s.want("it has gone", addresses(), usable...)

			s.peer("Ethernet4", "spine", 1)
			s.pass(2 * time.Second)
			heard := s.rows(swss.ApplDB, schema.AppLLDPEntry, "lldp_rem_sys_name", "lldp_rem_port_id", "lldp_rem_chassis_id")
			s.want("LLDP", heard, "Ethernet4 spine Ethernet96 02:00:00:00:01:01")
			delete(s.peers, "Ethernet4")
			s.pass(lldp.TTL + 2*time.Second)
			s.want("LLDP, silent", s.rows(swss.ApplDB, schema.AppLLDPEntry))
		})
	}
}

// A streetEvent records whether a host or neighbour is present, and since when. The switch's rows must follow.
type streetEvent struct {
	is    bool
	since time.Time
}

// Hosts with the gateway's address and LLDP neighbours appear and disappear at random. With each daemon, the matching
// rows appear soon, stay while the neighbour is present, and disappear soon after it.
func TestRandomStreet(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 381_200, Count: 4, Short: 3}, func(t *testing.T, seed uint64) {
		for _, kind := range slices.Sorted(maps.Keys(hostKinds)) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			s := newStreet(t, kind)
			intruder := streetEvent{since: s.now}
			peers := map[string]streetEvent{"Ethernet0": intruder, "Ethernet4": intruder}
			for range 25 {
				switch port := []string{"Ethernet0", "Ethernet4"}[rnd.IntN(2)]; rnd.IntN(4) {
				case 0:
					if intruder = (streetEvent{!intruder.is, s.now}); intruder.is {
						s.comes("10.0.0.1", 0x99)
					} else {
						s.goes("10.0.0.1", 0x99)
					}
				case 1:
					is := streetEvent{!peers[port].is, s.now}
					if peers[port] = is; is.is {
						s.peer(port, "at "+port, 1)
					} else {
						delete(s.peers, port)
					}
				}
				s.pass(time.Duration(2+rnd.IntN(60)) * time.Second)
				check := func(what string, e streetEvent, stays time.Duration, there bool) {
					t.Helper()
					if long := s.now.Sub(e.since); there != e.is && (e.is || long > stays) {
						t.Fatalf("%s: %s is %v for %s, and its row %v", kind, what, e.is, long, there)
					}
				}
				const conflict = "Ethernet0|10.0.0.1/24 conflict 02:00:00:00:00:99"
				addresses := s.rows(swss.StateDB, schema.StateHostAddress, "state", "neigh")
				check("the host", intruder, 82*time.Second, slices.Contains(addresses, conflict))
				heard := s.rows(swss.ApplDB, schema.AppLLDPEntry, "lldp_rem_sys_name")
				for port, e := range peers {
					check("the switch at "+port, e, lldp.TTL+2*time.Second, slices.Contains(heard, port+" at "+port))
				}
			}
		}
	})
}
