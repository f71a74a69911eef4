package sketching

import (
	"math"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/lab"
	"tamtam/tam/flymon"
)

// A traffic has exactly the configured packets, in the order of time, and is the same for each run of a seed. Flows of
// another seed have other addresses and the same sizes.
func TestFlyMonTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, first uint64) {
		for _, tt := range []Traffic{
			{Packets: 20_000, Flows: 1000, Zipf: 1000, Time: lab.Second},
			{Packets: 20_000, Flows: 1000, Zipf: 1000, Time: lab.Second, Lifetime: 50 * lab.Millisecond},
			{Packets: 5000, Flows: 5000, Zipf: 1500, Time: lab.Millisecond},
			{Packets: 9000, Flows: 3000, Zipf: 0, Time: lab.Second, Destinations: Shares{Count: 100, Zipf: 1000}},
		} {
			var before []uint32
			for _, seed := range []uint64{first, first + 1} {
				sizes, hash := seeAll(t, &tt, seed)
				again, same := seeAll(t, &tt, seed)
				if hash != same {
					t.Errorf("%v: seed %d gives other packets the second time", &tt, seed)
				}
				var sum uint64
				for i, n := range sizes {
					sum += uint64(n)
					if n == 0 || n != again[i] || before != nil && n != before[i] || i > 0 && n > sizes[i-1] {
						t.Fatalf("%v: seed %d: flow %d has %d packets, want as with any seed, at least 1 and no more than flow %d", &tt,
							seed, i, n, i-1)
					}
				}
				if sum != tt.Packets || len(sizes) != tt.Flows {
					t.Errorf("%v: seed %d: %d packets of %d flows", &tt, seed, sum, len(sizes))
				}
				before = sizes
			}
			if want := math.Pow(2, float64(tt.Zipf)/1000); tt.Packets > 2*uint64(tt.Flows) &&
				math.Abs(float64(before[9])/float64(before[19])-want) > 0.1*want {
				t.Errorf("%v: flows 10 and 20 have %d and %d packets, want %.3g times as many", &tt, before[9], before[19], want)
			}
		}
	})
}

// seeAll draws all packets and checks each.
func seeAll(t *testing.T, traffic *Traffic, seed uint64) (sizes []uint32, hash uint64) {
	t.Helper()
	c := newCrowd(traffic, seed, "test")
	sizes = make([]uint32, traffic.Flows)
	first, last := make([]uint64, traffic.Flows), make([]uint64, traffic.Flows)
	var p sighting
	start, before := uint64(lab.Epoch().UnixNano()), uint64(0)
	for {
		ok, err := c.next(&p)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if p.at < before || p.at < start || p.at > start+uint64(traffic.Time/lab.Nanosecond) {
			t.Fatalf("%v: seed %d: a packet at %d behind one at %d, of a traffic from %d on", traffic, seed, p.at, before, start)
		}
		if before = p.at; sizes[p.flow] == 0 {
			first[p.flow] = p.at
		}
		last[p.flow] = p.at
		sizes[p.flow]++
		hash = (hash ^ p.at ^ uint64(p.flow)<<40) * 0x9e3779b97f4a7c15
	}
	sources, destinations := map[uint64]bool{}, map[uint64]int{}
	for _, v := range c.keys() {
		sources[v[0]] = true
		destinations[v[2]]++
		hash = (hash ^ v[0] ^ v[2] ^ v[4]) * 0x9e3779b97f4a7c15
	}
	want := traffic.Flows
	if traffic.Destinations.Count > 0 {
		want = traffic.Destinations.Count
	}
	if len(sources) != traffic.Flows || len(destinations) != want {
		t.Errorf("%v: seed %d: %d sources and %d destinations, want %d and %d", traffic, seed, len(sources),
			len(destinations), traffic.Flows, want)
	}
	// A flow with many packets extends over almost all of its time.
	if span := last[0] - first[0]; traffic.Lifetime == 0 && sizes[0] > 1000 &&
		span < uint64(traffic.Time/lab.Nanosecond)*9/10 {
		t.Errorf("%v: seed %d: the largest flow sends for %d ns", traffic, seed, span)
	}
	return sizes, hash
}

// fiveTuple returns the 5-tuple of a frame, or false for frames that have none.
func TestFiveTuple(t *testing.T) {
	ethernet := func(kind ...byte) []byte { return append(make([]byte, 12), kind...) }
	ip4 := func(first, fragment, protocol byte) []byte {
		b := append(ethernet(8, 0), make([]byte, 28)...)
		b[14], b[20], b[21], b[23] = first, fragment>>4, fragment&15, protocol
		copy(b[26:], []byte{10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4})
		return b
	}
	key, err := flymon.ParseKey("5-tuple")
	if err != nil {
		t.Fatal(err)
	}
	tagged := append(ethernet(0x81, 0, 0, 5), ip4(0x45, 0, 17)[12:]...)
	six := append(ethernet(0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 6, 64), make([]byte, 36)...)
	six[37], six[53], six[54], six[55] = 1, 2, 0, 80
	for _, tt := range []struct {
		name, want string
		frame      []byte
	}{
		{"udp", "10.0.0.1,10.0.0.2,258,772,17", ip4(0x45, 0, 17)},
		{"tagged", "10.0.0.1,10.0.0.2,258,772,17", tagged},
		{"icmp", "10.0.0.1,10.0.0.2,0,0,1", ip4(0x45, 0, 1)},
		{"fragment", "10.0.0.1,10.0.0.2,0,0,17", ip4(0x45, 1, 17)},
		{"IPv6", "::1,::2,80,0,6", six},
		{"no IP", "", ethernet(8, 6)},
		{"short header", "", ip4(0x44, 0, 17)},
		{"header longer than the frame", "", ip4(0x4f, 0, 17)},
		{"nothing", "", nil},
	} {
		v, ok := fiveTuple(tt.frame)
		if got := key.Format(v); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s: %v, %q, want %q", tt.name, ok, got, tt.want)
		}
	}
}

func FuzzFiveTuple(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Add(append(make([]byte, 12), 8, 0, 0x45))
	f.Add(append(make([]byte, 12), 0x81, 0, 0, 1, 0x86, 0xdd, 0x60))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, ok := fiveTuple(b); ok && v.Version() != 4 && v.Version() != 6 {
			t.Errorf("%v", v)
		}
	})
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{"16B": 16, "96KiB": 98304, "5MB": 5_000_000, "100KB": 100_000,
		"1MiB": 1 << 20} {
		var b Bytes
		if err := b.Parse(text); err != nil || b != want || b.String() != text {
			t.Errorf("%s: %v, %d, %s", text, err, b, b)
		}
	}
	for _, text := range []string{"", "16", "0B", "-1B", "1.5KiB", "65MiB", "KiB"} {
		if err := new(Bytes).Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
