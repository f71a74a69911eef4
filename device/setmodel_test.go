package device_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/value"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/status"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/mgmt"
	"tamtam/mgmt/tree"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// The interfaces of the model, by what may be configured on them. A port that routes carries no VLAN and is in no
// PortChannel, so that whatever is configured can be in force.
var (
	routedPorts = []string{"Ethernet0", "Ethernet1"}
	memberPorts = []string{"Ethernet2", "Ethernet3"}
	bridgedPort = "Ethernet4"
	channels    = []string{"PortChannel1", "PortChannel2"}
	vlans       = []string{"10", "20"}
)

// A settings is the configuration of a switch: values of leaves and existing entries, by a name. An entry has the value
// "there". Its name may end with the value of a leaf, such as the length of a prefix.
type settings map[string]string

const there = "there"

// under returns the names of settings that begin with any of the texts.
func (s settings) under(begin ...string) (names []string) {
	for k := range s {
		if slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(k, b) }) {
			names = append(names, k)
		}
	}
	return names
}

// drop removes the settings that begin with any of the texts.
func (s settings) drop(begin ...string) {
	for _, k := range s.under(begin...) {
		delete(s, k)
	}
}

// members returns the settings that make ports members of a PortChannel.
func (s settings) members(channel string) []string {
	names := slices.Collect(maps.Keys(s))
	return slices.DeleteFunc(names, func(k string) bool { return !strings.HasSuffix(k, " channel "+channel) })
}

// memberships returns the settings that make an interface a member of VLANs.
func (s settings) memberships(name string) []string {
	names := slices.Collect(maps.Keys(s))
	return slices.DeleteFunc(names, func(k string) bool { return !strings.HasSuffix(k, " member "+name) })
}

// A doing is a Set in progress. Data that is at two paths is changed at OpenConfig's (theirs) or at ours.
type doing struct {
	settings
	op    string
	given map[string][2]bool // settings that the Set has given: at our path, at OpenConfig's
	lost  map[string]bool    // settings that one path has given, and that the other has left out
	needs []string           // beginnings of settings of which one must exist in the end
}

func side(theirs bool) int { return map[bool]int{true: 1}[theirs] }

// leave removes settings at a path.
func (d *doing) leave(theirs bool, names ...string) {
	for _, k := range names {
		if _, is := d.settings[k]; is && d.given[k][1-side(theirs)] {
			d.lost[k] = true
		}
		delete(d.settings, k)
		delete(d.given, k)
	}
}

// give sets a setting at a path.
func (d *doing) give(theirs bool, name, value string) {
	d.settings[name] = value
	by := d.given[name]
	by[side(theirs)] = true
	d.given[name] = by
	delete(d.lost, name)
}

// An edit is one operation of a Set, with its effect by the specification's words.
type edit struct {
	op, path, value string
	remove          func(*doing) // what a delete, or a replace before it sets the value, removes; nil removes nothing
	put             func(*doing) // sets the value
	leaves          settings     // the values of leaves that it gives
	code            string       // the code with which it is refused, except as an update; empty if it is valid
}

func interfaceAt(name string) string { return "/interfaces/interface[name=" + name + "]" }

// theirAddress returns the path of an address in OpenConfig's model.
func theirAddress(name, ip string) string {
	at := interfaceAt(name) + "/subinterfaces/subinterface[index=0]"
	if strings.HasPrefix(name, "Vlan") {
		at = interfaceAt(name) + "/routed-vlan"
	}
	return at + "/ipv4/addresses/address[ip=" + ip + "]"
}

// A chooser makes random edits.
type chooser struct{ *rand.Rand }

func (c chooser) of(names ...string) string { return names[c.IntN(len(names))] }

// theirs chooses whether data that is at two paths is changed at OpenConfig's.
func (c chooser) theirs() bool { return c.IntN(2) == 0 }

