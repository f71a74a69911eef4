package flymon_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ text, canonical, flow, bad string }{
		{"none", "none", "", ""},
		{"src-ip", "src-ip", "10.1.2.3", ""},
		{"src-ip/24", "src-ip/24", "10.1.2.0", ""},
		{"src-ip/24", "src-ip/24", "2001:d00::", ""},
		{"src-ip,dst-ip", "ip-pair", "10.0.0.1,10.0.0.2", ""},
		{"ip-pair", "ip-pair", "2001:db8::1,2001:db8::2", ""},
		{"dst-port,src-ip", "src-ip,dst-port", "10.0.0.1,443", ""},
		{"5-tuple", "5-tuple", "10.0.0.1,10.0.0.2,1024,443,6", ""},
		{"src-port&0xff00", "src-port/8", "4096", ""},
		{"src-port&0x00ff", "src-port&0x00ff", "255", ""},
		{"src-ip&0xff0000ff", "src-ip&0xff0000ff000000000000000000000000", "10.0.0.7", ""},
		{"timestamp", "timestamp", "1767323045000000000", ""},
		{"protocol,timestamp/54", "protocol,timestamp/54", "17,1024", ""},
		{"src-ip,src-ip/8", "", "", "twice"},
		{"src-ip/0", "", "", "1 to 128"},
		{"src-ip/129", "", "", "1 to 128"},
		{"vlan", "", "", `key field "vlan"`},
		{"", "", "", `key field ""`},
		{"src-port&0", "", "", "4 hexadecimal"},
		{"src-port&0x0000", "", "", "mask is 0"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			k, err := flymon.ParseKey(tt.text)
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) {
					t.Fatalf("error %v, want one with %q", err, tt.bad)
				}
				return
			}
			if err != nil || k.String() != tt.canonical {
				t.Fatalf("%q, %v, want %q", k, err, tt.canonical)
			}
			if tt.flow == "" {
				return
			}
			v, err := k.Flow(tt.flow)
			if err != nil || k.Format(v) != tt.flow {
				t.Errorf("%q, %v, want %q", k.Format(v), err, tt.flow)
			}
			for _, bad := range []string{"", tt.flow + ",1", "x"} {
				if _, err := k.Flow(bad); err == nil {
					t.Errorf("flow %q is taken", bad)
				}
			}
		})
	}
}

// A flow that a user writes equals the flow of a packet.
func TestFlowOfPacket(t *testing.T) {
	for _, addr := range []string{"10.1.2.3", "2001:db8::77"} {
		src := netip.MustParseAddr(addr)
		v := flymon.Make(src, src.Next(), 1000, 443, 6, 12345)
		for _, key := range []string{"src-ip", "ip-pair", "5-tuple", "src-ip/16,dst-port", "protocol",
			"src-port/4,timestamp"} {
			k, err := flymon.ParseKey(key)
			if err != nil {
				t.Fatal(err)
			}
			if f, err := k.Flow(k.Format(v)); err != nil || f != v.And(k) {
				t.Errorf("%s of %s: %v, %v, want %v", key, addr, f, err, v.And(k))
			}
		}
	}
}

