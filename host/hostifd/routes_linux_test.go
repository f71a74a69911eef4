package hostifd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/host/netdev"
	"tamtam/internal/netns/netnstest"
	"tamtam/internal/randtest"
	"tamtam/swss/schema"
)

// staticRoutes lists the routes of protocol static that iproute2 shows, as "PREFIX METRIC HOP, HOP".
func staticRoutes(t *testing.T) (list []string) {
	t.Helper()
	for _, family := range []string{"-4", "-6"} {
		out, err := exec.Command("ip", "-j", family, "route", "show", "proto", "static").Output()
		type hop struct{ Gateway, Dev string }
		var routes []struct {
			hop
			Type, Dst string
			Metric    int
			Nexthops  []hop
		}
		if err == nil {
			err = json.Unmarshal(out, &routes)
		}
		if err != nil {
			t.Fatalf("ip route: %v: %s", err, out)
		}
		for _, r := range routes {
			if len(r.Nexthops) == 0 {
				r.Nexthops = []hop{r.hop}
			}
			var hops []string
			for _, h := range r.Nexthops {
				hops = append(hops, strings.TrimSpace(h.Gateway+" "+h.Dev))
			}
			if r.Type == "blackhole" {
				hops = []string{r.Type}
			}
			slices.Sort(hops)
			list = append(list, fmt.Sprint(r.Dst, " ", r.Metric, " ", strings.Join(hops, ", ")))
		}
	}
	slices.Sort(list)
	return list
}

// Linux has the target routes, whatever it had before, and the routes of other programs stay.
func TestRandomRoutesOfLinux(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TAP devices are root's")
	}
	if !netnstest.Own(t) {
		return
	}
	devices := netdev.NewKernel()
	for n, name := range []string{"Ethernet0", "Ethernet4"} {
		tap, err := devices.Open(name, [6]byte{})
		if err != nil {
			t.Skip(err)
		}
		defer tap.Close()
		d := Device{MAC: schema.MAC{2, 0, 0, 0, 0, byte(n)}, MTU: 1500, Up: true, Routed: true, Addrs: []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("10.0.%d.1/24", n)), netip.MustParsePrefix(fmt.Sprintf("2001:db8:%d::1/64", n)),
		}}
		if err := (Linux{}).Set(name, d, Device{}, true); err != nil {
			t.Fatal(err)
		}
	}
	ip(t, "link set lo up")
	ip(t, "route add 10.77.0.0/16 dev Ethernet0 proto static")
	ip(t, "route add 10.10.0.0/16 via 10.0.0.9 proto static metric 20")
	others := []string{"10.10.0.0/16 20 10.0.0.9 Ethernet0", "10.77.0.0/16 0 Ethernet0"}
	hops := map[bool][]schema.Hop{}
	for _, text := range []string{
		"10.0.0.2 Ethernet0", "10.0.1.2 Ethernet4", "10.0.0.3 Ethernet0", "192.0.2.1 Ethernet4",
		"2001:db8::2 Ethernet0", "2001:db8:1::2 Ethernet4", "fe80::2 Ethernet0",
	} {
		addr, name, _ := strings.Cut(text, " ")
		a := netip.MustParseAddr(addr)
		hops[a.Is4()] = append(hops[a.Is4()], schema.Hop{Addr: a, Interface: name, Weight: 1})
	}
	randtest.Run(t, randtest.Cases{Seed: 381_400, Count: 12, Short: 4}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		for range 5 {
			var routes []schema.Route
			want := slices.Clone(others)
			for _, prefix := range []string{"default", "10.10.0.0/16", "10.11.0.5", "2001:db8:a::/48", "2001:db8:b::5"} {
				r := schema.Route{Dest: schema.Dest{Prefix: netip.MustParsePrefix("0.0.0.0/0")}}
				if a, err := netip.ParseAddr(prefix); err == nil {
					r.Prefix = netip.PrefixFrom(a, a.BitLen())
				} else if prefix != "default" {
					r.Prefix = netip.MustParsePrefix(prefix)
				}
				all := hops[r.Prefix.Addr().Is4()]
				var text []string
				switch rnd.IntN(4) {
				case 0:
					continue
				case 1:
					r.Blackhole, text = true, []string{"blackhole"}
				default:
					rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					for _, h := range all[:1+rnd.IntN(2)] {
						r.Hops = append(r.Hops, h)
						text = append(text, h.Addr.String()+" "+h.Interface)
					}
				}
				routes = append(routes, r)
				slices.Sort(text)
				want = append(want, fmt.Sprint(prefix, " ", staticMetric, " ", strings.Join(text, ", ")))
			}
			for range 2 {
				if err := (Linux{}).SetRoutes(routes); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(want)
			if d := cmp.Diff(want, staticRoutes(t)); d != "" {
				t.Fatalf("-want +got\n%s", d)
			}
		}
	})
	if err := (Linux{}).SetRoutes(nil); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(others, staticRoutes(t)); d != "" {
		t.Errorf("at the end: -want +got\n%s", d)
	}
}