// port returns an edit of the configuration of a port.
func (c chooser) port() edit {
	name := c.of(slices.Concat(routedPorts, memberPorts, []string{bridgedPort})...)
	mtu, words, enabled := fmt.Sprint(1500+c.IntN(9)), c.of("a", "b"), c.of("true", "false")
	value := func(at, value string, leaves settings, removes ...string) edit {
		return edit{path: interfaceAt(name) + at, value: value, leaves: leaves,
			remove: func(d *doing) { d.leave(true, d.under(removes...)...) },
			put:    func(d *doing) { maps.Copy(d.settings, leaves) }}
	}
	all := []string{name + " mtu", name + " description", name + " enabled"}
	switch c.IntN(7) {
	case 0:
		return value("/config/mtu", mtu, settings{name + " mtu": mtu}, all[0])
	case 1:
		return value("/config/enabled", enabled, settings{name + " enabled": enabled}, all[2])
	case 2:
		return value("/config", `{"description":"`+words+`","mtu":`+mtu+`}`,
			settings{name + " mtu": mtu, name + " description": words}, all...)
	case 3: // what a replace leaves out has its default: enabled is true
		return value("/config", `{"name":"`+name+`","mtu":`+mtu+`}`, settings{name + " mtu": mtu}, all...)
	case 4, 5: // a replace removes the addresses, and the port from its PortChannel and its VLANs
		e := value("", `{"name":"`+name+`","config":{"name":"`+name+`","description":"`+words+`"}}`,
			settings{name + " description": words})
		e.remove = func(d *doing) {
			d.leave(true, append(d.under(name+" "), d.memberships(name)...)...)
			d.needs = slices.DeleteFunc(d.needs, func(n string) bool { return strings.HasPrefix(n, name+" ") })
		}
		return e
	}
	e := value("", "{}", nil)
	e.code = "InvalidArgument"
	return e
}

// address returns an edit of the addresses of an interface.
func (c chooser) address() edit {
	name := c.of(append([]string{"Vlan10", "Vlan20"}, routedPorts...)...)
	block := map[string]string{"Ethernet0": "0", "Ethernet1": "1", "Vlan10": "10", "Vlan20": "20"}[name]
	ip, length := fmt.Sprintf("10.%s.%d.1", block, c.IntN(2)), c.of("24", "25")
	any := name + " address " + ip + "/"
	if !c.theirs() {
		put := func(d *doing) { d.give(false, any+length, there) }
		at, prefix := "/routing/interfaces/interface[name="+name+"]", ip+"/"+length
		if c.IntN(2) == 0 {
			return edit{path: at + "/addresses/address[prefix=" + prefix + "]", value: `{"prefix":"` + prefix + `"}`, put: put}
		}
		return edit{path: at, value: `{"name":"` + name + `","addresses":{"address":[{"prefix":"` + prefix + `"}]}}`,
			remove: func(d *doing) { d.leave(false, d.under(name+" address ")...) }, put: put}
	}
	need := func(d *doing) { d.needs = append(d.needs, any) }
	e := edit{path: theirAddress(name, ip), leaves: settings{any: length},
		remove: func(d *doing) {
			if had := d.under(any); len(had) > 0 {
				d.leave(true, had...)
				need(d)
			}
		},
		put: func(d *doing) { // an address has one length
			d.leave(true, slices.DeleteFunc(d.under(any), func(k string) bool { return k == any+length })...)
			d.give(true, any+length, there)
			need(d)
		}}
	switch c.IntN(4) {
	case 0:
		e.value, e.leaves, e.put = `{"ip":"`+ip+`","config":{"ip":"`+ip+`"}}`, nil, need // prefix-length is mandatory
	case 1:
		e.path, e.value = e.path+"/config/prefix-length", length
	default:
		e.value = `{"ip":"` + ip + `","config":{"ip":"` + ip + `","prefix-length":` + length + `}}`
	}
	return e
}

