package truth

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/ifa"
)

// A frame with IFA is in the same groups and flow as without. A frame of protocol 253 with an incomplete IFA header is
// in those of that protocol.
func TestThroughIFA(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 36_300, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		for range 200 {
			name := []string{"udp4", "tcp4 syn", "vlan 10", "udp6"}[r.IntN(4)]
			plain, err := hex.DecodeString(strings.ReplaceAll(frames[name], " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			l3, at, proto, size := 14, 20, byte(17), 8
			switch name {
			case "tcp4 syn":
				proto, size = 6, 20
			case "vlan 10":
				l3 = 18
			case "udp6":
				at = 40
			}
			ip := ifa.Insert(bytes.Clone(plain[l3:]), at, size, ifa.Header{GNS: ifa.PerHop, Next: proto, MaxLength: 255},
				ifa.Metadata{HopLimit: 255}, &ifa.Hop{Device: 1})
			for range r.IntN(7) {
				p, err := ifa.Locate(ip)
				if err != nil {
					t.Fatal(err)
				}
				ip = p.Push(ip, &ifa.Hop{Device: r.Uint32()})
			}
			var want, got fields
			want.parse(plain, len(plain), 7)
			with := slices.Concat(plain[:l3], ip)
			if got.parse(with, len(with), 7); got != want {
				t.Fatalf("%s with IFA, %x, is %+v, want %+v", name, with, got, want)
			}
			damaged := bytes.Clone(with)
			damaged[l3+at] ^= 1 << (4 + r.IntN(4)) // another version
			if got.parse(damaged, len(damaged), 7); got.proto != 253 || got.ports {
				t.Fatalf("damaged IFA, %x, is %+v", damaged, got)
			}
		}
	})
}
