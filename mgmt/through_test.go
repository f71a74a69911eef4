package mgmt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// oneField returns an update of one field of a row of CONFIG_DB.
func oneField(table, key, field string) *gpb.Update {
	return update(fmt.Sprintf("/config-rows/row[table=%s][key=%s]/config", table, key),
		fmt.Sprintf(`{"field":[%q]}`, field))
}

// A twin is a change of OpenConfig's nodes, and the same change of our nodes, which may need several Sets.
type twin struct {
	theirs *gpb.SetRequest
	ours   []*gpb.SetRequest
}

// A routed is the test's model of the configuration: prefix lengths by interface and address, the channel of each port,
// and admin_status of each VLAN, which may be empty.
type routed struct {
	length  map[[2]string]string
	channel map[string]string
	status  map[string]string
}

// addressAt returns OpenConfig's path of an address.
func addressAt(name, ip string) string {
	at := interfaceList + "[name=" + name + "]/subinterfaces/subinterface[index=0]"
	if strings.HasPrefix(name, "Vlan") {
		at = interfaceList + "[name=" + name + "]/routed-vlan"
	}
	family := "/ipv4"
	if strings.Contains(ip, ":") {
		family = "/ipv6"
	}
	return at + family + "/addresses/address[ip=" + ip + "]"
}

func ourRouted(name string) string { return routedList + "[name=" + name + "]" }

func ourAddress(name, ip, length string) string {
	return ourRouted(name) + "/addresses/address[prefix=" + ip + "/" + length + "]"
}

// address adds an address to an interface, or changes its prefix length.
func (s *routed) address(r *rand.Rand, name, ip string) twin {
	length := fmt.Sprint(8 + r.IntN(24))
	at := [2]string{name, ip}
	var tw twin
	if old := s.length[at]; old != "" && old != length {
		tw.ours = append(tw.ours, deleting(ourAddress(name, ip, old)))
	}
	s.length[at] = length
	tw.ours = append(tw.ours, updating(update(ourAddress(name, ip, length), `{}`)))
	switch r.IntN(3) {
	case 0:
		tw.theirs = updating(update(addressAt(name, ip)+"/config/prefix-length", length))
	case 1:
		tw.theirs = replacing(update(addressAt(name, ip), `{"config":{"ip":"`+ip+`","prefix-length":`+length+`}}`))
	default:
		tw.theirs = replacing(update(addressAt(name, ip)+"/config", `{"prefix-length":`+length+`}`))
	}
	return tw
}

// forget removes an address, or all addresses of an interface.
func (s *routed) forget(r *rand.Rand, name, ip string) twin {
	if !strings.HasPrefix(name, "Vlan") && r.IntN(4) == 0 {
		for at := range s.length {
			if at[0] == name {
				delete(s.length, at)
			}
		}
		whole := interfaceList + "[name=" + name + "]/subinterfaces"
		return twin{deleting(whole + []string{"", "/subinterface[index=0]", "/subinterface[index=*]"}[r.IntN(3)]),
			[]*gpb.SetRequest{deleting(ourRouted(name))}}
	}
	old := s.length[[2]string{name, ip}]
	delete(s.length, [2]string{name, ip})
	if old == "" {
		old = "9"
	}
	return twin{deleting(addressAt(name, ip)), []*gpb.SetRequest{deleting(ourAddress(name, ip, old))}}
}

// member adds a port to a channel, or removes it from its channel.
func (s *routed) member(r *rand.Rand, port string) twin {
	at := interfaceList + "[name=" + port + "]/ethernet/config"
	member := func(channel string) string {
		return interfaceList + "[name=" + channel + "]/aggregation/members/member[interface=" + port + "]"
	}
	var tw twin
	if old := s.channel[port]; old != "" {
		tw.ours = append(tw.ours, deleting(member(old)))
	}
	delete(s.channel, port)
	if r.IntN(3) == 0 {
		tw.theirs = deleting(at + "/aggregate-id")
		return tw
	}
	channel := fmt.Sprintf("PortChannel%d", 1+r.IntN(2))
	s.channel[port] = channel
	tw.ours = append(tw.ours, updating(update(member(channel), `{}`)))
	tw.theirs = updating(update(at+"/aggregate-id", `"`+channel+`"`))
	return tw
}