// channel returns an edit of a PortChannel or of its members.
func (c chooser) channel() edit {
	name, port := c.of(channels...), c.of(memberPorts...)
	at, member := interfaceAt(name), port+" channel "+name
	if c.IntN(3) == 0 { // its members are not in its subtree, but at the ports; its VLANs are
		return edit{remove: func(d *doing) { d.leave(true, d.memberships(name)...) },
			path: at, value: `{"name":"` + name + `","config":{"name":"` + name +
				`","type":"iana-if-type:ieee8023adLag"},"aggregation":{"config":{"lag-type":"STATIC"}}}`,
			put: func(d *doing) { d.settings["channel "+name] = there }}
	}
	if c.theirs() {
		e := edit{path: interfaceAt(port) + "/ethernet/config", value: `{"aggregate-id":"` + name + `"}`,
			leaves: settings{port + " channel": name},
			remove: func(d *doing) { d.leave(true, d.under(port+" channel ")...) },
			put: func(d *doing) {
				d.leave(true, slices.DeleteFunc(d.under(port+" channel "), func(k string) bool { return k == member })...)
				d.give(true, member, there)
			}}
		if c.IntN(2) == 0 {
			e.path, e.value = e.path+"/aggregate-id", `"`+name+`"`
		}
		return e
	}
	made := func(d *doing) { d.settings["channel "+name] = there; d.give(false, member, there) } // by a path within it
	at += "/aggregation/members"
	if c.IntN(2) == 0 {
		return edit{path: at + "/member[interface=" + port + "]", value: `{"interface":"` + port + `"}`, put: made}
	}
	return edit{path: at, value: `{"member":[{"interface":"` + port + `"}]}`, put: made,
		remove: func(d *doing) { d.leave(false, d.members(name)...) }}
}

// vlan returns an edit of a VLAN or of its members.
func (c chooser) vlan() edit {
	id, member := c.of(vlans...), c.of(bridgedPort, "PortChannel1")
	make := func(d *doing) { d.settings["vlan "+id] = there }
	if c.theirs() { // which has the members elsewhere
		if c.IntN(2) == 0 {
			return trunk(member, id)
		}
		return edit{path: "/network-instances/network-instance[name=default]/vlans/vlan[vlan-id=" + id + "]",
			value: `{"vlan-id":` + id + `,"config":{"vlan-id":` + id + `}}`, put: make}
	}
	at := "/vlans/vlan[vlan-id=" + id + "]"
	remove := func(d *doing) { d.leave(false, d.under("vlan "+id+" member ")...) }
	join := func(d *doing) { make(d); d.give(false, "vlan "+id+" member "+member, there) }
	const tagged = `"config":{"tagging-mode":"TAGGED"}`
	switch c.IntN(3) {
	case 0:
		return edit{path: at, value: `{"vlan-id":` + id + `}`, remove: remove, put: make}
	case 1:
		return edit{path: at, value: `{"vlan-id":` + id + `,"members":{"member":[{"interface":"` + member + `",` + tagged +
			`}]}}`, remove: remove, put: join}
	}
	return edit{path: at + "/members/member[interface=" + member + "]", value: `{"interface":"` + member + `",` + tagged +
		`}`, put: join}
}

// trunk returns an edit of the VLANs of an interface. An update adds one.
func trunk(name, id string) edit {
	kind, setting := "ethernet", "vlan "+id+" member "+name
	if strings.HasPrefix(name, "PortChannel") {
		kind = "aggregation"
	}
	remove := func(d *doing) { d.leave(true, d.memberships(name)...) }
	return edit{path: interfaceAt(name) + "/" + kind + "/switched-vlan/config/trunk-vlans", value: "[" + id + "]",
		leaves: settings{name + " trunk": id}, remove: remove,
		put: func(d *doing) {
			if d.op != "update" {
				d.leave(true, slices.DeleteFunc(d.memberships(name), func(k string) bool { return k == setting })...)
			}
			if kind == "aggregation" {
				d.settings["channel "+name] = there
			}
			d.give(true, setting, there)
		}}
}