func TestFilters(t *testing.T) {
	tcp := flymon.Make(netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.168.0.9"), 1000, 443, 6, 0)
	six := flymon.Make(netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 1000, 443, 17, 0)
	arp := flymon.Vector{}
	for _, tt := range []struct {
		text, canonical string
		tcp, six, arp   bool
		entries         int
	}{
		{"any", "any", true, true, true, 1},
		{"", "any", true, true, true, 1},
		{"src-ip=10.0.0.0/8", "src-ip=10.0.0.0/8", true, false, false, 1},
		{"dst-ip=192.168.0.9", "dst-ip=192.168.0.9/32", true, false, false, 1},
		{"src-ip=2001:db8::/32", "src-ip=2001:db8::/32", false, true, false, 1},
		{"src-ip=::/0", "src-ip=::/0", false, true, false, 1},
		{"protocol=6", "protocol=6", true, false, false, 1},
		{"protocol=0", "protocol=0", false, false, false, 1},
		{"dst-port=443", "dst-port=443", true, true, false, 1},
		{"dst-port=400-500", "dst-port=400-500", true, true, false, 6},
		{"src-port=0-65535", "src-port=0-65535", true, true, false, 1},
		{"ip=6", "ip=6", false, true, false, 1},
		{"ip=4,protocol=6,src-port=1-3,dst-port=443", "src-port=1-3,dst-port=443,protocol=6,ip=4", false, false, false, 2},
	} {
		f, err := flymon.ParseFilter(tt.text)
		if err != nil || f.String() != tt.canonical || f.Entries() != tt.entries {
			t.Errorf("%q: %q with %d entries, %v, want %q with %d", tt.text, f, f.Entries(), err, tt.canonical, tt.entries)
		}
		if f.Matches(&tcp, true) != tt.tcp || f.Matches(&six, true) != tt.six || f.Matches(&arp, false) != tt.arp {
			t.Errorf("%q matches %v, %v, %v", tt.text, f.Matches(&tcp, true), f.Matches(&six, true), f.Matches(&arp, false))
		}
	}
	for _, bad := range []string{"src-ip", "src-ip=x", "src-ip=10.0.0.0/33", "dst-port=5-4", "dst-port=70000",
		"protocol=256", "ip=5", "vlan=3",
		"src-ip=10.0.0.0/8,src-ip=10.0.0.0/8", "src-ip=10.0.0.0/8,dst-ip=::1", "ip=6,src-ip=1.2.3.4",
		"src-ip=::ffff:1.2.3.4/128"} {
		if f, err := flymon.ParseFilter(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, f)
		}
	}
}

// Meets reports true exactly if a packet exists that matches both filters.
func TestFiltersMeet(t *testing.T) {
	fixed, met := randtest.Cases{Seed: 11}, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		random := func() flymon.Filter {
			var items []string
			add := func(item string) {
				if r.IntN(2) == 0 {
					items = append(items, item)
				}
			}
			bits := []string{"0.0.0.0/1", "128.0.0.0/1", "192.0.0.0/2", "64.0.0.0/2", "10.0.0.0/7", "0.0.0.0/0"}
			add("src-ip=" + bits[r.IntN(len(bits))])
			add("dst-ip=" + bits[r.IntN(len(bits))])
			ports := []string{"0-3", "2-5", "4", "7-9"}
			add("src-port=" + ports[r.IntN(len(ports))])
			add("dst-port=" + ports[r.IntN(len(ports))])
			protocols := []string{"6", "17"}
			add("protocol=" + protocols[r.IntN(2)])
			f, err := flymon.ParseFilter(strings.Join(items, ","))
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		addrs := []netip.Addr{}
		for _, a := range []string{"10.0.0.1", "200.0.0.1", "130.0.0.1", "70.0.0.1", "33.0.0.1"} {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		for range 300 {
			a, b := random(), random()
			common := false
			for _, src := range addrs {
				for _, dst := range addrs {
					for sport := range uint16(10) {
						for dport := range uint16(10) {
							v := flymon.Make(src, dst, sport, dport, []uint8{6, 17}[dport%2], 0)
							w := flymon.Make(src, dst, sport, dport, []uint8{17, 6}[dport%2], 0)
							common = common || a.Matches(&v, true) && b.Matches(&v, true) || a.Matches(&w, true) && b.Matches(&w, true)
						}
					}
				}
			}
			if a.Meets(&b) != common || b.Meets(&a) != common {
				t.Fatalf("%s and %s meet: %v, want %v", a, b, a.Meets(&b), common)
			}
			if common {
				met++
			}
		}
	})
	if c.Whole(fixed) && (met == 0 || met == 300*c.Count) {
		t.Errorf("%d of %d meet: the test shows nothing", met, 300*c.Count)
	}
}

// The fast form of the compression returns the same as its slow definition.
func TestCompress(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for group := range 10 {
			for unit := range 3 {
				var v flymon.Vector
				var mask flymon.Key
				for i := range v {
					v[i] = r.Uint64()
					if r.IntN(3) > 0 {
						mask[i] = r.Uint64() & r.Uint64()
					}
				}
				c, poly := flymon.NewCompressor(mask), flymon.Poly(group, unit)
				for range 2 {
					got, want := c.Sum(flymon.PolyNumber(group, unit), &v), flymon.Compress(poly, v.And(mask))
					if got != want {
						t.Errorf("group %d, unit %d, mask %x, vector %x: %#x, want %#x", group, unit, mask, v, got, want)
					}
					v[0], v[1], v[2], v[3] = v[0]>>32<<32, 0, v[2]>>32<<32, 0 // as of IPv4
				}
			}
		}
	})
	for g := range 6 {
		if flymon.Poly(g, 1) != flymon.Poly(g+4, 0) {
			t.Errorf("group %d: unit 1 and unit 0 four groups on differ", g)
		}
		for u := range 2 {
			if flymon.Poly(g, u) == flymon.Poly(g, u+1) || flymon.Poly(g, u) == flymon.Poly(g+1, u) ||
				flymon.Poly(g, u) == flymon.Poly(g+4, u) {
				t.Errorf("group %d, unit %d: the polynomial of a neighbour", g, u)
			}
		}
	}
}

