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

// spoken is the row of a PortChannel that speaks LACP, as hostd has it.
const spoken = "links=1 runner.active=true runner.fast_rate=true runner.fallback=false"

// A PortChannel that speaks LACP is deleted as any other: what OpenConfig shows of its LACP is no user of it.
func TestDeleteOfAPortChannelThatSpeaksLACP(t *testing.T) {
	rows := map[string]string{
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000", "CONFIG_DB PORTCHANNEL|PortChannel9": "admin_status=up mtu=9100",
		"CONFIG_DB PORTCHANNEL_MEMBER|PortChannel9|Ethernet0": "NULL=NULL", "CONFIG_DB VLAN|Vlan10": "vlanid=10",
		"STATE_DB LACP_TABLE|PortChannel9":                  spoken,
		"STATE_DB LACP_MEMBER_TABLE|PortChannel9|Ethernet0": "runner.selected=true",
	}
	for name, req := range map[string]*gpb.SetRequest{
		"delete":              deleting(interfaceList + "[name=PortChannel9]"),
		"replace of the list": replacing(update("/interfaces", `{"interface":[]}`)),
		"replace of all":      replacing(update("/", `{}`)),
	} {
		b := newBed(t, nil)
		b.rows(rows)
		b.mustSet(req)
		if b.row("PORTCHANNEL|PortChannel9") != "" || b.row("PORTCHANNEL_MEMBER|PortChannel9|Ethernet0") != "" {
			t.Errorf("%s: there is\n%s", name, b.config())
		}
	}
	b := newBed(t, nil)
	b.rows(rows)
	b.rows(map[string]string{"CONFIG_DB VLAN_MEMBER|Vlan10|PortChannel9": "tagging_mode=tagged"})
	_, err := b.client.Set(b.ctx, deleting(interfaceList+"[name=PortChannel9]"))
	wantErr(t, err, "FailedPrecondition", "in use by vlan 10 member PortChannel9")
}

// What belongs to a PortChannel or VLAN goes with it, unless the same Set writes it.
func TestOwnedGoesWithItsOwner(t *testing.T) {
	rows := map[string]string{
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000",
		"CONFIG_DB VLAN|Vlan6":     "vlanid=6", "CONFIG_DB VLAN|Vlan60": "vlanid=60",
		"CONFIG_DB VLAN_INTERFACE|Vlan6": "NULL=NULL", "CONFIG_DB VLAN_INTERFACE|Vlan6|10.6.0.1/24": "NULL=NULL",
		"CONFIG_DB VLAN_INTERFACE|Vlan60": "NULL=NULL", "CONFIG_DB VLAN_INTERFACE|Vlan60|10.60.0.1/24": "NULL=NULL",
		"CONFIG_DB NEIGH|Vlan6|10.6.0.2":                            "neigh=02:00:00:00:00:01 family=IPv4",
		"CONFIG_DB FDB|Vlan6|02:00:00:00:00:01":                     "port=Ethernet0",
		"CONFIG_DB FDB|Vlan60|02:00:00:00:00:01":                    "port=Ethernet0",
		"CONFIG_DB PORTCHANNEL|PortChannel6":                        "admin_status=up",
		"CONFIG_DB PORTCHANNEL_INTERFACE|PortChannel6":              "mtu=1500",
		"CONFIG_DB PORTCHANNEL_INTERFACE|PortChannel6|192.0.2.9/30": "NULL=NULL",
	}
	const pc, vlan = interfaceList + "[name=PortChannel6]", vlanList + "[vlan-id=6]"
	again := update(pc, `{"config":{"name":"PortChannel6","type":"ieee8023adLag"}}`)
	vlan6 := []string{"VLAN_INTERFACE|Vlan6", "VLAN_INTERFACE|Vlan6|10.6.0.1/24", "NEIGH|Vlan6|10.6.0.2",
		"FDB|Vlan6|02:00:00:00:00:01"}
	vlan60 := []string{"VLAN_INTERFACE|Vlan60", "VLAN_INTERFACE|Vlan60|10.60.0.1/24", "FDB|Vlan60|02:00:00:00:00:01"}
	address := "PORTCHANNEL_INTERFACE|PortChannel6|192.0.2.9/30"
	channel6 := []string{"PORTCHANNEL|PortChannel6", "PORTCHANNEL_INTERFACE|PortChannel6", address}
	for name, tt := range map[string]struct {
		req        *gpb.SetRequest
		gone, stay []string
	}{
		"VLAN":       {deleting(vlan), vlan6, vlan60},
		"their VLAN": {deleting(theirVLANs + "/vlan[vlan-id=6]"), vlan6, vlan60},
		"all VLANs":  {deleting("/vlans"), slices.Concat(vlan6, vlan60), channel6},
		"VLANs but one, by replace": {
			replacing(update("/vlans", `{"vlan":[{"vlan-id":60,"config":{"vlan-id":60}}]}`)), vlan6, vlan60,
		},
		"PortChannel": {deleting(pc), channel6, vlan6},
		"PortChannel that is made again": {
			&gpb.SetRequest{Delete: []*gpb.Path{path(pc)}, Update: []*gpb.Update{again}}, channel6[1:], channel6[:1],
		},
		"and has another address": {&gpb.SetRequest{Delete: []*gpb.Path{path(pc)}, Update: []*gpb.Update{again,
			update(addressAt("PortChannel6", "192.0.2.17")+"/config/prefix-length", "30")}},
			[]string{address}, []string{"PORTCHANNEL|PortChannel6", "PORTCHANNEL_INTERFACE|PortChannel6|192.0.2.17/30"}},
		"PortChannels, by replace": {replacing(update("/interfaces", `{"interface":[]}`)), channel6, vlan6},
	} {
		b := newBed(t, nil)
		b.rows(rows)
		b.mustSet(tt.req)
		for _, key := range tt.gone {
			if got := b.row(key); got != "" {
				t.Errorf("%s: %s is still there: %s", name, key, got)
			}
		}
		for _, key := range tt.stay {
			if b.row(key) == "" {
				t.Errorf("%s: %s is gone", name, key)
			}
		}
	}
}

// An owner is a PortChannel or VLAN of a random test, with what belongs to it.
type owner struct{ addresses, neighbours map[string]bool }

// made returns the updates that make an owner.
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

// PortChannels, VLANs, their addresses and neighbours come and go in a random order: what is configured then is what a
// fresh switch has that was given only what is left.
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

// bare reports whether a line is that of an interface that routes and is there: it may have lost its addresses, or
// never have had one.
func bare(line string, left map[string]owner) bool {
	row, _, _ := strings.Cut(line, ":")
	table, name, _ := strings.Cut(row, "|")
	_, there := left[name]
	return strings.HasSuffix(table, "_INTERFACE") && there
}