// removal returns a delete.
func (c chooser) removal() edit {
	port := c.of(slices.Concat(routedPorts, memberPorts)...)
	channel, id := c.of(channels...), c.of(vlans...)
	name := c.of(append([]string{"Vlan10", "Vlan20"}, routedPorts...)...)
	remove := func(path string, begin ...string) edit {
		return edit{op: "delete", path: path, remove: func(d *doing) { d.drop(begin...) }}
	}
	drop := func(d *doing, channel string) {
		d.drop("channel "+channel, channel+" ")
		d.leave(true, append(d.members(channel), d.memberships(channel)...)...)
	}
	switch c.IntN(10) {
	case 0:
		return remove(interfaceAt(port), port+" ")
	case 1:
		return remove(interfaceAt(port)+"/config/enabled", port+" enabled")
	case 2:
		return edit{op: "delete", path: interfaceAt(channel), remove: func(d *doing) { drop(d, channel) }}
	case 3:
		at := "/vlans/vlan[vlan-id=" + id + "]"
		if c.theirs() {
			at = "/network-instances/network-instance[name=default]" + at
		}
		return edit{op: "delete", path: at, remove: func(d *doing) {
			if d.settings["vlan "+id] != "" { // a delete of what does not exist changes nothing
				d.drop("vlan "+id, "Vlan"+id+" ")
			}
		}}
	case 4:
		return remove(interfaceAt("Vlan"+id), "Vlan"+id+" ")
	case 5:
		return remove(theirAddress(name, "*"), name+" address ")
	case 6:
		return remove("/routing/interfaces/interface[name="+name+"]", name+" address ")
	case 7:
		return remove(interfaceAt(port)+"/ethernet/config/aggregate-id", port+" channel ")
	case 8:
		if c.IntN(3) > 0 {
			return c.removal()
		}
		return edit{op: "delete", path: "/interfaces", remove: func(d *doing) {
			for _, name := range channels {
				drop(d, name)
			}
			d.leave(true, d.memberships(bridgedPort)...)
			d.drop("Ethernet", "Vlan")
		}}
	}
	return remove(interfaceAt("PortChannel9"))
}

// set returns the edits of a Set.
func (c chooser) set() (edits []edit) {
	union := c.IntN(5) == 0
	kinds := []func() edit{c.port, c.address, c.address, c.channel, c.channel, c.vlan, c.removal}
	for range 1 + c.IntN(4) {
		e := kinds[c.IntN(len(kinds))]()
		switch {
		case union && e.op != "":
			continue // a union_replace goes with no delete
		case union:
			e.op = "union"
		case e.op == "":
			e.op = c.of("replace", "update")
		}
		edits = append(edits, e)
	}
	return edits
}

// after returns the configuration after a Set, and the code of the answer. Operations take effect in the order of the
// specification; a reference must lead somewhere in the end. The paths of a union_replace are removed together, and
// give each leaf one value.
func (s settings) after(edits []edit) (settings, string) {
	now := &doing{settings: maps.Clone(s), given: map[string][2]bool{}, lost: map[string]bool{}}
	said := settings{}
	for _, op := range []string{"delete", "cleared", "union", "replace", "update"} {
		now.op = op
		for _, e := range edits {
			if e.op != op && (op != "cleared" || e.op != "union") {
				continue
			}
			if e.code != "" && op != "update" {
				return s, e.code
			}
			if op != "union" && op != "update" && e.remove != nil {
				e.remove(now)
			}
			if op == "delete" || op == "cleared" {
				continue
			}
			for leaf, v := range e.leaves {
				if was, is := said[leaf]; op == "union" && is && was != v {
					return s, "InvalidArgument"
				}
				said[leaf] = v
			}
			if e.put != nil {
				e.put(now)
			}
		}
	}
	return s.judged(now)
}