// speed sets the rate of a port, or whether it negotiates.
func (s *routed) speed(r *rand.Rand, port string) twin {
	at := interfaceList + "[name=" + port + "]/ethernet/config"
	if r.IntN(2) == 0 {
		on := r.IntN(2) == 0
		word := map[bool]string{true: "on", false: "off"}[on]
		return twin{updating(update(at+"/auto-negotiate", fmt.Sprint(on))),
			[]*gpb.SetRequest{updating(oneField("PORT", port, "autoneg="+word))}}
	}
	speeds := []string{
		"SPEED_10MB", "10", "SPEED_100MB", "100", "SPEED_1GB", "1000", "SPEED_2500MB", "2500", "SPEED_5GB", "5000",
		"SPEED_10GB", "10000", "SPEED_25GB", "25000", "SPEED_40GB", "40000", "SPEED_50GB", "50000",
		"SPEED_100GB", "100000", "SPEED_200GB", "200000", "SPEED_400GB", "400000", "SPEED_800GB", "800000",
		"SPEED_1600GB", "1600000",
	}
	i := r.IntN(len(speeds)/2) * 2
	return twin{updating(update(at, `{"port-speed":"openconfig-if-ethernet:`+speeds[i]+`"}`)),
		[]*gpb.SetRequest{updating(oneField("PORT", port, "speed="+speeds[i+1]))}}
}

// whole replaces an interface, with everything below it.
func (s *routed) whole(r *rand.Rand, port string) twin {
	at, mtu := interfaceList+"[name="+port+"]", 1000+r.IntN(1000)
	config := fmt.Sprintf(`{"mtu":%d,"enabled":true}`, mtu)
	doc := `{"config":` + config
	tw := twin{theirs: replacing(update(at, doc+"}"))}
	if old := s.channel[port]; old != "" {
		tw.ours = append(tw.ours, deleting(interfaceList+"[name="+old+"]/aggregation/members/member[interface="+port+"]"))
		delete(s.channel, port)
	}
	// A port always has a rate.
	tw.ours = append(tw.ours, deleting(ourRouted(port)), deleting(at+"/ethernet/config/auto-negotiate"),
		replacing(update(at+"/config", config)))
	for k := range s.length {
		if k[0] == port {
			delete(s.length, k)
		}
	}
	if r.IntN(2) == 0 {
		return tw
	}
	s.length[[2]string{port, "10.0.0.1"}] = "8"
	tw.theirs = replacing(update(at, doc+`,"subinterfaces":{"subinterface":[{"index":0,"ipv4":{"addresses":{"address":[
		{"ip":"10.0.0.1","config":{"ip":"10.0.0.1","prefix-length":8}}]}}}]}}`))
	if r.IntN(2) == 0 {
		tw.theirs = &gpb.SetRequest{UnionReplace: tw.theirs.Replace}
	}
	tw.ours = append(tw.ours, updating(update(ourAddress(port, "10.0.0.1", "8"), `{}`)))
	return tw
}

const theirVLANs = "/network-instances/network-instance[name=default]/vlans"

// vlan creates a VLAN, up or down, or deletes it.
func (s *routed) vlan(r *rand.Rand) twin {
	id := fmt.Sprint(20 + r.IntN(3))
	at, ours := theirVLANs+"/vlan[vlan-id="+id+"]", vlanList+"[vlan-id="+id+"]"
	state, word := "ACTIVE", "up"
	if r.IntN(2) == 0 {
		state, word = "SUSPENDED", "down"
	}
	made := []*gpb.SetRequest{updating(update(ours, `{}`))}
	was, there := s.status[id]
	how := r.IntN(4)
	if how > 1 && (!there || word == "down" || was == "down") { // otherwise it has this value already
		made = append(made, updating(oneField("VLAN", "Vlan"+id, "admin_status="+word)))
		s.status[id] = word
	} else if !there {
		s.status[id] = ""
	}
	switch how {
	case 0:
		delete(s.status, id)
		return twin{deleting(at), []*gpb.SetRequest{deleting(ours)}}
	case 1:
		return twin{updating(update(at, `{}`)), made}
	case 2:
		return twin{updating(update(at+"/config/status", `"`+state+`"`)), made}
	}
	doc := `{"config":{"vlan-id":` + id + `,"name":"Vlan` + id + `","status":"` + state + `"}}`
	return twin{replacing(update(at, doc)), made}
}

func (s *routed) any(r *rand.Rand) twin {
	port := fmt.Sprintf("Ethernet%d", r.IntN(3)*4)
	name := []string{port, "PortChannel1", "Vlan10", "Loopback0"}[r.IntN(4)]
	ip := []string{"10.0.0.1", "10.0.0.2", "192.0.2.1", "2001:db8::1", "2001:db8::2"}[r.IntN(5)]
	switch r.IntN(7) {
	case 6:
		return s.vlan(r)
	case 0, 1:
		return s.address(r, name, ip)
	case 2:
		return s.forget(r, name, ip)
	case 3:
		return s.member(r, port)
	case 4:
		return s.speed(r, port)
	}
	return s.whole(r, port)
}

