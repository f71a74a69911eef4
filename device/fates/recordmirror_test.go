package fates

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tamtam/device"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/record"
)

// Copies for mirror sessions run no tables. With mirror sessions, packets have the same paths, counts and records as
// without, and no mirror copy has its own record. Each packet that enters or leaves the mirrored port is copied once.
func TestMirroredCopiesHaveNoPath(t *testing.T) {
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 3, Count: 1}, func(t *testing.T, seed uint64) {
		run := func(mirrored bool) (r *recorder, paths []record.PathCount, records, copies, passed int) {
			r = newRecordingWith(t, profile.Small(), nil, nil, func(c device.ConfigDB) {
				if mirrored {
					c["MIRROR_SESSION"] = map[string]swss.FieldValues{"far": {
						"src_ip": "10.255.0.1", "dst_ip": "10.9.0.5", "dscp": "8", "ttl": "64", "src_port": "Ethernet0",
						"direction": "BOTH",
					}}
				}
			})
			made := map[[2]uint64]bool{}
			port, _ := r.Chip.PortByName("Ethernet0")
			r.Chip.SetObserver(func(m saisim.Moment) {
				k := [2]uint64{m.Number, uint64(m.Copy)}
				made[k] = made[k] || m.What == saisim.MomentMirrored
				if came := m.What == saisim.MomentEntered && m.In == port; came ||
					m.What == saisim.MomentSent && m.Port == port && !made[k] {
					passed++
				}
				if made[k] && m.Trail.Graph != 0 {
					t.Errorf("a copy for a mirror session has a trail: %+v", m)
				}
			})
			r.send(storm(t, rand.New(rand.NewPCG(seed, 0)), 200)...)
			for _, is := range made {
				if is {
					copies++
				}
			}
			_, list := r.records(r.plan("s0"), r.plan("s1"))
			paths, _, _ = r.Chip.Paths()
			slices.SortFunc(paths, func(a, b record.PathCount) int {
				return cmp.Compare(fmt.Sprint(a.Path),
					fmt.Sprint(b.Path))
			})
			return r, paths, len(list), copies, passed
		}
		_, plain, records, before, _ := run(false) // the only copies are records
		_, mirrored, recordsToo, copies, passed := run(true)
		if !reflect.DeepEqual(plain, mirrored) || records != recordsToo || len(plain) == 0 || records == 0 {
			t.Errorf("with mirror sessions %d paths and %d records, without %d and %d", len(mirrored), recordsToo, len(plain),
				records)
		}
		if copies != before+passed || passed == 0 {
			t.Errorf("%d copies were made, %d without mirror sessions, and %d packets passed the port", copies, before, passed)
		}
	})
}