// Consecutive addresses fill buckets as random ones do. With n addresses in m buckets, m e^(-n/m) buckets stay empty,
// within four standard deviations.
func TestSequentialAddresses(t *testing.T) {
	const n, m = 3000, 8192
	c := flymon.NewCompressor(key(t, "src-ip"))
	for _, shift := range []int{0, 8, 19} {
		used := map[uint32]bool{}
		for i := range n {
			v := flymon.Make(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), netip.Addr{}, 0, 0, 0, 0)
			used[c.Sum(0, &v)>>shift%m] = true
		}
		empty, ratio := float64(m-len(used)), float64(n)/m
		want := m * math.Exp(-ratio)
		dev := math.Sqrt(m * math.Exp(-ratio) * (1 - (1+ratio)*math.Exp(-ratio)))
		if math.Abs(empty-want) > 4*dev {
			t.Errorf("from bit %d: %.0f empty buckets, want %.0f +- %.0f", shift, empty, want, dev)
		}
	}
}

func geometry() flymon.Geometry {
	return flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 16, Depth: 65536, Partitions: 32,
		MapEntries: 64, Digests: 16}
}

func key(t testing.TB, s string) flymon.Key {
	t.Helper()
	k, err := flymon.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Translation of the partition [m/2, 3m/4) by shift and by TCAM equals figure 9.
func TestAddressTranslation(t *testing.T) {
	g := geometry()
	const m = 65536
	l := flymon.Layout{
		Task: "t", Masks: []flymon.MaskRule{{Group: 0, Unit: 0, Key: key(t, "src-ip")}}, Measures: "frequency",
		Units: []flymon.Unit{{Op: flymon.CondAdd, Base: m / 2, Size: m / 4, P1: flymon.Param{From: flymon.Const, Value: 1},
			P2: flymon.Param{From: flymon.Const, Value: 65535}}},
	}
	if err := l.Check(&g); err != nil {
		t.Fatal(err)
	}
	v := flymon.Make(netip.MustParseAddr("10.9.8.7"), netip.MustParseAddr("10.0.0.1"), 1, 2, 6, 0)
	c := l.Compressed(0, l.Units[0].Key, v) % m
	if got := l.Bucket(&g, 0, v); got != c%(m/4) {
		t.Errorf("by TCAM %d, want %d", got, c%(m/4))
	}
	if n := l.Units[0].Translation(&g); n != 4 {
		t.Errorf("%d TCAM entries, want three and a default", n)
	}
	l.Units[0].Shifted = true
	if got := l.Bucket(&g, 0, v); got != c>>2 {
		t.Errorf("by shift %d, want %d", got, c>>2)
	}
}

func TestLayoutsThatNoChipAccepts(t *testing.T) {
	g := geometry()
	good := func() flymon.Layout {
		p := flymon.Param{From: flymon.Const, Value: 1}
		return flymon.Layout{
			Task: "t", Measures: "frequency", Masks: []flymon.MaskRule{{Group: 0, Unit: 0, Key: key(t, "src-ip")},
				{Group: 4, Unit: 0, Key: key(t, "src-ip")}},
			Units: []flymon.Unit{
				{Op: flymon.CondAdd, Size: 2048, P1: p, P2: p},
				{Group: 4, Op: flymon.CondAdd, Size: 2048, P1: p, P2: flymon.Param{From: flymon.Least, Of: []int{0}}},
			},
		}
	}
	for _, tt := range []struct {
		name, want string
		change     func(l *flymon.Layout)
	}{
		{"as it is", "", func(*flymon.Layout) {}},
		{"no name", `task ""`, func(l *flymon.Layout) { l.Task = "" }},
		{"short epoch", "epoch is 5 ns", func(l *flymon.Layout) { l.Epoch = 5 }},
		{"group", "group is 12, want 0 to 11", func(l *flymon.Layout) { l.Units[1].Group = 12 }},
		{"cmu", "cmu is -1", func(l *flymon.Layout) { l.Units[0].CMU = -1 }},
		{"size", "size is 3000", func(l *flymon.Layout) { l.Units[0].Size = 3000 }},
		{"small", "size is 1024, want a power of two from 2048", func(l *flymon.Layout) { l.Units[0].Size = 1024 }},
		{"two banks", "size is 65536, want a power of two from 2048 to 32768",
			func(l *flymon.Layout) { l.Epoch = 1e9; l.Units[0].Size = 65536 }},
		{"base", "base is 1024, want a multiple of 2048", func(l *flymon.Layout) { l.Units[0].Base = 1024 }},
		{"base beyond", "base is 65536", func(l *flymon.Layout) { l.Units[0].Base = 65536 }},
		{"no mask", "want hash units of group 0 that masks names", func(l *flymon.Layout) { l.Units[0].Key.A = 1 }},
		{"xor with itself", "want hash units", func(l *flymon.Layout) { l.Units[0].Key.B = 1 }},
		{"operation", `op "sub"`, func(l *flymon.Layout) { l.Units[0].Op = "sub" }},
		{"source", `from "ttl"`, func(l *flymon.Layout) { l.Units[0].P1.From = "ttl" }},
		{"too near", "in a group at least 4 before group 3", func(l *flymon.Layout) {
			l.Units[1].Group, l.Masks[1].Group = 3,
				3
		}},
		{"of itself", "of unit 1, want one before it", func(l *flymon.Layout) { l.Units[1].P2.Of[0] = 1 }},
		{"no result", "0 units", func(l *flymon.Layout) { l.Units[0].P1.From, l.Units[0].P1.Of = flymon.Const, []int{0} }},
		{"one cmu twice", "is taken by another unit", func(l *flymon.Layout) { l.Units[1] = l.Units[0] }},
		{"coin", "from 9 to 3", func(l *flymon.Layout) { l.Units[0].From, l.Units[0].To = 9, 3 }},
		{"mask twice", "each unit of the 12 groups of 3 at most once", func(l *flymon.Layout) { l.Masks[1] = l.Masks[0] }},
		{"digest", "want a unit of the task", func(l *flymon.Layout) { l.Digest = &flymon.Digest{Unit: 2, Threshold: 1} }},
		{"measures", "measures: attribute", func(l *flymon.Layout) { l.Measures = "weight" }},
		{"ports", "filter: ports 9 to 3, want the lower one first", func(l *flymon.Layout) {
			l.Filter.DstPort = flymon.Ports{Lo: 9, Hi: 3, Has: true}
		}},
		{"nothing", "units: 0", func(l *flymon.Layout) { l.Units = nil }},
	} {
		l := good()
		tt.change(&l)
		err := l.Check(&g)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Texts from users and JSON round-trip, and never cause a panic.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"5-tuple", "src-ip/24,dst-port&0x0f0f", "src-ip=10.0.0.0/8,dst-port=1-9",
		"distinct(src-ip)", "max(queue-length)", "10.0.0.1,2001:db8::1", "first,dirty"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := flymon.ParseKey(s); err == nil {
			if again, err := flymon.ParseKey(k.String()); err != nil || again != k {
				t.Errorf("key %q: %q, %v", s, again, err)
			}
			if v, err := k.Flow(s); err == nil && v != v.And(k) {
				t.Errorf("flow %q is more than its key", s)
			}
		}
		if x, err := flymon.ParseFilter(s); err == nil {
			if again, err := flymon.ParseFilter(x.String()); err != nil || again != x || x.Entries() < 1 {
				t.Errorf("filter %q: %q, %v", s, again, err)
			}
		}
		if a, err := flymon.ParseAttribute(s); err == nil {
			if again, err := flymon.ParseAttribute(a.String()); err != nil || again != a {
				t.Errorf("attribute %q: %q, %v", s, again, err)
			}
		}
		if x, err := flymon.ParseFlags(s); err == nil {
			if again, err := flymon.ParseFlags(x.String()); err != nil || again != x {
				t.Errorf("flags %q: %q, %v", s, again, err)
			}
		}
		key(t, "5-tuple").Flow(s)
	})
}