// judged returns the result of a Set: the configuration, if it is consistent, and the code of the answer.
func (s settings) judged(now *doing) (settings, string) {
	if len(now.lost) > 0 {
		return s, "InvalidArgument" // one path gives it, and the other leaves it out
	}
	for _, begin := range now.needs {
		if len(now.under(begin)) == 0 {
			return s, "InvalidArgument"
		}
	}
	only := map[string]bool{} // a port has one PortChannel, an address one length
	code := "OK"
	for k := range now.settings {
		words := strings.Fields(k)
		name := words[len(words)-1]
		switch {
		case strings.Contains(k, " channel "):
			if k = words[0]; only[k] || now.settings["channel "+name] == "" {
				return s, "InvalidArgument"
			}
			only[k] = true
		case strings.Contains(k, " address "):
			if k, _, _ = strings.Cut(k, "/"); only[k] {
				return s, "InvalidArgument"
			}
			only[k] = true
		case strings.Contains(k, " member ") && now.settings["vlan "+words[1]] == "":
			return s, "InvalidArgument"
		case strings.Contains(k, " member PortChannel") && now.settings["channel "+name] == "":
			if s[k] == "" {
				return s, "InvalidArgument" // it names what does not exist
			}
			code = "FailedPrecondition" // something that is deleted is in use
		}
	}
	if code != "OK" {
		return s, code
	}
	return now.settings, code
}

// complete returns the configuration with the defaults of what is not configured.
func (s settings) complete() settings {
	out := maps.Clone(s)
	for _, name := range slices.Concat(routedPorts, memberPorts, []string{bridgedPort}) {
		for leaf, value := range map[string]string{"mtu": "9100", "enabled": "true"} {
			if out[name+" "+leaf] == "" {
				out[name+" "+leaf] = value
			}
		}
	}
	return out
}

// text returns the configuration as lines.
func (s settings) text() string {
	var lines []string
	for _, k := range device.SortedKeys(s) {
		lines = append(lines, k+" "+s[k])
	}
	return strings.Join(lines, "\n")
}

// A modelled is a switch whose Sets are compared with the model.
type modelled struct {
	*testing.T
	sim    *device.Sim
	server *mgmt.Server
}