// withoutMark returns CONFIG_DB without the row that every Set rewrites.
func (b *bed) withoutMark() string {
	var out strings.Builder
	for line := range strings.Lines(b.config()) {
		if !strings.HasPrefix(line, "TAMTAM_MARK") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// settable returns all that can be set at a path, as a document.
func (b *bed) settable(p string) string {
	b.t.Helper()
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
}

// A write to OpenConfig's nodes makes the same rows as a write to our nodes, and both show the same data. A complete
// configuration stays the same when it is read and set again, also on an empty switch.
func TestThroughIsTheSame(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 6, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		rows := map[string]string{
			"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
			"CONFIG_DB PORT|Ethernet0":            "lanes=0 speed=100000", "CONFIG_DB PORT|Ethernet4": "lanes=4 speed=100000",
			"CONFIG_DB PORT|Ethernet8":           "lanes=8 speed=100000",
			"CONFIG_DB PORTCHANNEL|PortChannel1": "admin_status=up mtu=9100",
			"CONFIG_DB PORTCHANNEL|PortChannel2": "admin_status=up mtu=9100",
			"CONFIG_DB VLAN|Vlan10":              "vlanid=10", "CONFIG_DB VLAN_INTERFACE|Vlan10": "NULL=NULL",
			"CONFIG_DB LOOPBACK_INTERFACE|Loopback0": "NULL=NULL",
		}
		theirs, ours := newBedOn(t, swsstest.Start(t), nil), newBedOn(t, swsstest.Start(t), nil)
		theirs.rows(rows)
		ours.rows(rows)
		know := routed{map[[2]string]string{}, map[string]string{}, map[string]string{}}
		for range 12 {
			tw := know.any(r)
			_, err := theirs.server.Set(theirs.ctx, tw.theirs)
			var bad error
			for _, req := range tw.ours {
				if _, err := ours.server.Set(ours.ctx, req); err != nil {
					bad = err
				}
			}
			if err != nil || bad != nil {
				t.Fatalf("%v: %v; ours: %v", tw.theirs, err, bad)
			}
			if got, want := theirs.withoutMark(), ours.withoutMark(); got != want {
				t.Fatalf("behind %v there is\n%s\nbehind ours\n%s", tw.theirs, got, want)
			}
		}
		for at, length := range know.length {
			if got := theirs.settable(addressAt(at[0], at[1]) + "/config/prefix-length"); got != length {
				t.Errorf("%v has length %s, want %s", at, got, length)
			}
		}
		for port, channel := range know.channel {
			if got := theirs.settable(interfaceList + "[name=" + port + "]/ethernet/config/aggregate-id"); got != `"`+channel+
				`"` {
				t.Errorf("%s is in %s, want %s", port, got, channel)
			}
		}
		doc := theirs.settable("/")
		for at := range know.length {
			if !strings.Contains(doc, `"ip":"`+at[1]+`"`) || !strings.Contains(doc, at[1]+"/") || !json.Valid([]byte(doc)) {
				t.Errorf("a document of all lacks %v: %s", at, doc)
			}
		}
		theirs.mustSet(replacing(update("/", doc)))
		if got := theirs.settable("/"); got != doc {
			t.Errorf("what was read, and put back, is\n%s\nnot\n%s", got, doc)
		}
	})
}

// A role that may write only one of the two paths of the same data may write neither.
func TestThroughAsksBothPlaces(t *testing.T) {
	for lines, want := range map[string]string{
		"r write /interfaces\n":                                           "PermissionDenied",
		"r write /routing\nr read /interfaces\n":                          "PermissionDenied",
		"r write /interfaces\nr write /routing\n":                         "OK",
		"r write /interfaces\nr read /routing\n":                          "PermissionDenied",
		"r write /interfaces/interface/subinterfaces\nr write /routing\n": "OK",
	} {
		b := staffed(t, lines)
		before := b.withoutMark()
		_, err := b.server.Set(b.as("u"), updating(update(addressAt("Ethernet0", "10.0.0.1")+"/config/prefix-length", `8`)))
		wantErr(t, err, want)
		if want != "OK" && b.withoutMark() != before {
			t.Errorf("%q: it was written all the same", lines)
		}
		b.rows(map[string]string{"CONFIG_DB INTERFACE|Ethernet0": "NULL=NULL",
			"CONFIG_DB INTERFACE|Ethernet0|10.0.0.1/8": "NULL=NULL"})
		_, err = b.server.Set(b.as("u"), deleting(addressAt("Ethernet0", "10.0.0.1")))
		wantErr(t, err, want)
	}
}
