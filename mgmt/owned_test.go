package mgmt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// spoken is the STATE_DB row of a PortChannel that speaks LACP, as hostd writes it.
const spoken = "links=1 runner.active=true runner.fast_rate=true runner.fallback=false"

// An owner is a PortChannel or VLAN of a random test, with the addresses and neighbours that belong to it.
type owner struct{ addresses, neighbours map[string]bool }

// made returns the updates that create an owner.
func (o owner) made(name string) []*gpb.Update {
	us := []*gpb.Update{update(interfaceList+"[name="+name+"]", `{"config":{"name":"`+name+`","type":"ieee8023adLag"}}`)}
	if id, vlan := strings.CutPrefix(name, "Vlan"); vlan {
		us[0] = update(vlanList+"[vlan-id="+id+"]", `{}`)
	}
	for _, ip := range slices.Sorted(maps.Keys(o.addresses)) {
		us = append(us, update(addressAt(name, ip)+"/config/prefix-length", "24"))
	}
	for _, ip := range slices.Sorted(maps.Keys(o.neighbours)) {
		us = append(us, update(neighborList+"[interface="+name+"][address="+ip+"]",
			`{"config":{"mac-address":"02:00:00:00:00:09"}}`))
	}
	return us
}

// PortChannels, VLANs, their addresses and neighbours are created and deleted in a random order. The result equals the
// configuration of a fresh switch that was given only the remaining ones.
func TestRandomOwners(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 5, Count: 6, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		port := map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000"}
		b, names := newBedOn(t, swsstest.Start(t), nil), []string{"PortChannel1", "PortChannel10", "Vlan2", "Vlan20"}
		b.rows(port)
		for _, n := range names[:2] {
			b.rows(map[string]string{"STATE_DB LACP_TABLE|" + n: spoken})
		}
		left := map[string]owner{}
		for range 25 {
			name, ip := names[r.IntN(len(names))], fmt.Sprintf("10.%d.0.1", r.IntN(5))
			_, there := left[name]
			req := &gpb.SetRequest{}
			remove := func() {
				at := interfaceList + "[name=" + name + "]"
				if id, vlan := strings.CutPrefix(name, "Vlan"); vlan {
					at = []string{vlanList, theirVLANs + "/vlan"}[r.IntN(2)] + "[vlan-id=" + id + "]"
				}
				req.Delete = append(req.Delete, path(at))
				delete(left, name)
			}
			switch what := r.IntN(6); {
			case !there || what == 0:
				if there {
					remove()
				}
				left[name] = owner{map[string]bool{}, map[string]bool{}}
				if r.IntN(2) == 0 {
					left[name].addresses[ip] = true
				}
				req.Update = left[name].made(name)
			case what == 1:
				remove()
			case what == 2:
				req.Delete = append(req.Delete, path(addressAt(name, ip)))
				delete(left[name].addresses, ip)
			case what == 3:
				left[name].neighbours[ip] = true
				req.Update = left[name].made(name)
			default:
				left[name].addresses[ip] = true
				req.Update = left[name].made(name)
			}
			b.mustSet(req)
		}
		fresh := newBedOn(t, swsstest.Start(t), nil)
		fresh.rows(port)
		for _, name := range slices.Sorted(maps.Keys(left)) {
			fresh.mustSet(updating(left[name].made(name)...))
		}
		var got, want []string
		for line := range strings.Lines(b.withoutMark()) {
			if !bare(line, left) {
				got = append(got, line)
			}
		}
		for line := range strings.Lines(fresh.withoutMark()) {
			if !bare(line, left) {
				want = append(want, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("there is\n%s\nand a fresh switch has\n%s", strings.Join(got, ""), strings.Join(want, ""))
		}
	})
}

// bare reports whether a line is the row of an existing routed interface without an address. It may have lost its
// addresses, or never have had one.
func bare(line string, left map[string]owner) bool {
	row, _, _ := strings.Cut(line, ":")
	table, name, _ := strings.Cut(row, "|")
	_, there := left[name]
	return strings.HasSuffix(table, "_INTERFACE") && there
}