// shownAs names the settings that leaves show, by the text of their paths. A name that ends with a blank or a slash is
// followed by the value.
var shownAs = []struct {
	path *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^/interfaces/interface\[name=(Ethernet\d+)\]/\w+/(mtu|enabled|description)$`), "$1 $2"},
	{regexp.MustCompile(`^/interfaces/interface\[name=(Ethernet\d+)\]/ethernet/\w+/aggregate-id$`), "$1 channel "},
	{regexp.MustCompile(`^/interfaces/interface\[name=(\w+)\].*/address\[ip=([\d.]+)\]/\w+/prefix-length$`),
		"$1 address $2/"},
	{regexp.MustCompile(`^/interfaces/interface\[name=(PortChannel\d+)\]/name$`), "channel $1"},
	{regexp.MustCompile(`^/vlans/vlan\[vlan-id=(\d+)\]/vlan-id$`), "vlan $1"},
	{regexp.MustCompile(`^/vlans/vlan\[vlan-id=(\d+)\]/members/member\[interface=(\w+)\]/interface$`),
		"vlan $1 member $2"},
	{regexp.MustCompile(`^/routing/interfaces/interface\[name=(\w+)\]/name$`), "routing $1"},
}

// shown returns the configuration, or the state, that the switch shows.
func (m *modelled) shown(kind gpb.GetRequest_DataType) settings {
	m.Helper()
	resp, err := m.server.Get(m.Context(), &gpb.GetRequest{Type: kind, Encoding: gpb.Encoding_PROTO,
		Path: []*gpb.Path{gpath("/interfaces/interface[name=*]"), gpath("/routing/interfaces/interface[name=*]"),
			gpath("/vlans/vlan[vlan-id=*]")}})
	devicetest.NoError(m, err)
	out := settings{}
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			path := tree.PathText(u.GetPath())
			for _, s := range shownAs {
				at := s.path.FindStringSubmatchIndex(path)
				if at == nil {
					continue
				}
				v, err := value.ToScalar(u.GetVal())
				devicetest.NoError(m, err)
				switch name := string(s.path.ExpandString(nil, s.name, path, at)); {
				case strings.HasSuffix(name, " "), strings.HasSuffix(name, "/"):
					out[name+fmt.Sprint(v)] = there
				case strings.Contains(path, "/config/") || strings.Contains(path, "/state/"):
					out[name] = fmt.Sprint(v)
				default:
					out[name] = there
				}
			}
		}
	}
	return out
}

// inForce returns what of a configuration must be in force in the chip, as lines. It has the interfaces that route. The
// interface of a VLAN waits for its VLAN.
func (s settings) inForce() string {
	var lines []string
	for k, v := range s {
		words := strings.Fields(k)
		id, vlan := strings.CutPrefix(words[min(1, len(words)-1)], "Vlan")
		if words[0] != "routing" {
			id, vlan = strings.CutPrefix(words[0], "Vlan")
		}
		switch {
		case vlan && s["vlan "+id] == "", words[1] == "description":
		case words[1] == "mtu" && len(s.under(words[0]+" channel ")) > 0: // a member has the MTU of its PortChannel
		default:
			lines = append(lines, strings.TrimSuffix(k+" "+v, " "+there))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// objects returns the objects of a type in the chip, as syncd has written them: attributes by object id.
func (m *modelled) objects(kind string) map[string]map[string]string {
	m.Helper()
	db := m.sim.Redis.DB(swss.ASICDB).Client()
	prefix := "ASIC_STATE:SAI_OBJECT_TYPE_" + kind + ":"
	keys, err := db.Keys(m.Context(), prefix+"*").Result()
	devicetest.NoError(m, err)
	out := map[string]map[string]string{}
	for _, k := range keys {
		row, err := db.HGetAll(m.Context(), k).Result()
		devicetest.NoError(m, err)
		for a, v := range row {
			row[strings.TrimPrefix(a, "SAI_"+kind+"_ATTR_")] = v
		}
		out[strings.TrimPrefix(k, prefix)] = row
	}
	return out
}

// chip returns what is in force in the chip, in the form of [settings.inForce].
func (m *modelled) chip() string {
	m.Helper()
	names := map[string]string{} // of ports, PortChannels and their bridge ports, by object id
	for _, table := range []string{schema.CountersPortNameMap, schema.CountersLAGNameMap} {
		row, err := m.sim.Redis.DB(swss.CountersDB).Client().HGetAll(m.Context(), table).Result()
		devicetest.NoError(m, err)
		for name, id := range row {
			names[id] = name
		}
	}
	var lines []string
	add := func(words ...string) { lines = append(lines, strings.Join(words, " ")) }
	members := m.objects("LAG_MEMBER")
	in := map[string]bool{}
	for _, o := range members {
		port := names[o["PORT_ID"]]
		in[port] = true
		add(port, "channel", names[o["LAG_ID"]])
	}
	for id, o := range m.objects("PORT") {
		if name := names[id]; strings.HasPrefix(name, "Ethernet") {
			add(name, "enabled", o["ADMIN_STATE"])
			if mtu, err := strconv.Atoi(o["MTU"]); err == nil && !in[name] {
				add(name, "mtu", fmt.Sprint(mtu-22)) // without Ethernet header, tag and FCS
			}
		}
	}
	for id := range m.objects("LAG") {
		add("channel", names[id])
	}
	bridged, ids := map[string]string{}, map[string]string{}
	for id, o := range m.objects("BRIDGE_PORT") {
		bridged[id] = names[o["PORT_ID"]]
	}
	for id, o := range m.objects("VLAN") {
		if ids[id] = o["VLAN_ID"]; ids[id] != "" { // the default VLAN is the chip's own
			add("vlan", ids[id])
		}
	}
	for _, o := range m.objects("VLAN_MEMBER") {
		if id := ids[o["VLAN_ID"]]; id != "" {
			add("vlan", id, "member", bridged[o["BRIDGE_PORT_ID"]])
		}
	}
	for id, o := range m.objects("ROUTER_INTERFACE") {
		switch o["TYPE"] {
		case "SAI_ROUTER_INTERFACE_TYPE_PORT":
			names[id] = names[o["PORT_ID"]]
		case "SAI_ROUTER_INTERFACE_TYPE_VLAN":
			names[id] = "Vlan" + ids[o["VLAN_ID"]]
		default:
			continue
		}
		add("routing", names[id])
	}
	for key, o := range m.objects("ROUTE_ENTRY") {
		var route struct{ Dest netip.Prefix }
		devicetest.NoError(m, json.Unmarshal([]byte(key), &route))
		if name := names[o["NEXT_HOP_ID"]]; name != "" && route.Dest.Addr().Is4() { // of the subnet, whose first host we are
			add(name, "address", fmt.Sprintf("%s/%d", route.Dest.Addr().Next(), route.Dest.Bits()))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// setRequest returns the request of edits.
func setRequest(t *testing.T, edits []edit) *gpb.SetRequest {
	req := &gpb.SetRequest{}
	for _, e := range edits {
		p, err := ygot.StringToStructuredPath(e.path)
		devicetest.NoError(t, err)
		u := &gpb.Update{Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(e.value)}}}
		switch e.op {
		case "delete":
			req.Delete = append(req.Delete, p)
		case "replace":
			req.Replace = append(req.Replace, u)
		case "union":
			req.UnionReplace = append(req.UnionReplace, u)
		default:
			req.Update = append(req.Update, u)
		}
	}
	return req
}

// applied returns the lines about ports and addresses, which leaves of state show.
func applied(lines string) string {
	var out []string
	for l := range strings.Lines(lines) {
		if words := strings.Fields(l); slices.Contains([]string{"mtu", "enabled", "channel", "address"}, words[1]) {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return strings.Join(out, "\n")
}

// After any Set the tree is what the specification's words make of it, a Set is accepted or refused by them, with their
// code, and a refused Set changes nothing. After each Set, what is in force in the chip equals the tree, and its state.
func TestSetsOfSwitchAgainstModel(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 1}, func(t *testing.T, seed uint64) {
		ports := map[string]swss.FieldValues{}
		for i := range 5 {
			ports[fmt.Sprintf("Ethernet%d", i)] = swss.FieldValues{"lanes": fmt.Sprint(i), "speed": "10000",
				"admin_status": "up"}
		}
		m := &modelled{T: t, sim: devicetest.NewServedSim(t, device.SimConfig{Profile: profile.Small(),
			Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata, "PORT": ports}})}
		devicetest.RunUntilIdle(t, m.sim)
		m.server, _, _ = devicetest.StartNorthbound(t, m.sim)
		c, is := chooser{rand.New(rand.NewPCG(seed, 41))}, settings{}
		codes := map[string]int{}
		defer func() { t.Logf("Sets by code: %v", codes) }()
		for range 25 {
			edits := c.set()
			want, code := is.after(edits)
			codes[code]++
			req := setRequest(t, edits)
			_, err := m.server.Set(t.Context(), req)
			if got := status.Code(err).String(); got != code {
				t.Fatalf("%v made of\n%s\ncode %s, want %s: %v", req, is.text(), got, code, err)
			}
			devicetest.RunUntilIdle(t, m.sim)
			all := m.shown(gpb.GetRequest_CONFIG)
			shown := maps.Clone(all)
			shown.drop("routing ")
			if diff := cmp.Diff(shown.complete().text(), want.complete().text()); diff != "" {
				t.Fatalf("%v made of\n%s\nthe tree, against the model:\n%s", req, is.text(), diff)
			}
			chip, state := m.chip(), m.shown(gpb.GetRequest_STATE)
			if diff := cmp.Diff(all.complete().inForce(), chip); diff != "" {
				problems, err := device.Problems(t.Context(), m.sim.Redis)
				t.Fatalf("%v made of\n%s\nthe tree, against the chip:\n%s\n%v %v", req, is.text(), diff, problems, err)
			}
			for k, v := range all { // which rows exist does not depend on the kind of leaves
				if strings.HasPrefix(k, "vlan ") && v == there {
					state[k] = v
				}
			}
			if diff := cmp.Diff(applied(state.inForce()), applied(chip)); diff != "" {
				t.Fatalf("%v made of\n%s\nstate, against the chip:\n%s", req, is.text(), diff)
			}
			is = want
		}
	})
}
