package device_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
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

// A settings is the configuration of a switch: values of leaves and existing entries, by a name.
type settings map[string]string

// drop removes the settings that begin with any of the texts.
func (s settings) drop(begin ...string) {
	maps.DeleteFunc(s, func(k, _ string) bool {
		return slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(k, b) })
	})
}

// An edit is one operation of a Set, with its effect by the specification's words.
type edit struct {
	op, path, value string
	apply           func(settings)
	code            string // the code with which it is refused by itself; empty if it is valid
}

func interfaceAt(name string) string { return "/interfaces/interface[name=" + name + "]" }

// theirAddress returns the path of an address in OpenConfig's model, and ours the path in tamtam-routing.
func theirAddress(name, ip string) string {
	at := interfaceAt(name) + "/subinterfaces/subinterface[index=0]"
	if strings.HasPrefix(name, "Vlan") {
		at = interfaceAt(name) + "/routed-vlan"
	}
	return at + "/ipv4/addresses/address[ip=" + ip + "]"
}

// A chooser makes random edits. theirs means that they are made at OpenConfig's paths, else at ours.
type chooser struct {
	*rand.Rand
	theirs bool
}

func (c chooser) of(names ...string) string { return names[c.IntN(len(names))] }

// port returns an edit of the configuration of a port.
func (c chooser) port() edit {
	name := c.of(slices.Concat(routedPorts, memberPorts, []string{bridgedPort})...)
	mtu, words := fmt.Sprint(1500+c.IntN(9)), c.of("a", "b")
	at := interfaceAt(name)
	switch c.IntN(6) {
	case 0:
		return edit{"update", at + "/config/mtu", mtu, func(s settings) { s[name+" mtu"] = mtu }, ""}
	case 1:
		enabled := c.of("true", "false")
		return edit{"update", at + "/config/enabled", enabled, func(s settings) { s[name+" enabled"] = enabled }, ""}
	case 2:
		return edit{"update", at + "/config", `{"description":"` + words + `","mtu":` + mtu + `}`, func(s settings) {
			s[name+" mtu"], s[name+" description"] = mtu, words
		}, ""}
	case 3: // what the value leaves out has its default: enabled is true
		return edit{"replace", at + "/config", `{"name":"` + name + `","mtu":` + mtu + `}`, func(s settings) {
			s.drop(name+" mtu", name+" description", name+" enabled")
			s[name+" mtu"] = mtu
		}, ""}
	case 4:
		return edit{"replace", at, `{"name":"` + name + `","config":{"name":"` + name + `","description":"` + words + `"}}`,
			func(s settings) {
				s.drop(name + " ")
				s[name+" description"] = words
			}, ""}
	}
	return edit{"replace", at, "{}", nil, "InvalidArgument"}
}

// address returns an edit of the addresses of an interface.
func (c chooser) address() edit {
	name := c.of(append([]string{"Vlan10", "Vlan20"}, routedPorts...)...)
	block := map[string]string{"Ethernet0": "0", "Ethernet1": "1", "Vlan10": "10", "Vlan20": "20"}[name]
	ip := fmt.Sprintf("10.%s.%d.1", block, c.IntN(2))
	length := c.of("24", "25")
	key := name + " address " + ip
	set := func(s settings) { s[key] = length }
	if !c.theirs {
		at := "/routing/interfaces/interface[name=" + name + "]"
		return edit{"replace", at, `{"name":"` + name + `","addresses":{"address":[{"prefix":"` + ip + "/" + length + `"}]}}`,
			func(s settings) { s.drop(name + " address "); set(s) }, ""}
	}
	at := theirAddress(name, ip)
	switch c.IntN(4) {
	case 0:
		return edit{"update", at, `{"ip":"` + ip + `","config":{"ip":"` + ip + `"}}`, func(s settings) {
			if s[key] == "" {
				s.refuse("InvalidArgument") // prefix-length is mandatory here
			}
		}, ""}
	case 1:
		return edit{"update", at + "/config/prefix-length", length, set, ""}
	}
	return edit{c.of("update", "replace"), at, `{"ip":"` + ip + `","config":{"ip":"` + ip + `","prefix-length":` + length +
		`}}`, set, ""}
}

// refuse records that the Set is refused, whatever follows.
func (s settings) refuse(code string) { s["refused"] = code }

// channel returns an edit of a PortChannel or of its members.
func (c chooser) channel() edit {
	name, port := c.of(channels...), c.of(memberPorts...)
	join := func(s settings) { s[port+" channel"] = name }
	made := func(s settings) { s["channel "+name] = "there"; join(s) } // by a path within it
	switch c.IntN(4) {
	case 0:
		op := c.of("update", "replace")
		return edit{op, interfaceAt(name), `{"name":"` + name + `","config":{"name":"` + name +
			`","type":"iana-if-type:ieee8023adLag"},"aggregation":{"config":{"lag-type":"STATIC"}}}`, func(s settings) {
			s["channel "+name] = "there" // its members belong to the ports
		}, ""}
	case 1:
		if c.theirs {
			return edit{"replace", interfaceAt(port) + "/ethernet/config", `{"aggregate-id":"` + name + `"}`, join, ""}
		}
		return edit{"replace", interfaceAt(name) + "/aggregation/members", `{"member":[{"interface":"` + port + `"}]}`,
			func(s settings) {
				maps.DeleteFunc(s, func(k, v string) bool { return strings.HasSuffix(k, " channel") && v == name })
				if was := s[port+" channel"]; was != "" {
					s.refuse("InvalidArgument") // one port in two channels
				}
				made(s)
			}, ""}
	}
	if c.theirs {
		return edit{"update", interfaceAt(port) + "/ethernet/config/aggregate-id", `"` + name + `"`, join, ""}
	}
	return edit{"update", interfaceAt(name) + "/aggregation/members/member[interface=" + port + "]",
		`{"interface":"` + port + `"}`, func(s settings) {
			if was := s[port+" channel"]; was != "" && was != name {
				s.refuse("InvalidArgument")
			}
			made(s)
		}, ""}
}

// vlan returns an edit of a VLAN or of its members.
func (c chooser) vlan() edit {
	id, member := c.of(vlans...), c.of(bridgedPort, "PortChannel1")
	make := func(s settings) { s["vlan "+id] = "there" }
	if c.theirs {
		return edit{c.of("update", "replace"), "/network-instances/network-instance[name=default]/vlans/vlan[vlan-id=" + id +
			"]", `{"vlan-id":` + id + `,"config":{"vlan-id":` + id + `}}`, make, ""}
	}
	at := "/vlans/vlan[vlan-id=" + id + "]"
	join := func(s settings) { s["vlan "+id+" member "+member] = "there" }
	switch c.IntN(3) {
	case 0:
		return edit{"update", at, `{"vlan-id":` + id + `}`, make, ""}
	case 1:
		return edit{"replace", at, `{"vlan-id":` + id + `,"members":{"member":[{"interface":"` + member + `",
			"config":{"tagging-mode":"TAGGED"}}]}}`, func(s settings) {
			make(s)
			s.drop("vlan " + id + " member ")
			join(s)
		}, ""}
	}
	return edit{"update", at + "/members/member[interface=" + member + "]", `{"interface":"` + member + `",
		"config":{"tagging-mode":"TAGGED"}}`, func(s settings) { make(s); join(s) }, ""}
}

// removal returns a delete.
func (c chooser) removal() edit {
	port := c.of(slices.Concat(routedPorts, memberPorts)...)
	channel, id := c.of(channels...), c.of(vlans...)
	dropVLAN := func(s settings, id string) { s.drop("vlan "+id, "Vlan"+id+" ") }
	dropChannel := func(s settings, name string) {
		s.drop("channel "+name, name+" ")
		maps.DeleteFunc(s, func(k, v string) bool { return strings.HasSuffix(k, " channel") && v == name })
	}
	switch c.IntN(8) {
	case 0:
		return edit{"delete", interfaceAt(port), "", func(s settings) { s.drop(port + " ") }, ""}
	case 1:
		return edit{"delete", interfaceAt(port) + "/config/enabled", "", func(s settings) { s.drop(port + " enabled") }, ""}
	case 2:
		return edit{"delete", interfaceAt(channel), "", func(s settings) { dropChannel(s, channel) }, ""}
	case 3:
		at := "/vlans/vlan[vlan-id=" + id + "]"
		if c.theirs {
			at = "/network-instances/network-instance[name=default]" + at
		}
		return edit{"delete", at, "", func(s settings) { dropVLAN(s, id) }, ""}
	case 4:
		return edit{"delete", interfaceAt("Vlan" + id), "", func(s settings) { s.drop("Vlan" + id + " ") }, ""}
	case 5:
		name := c.of(append([]string{"Vlan10", "Vlan20"}, routedPorts...)...)
		if c.theirs {
			at := theirAddress(name, "*")
			return edit{"delete", at, "", func(s settings) { s.drop(name + " address ") }, ""}
		}
		return edit{"delete", "/routing/interfaces/interface[name=" + name + "]", "",
			func(s settings) { s.drop(name + " address ") }, ""}
	case 6:
		if c.IntN(3) > 0 {
			return c.removal()
		}
		return edit{"delete", "/interfaces", "", func(s settings) {
			for _, name := range channels {
				dropChannel(s, name)
			}
			s.drop("Ethernet", "Vlan")
		}, ""}
	}
	return edit{"delete", interfaceAt("PortChannel9"), "", func(settings) {}, ""}
}

// after returns the configuration after a Set, and the code of the answer. Operations take effect in the order of the
// specification; a reference must lead somewhere in the end.
func (s settings) after(edits []edit) (settings, string) {
	now, deleted := maps.Clone(s), settings{}
	for _, op := range []string{"delete", "replace", "update"} {
		for _, e := range edits {
			if e.op != op {
				continue
			}
			if e.code != "" {
				return s, e.code
			}
			e.apply(now)
		}
		if op == "delete" {
			deleted = maps.Clone(now)
		}
	}
	if code := now["refused"]; code != "" {
		return s, code
	}
	inUse := false // something that is deleted is in use
	for k, v := range now {
		of := ""
		switch {
		case strings.HasSuffix(k, " channel"):
			of = "channel " + v
		case strings.Contains(k, " member PortChannel"):
			of = "channel " + k[strings.LastIndex(k, " ")+1:]
		}
		switch {
		case of == "" || now[of] != "":
		case deleted[k] != v:
			return s, "InvalidArgument" // it names what does not exist
		default:
			inUse = true
		}
	}
	if inUse {
		return s, "FailedPrecondition"
	}
	return now, "OK"
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

// shownAs names the settings that leaves of the configuration show, by the text of their paths.
var shownAs = []struct {
	path *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^/interfaces/interface\[name=(Ethernet\d+)\]/config/(mtu|enabled|description)$`), "$1 $2"},
	{regexp.MustCompile(`^/interfaces/interface\[name=(Ethernet\d+)\]/ethernet/config/aggregate-id$`), "$1 channel"},
	{regexp.MustCompile(`^/interfaces/interface\[name=(\w+)\].*/address\[ip=([\d.]+)\]/config/prefix-length$`),
		"$1 address $2"},
	{regexp.MustCompile(`^/interfaces/interface\[name=(PortChannel\d+)\]/name$`), "channel $1"},
	{regexp.MustCompile(`^/vlans/vlan\[vlan-id=(\d+)\]/vlan-id$`), "vlan $1"},
	{regexp.MustCompile(`^/vlans/vlan\[vlan-id=(\d+)\]/members/member\[interface=(\w+)\]/interface$`),
		"vlan $1 member $2"},
	{regexp.MustCompile(`^/routing/interfaces/interface\[name=(\w+)\]/name$`), "routing $1"},
}

// shown returns the configuration that the switch shows.
func (m *modelled) shown() settings {
	m.Helper()
	resp, err := m.server.Get(m.Context(), &gpb.GetRequest{Type: gpb.GetRequest_CONFIG, Encoding: gpb.Encoding_PROTO,
		Path: []*gpb.Path{gpath("/interfaces/interface[name=*]"), gpath("/routing/interfaces/interface[name=*]"),
			gpath("/vlans/vlan[vlan-id=*]")}})
	devicetest.NoError(m, err)
	out := settings{}
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			path, shows := tree.PathText(u.GetPath()), "there"
			for _, s := range shownAs {
				if at := s.path.FindStringSubmatchIndex(path); at != nil {
					if strings.Contains(path, "/config/") {
						v, err := value.ToScalar(u.GetVal())
						devicetest.NoError(m, err)
						shows = fmt.Sprint(v)
					}
					out[string(s.path.ExpandString(nil, s.name, path, at))] = shows
				}
			}
		}
	}
	return out
}

// inForce returns what of a configuration must be in force in the chip, as lines. routing has the interfaces that
// route.
func (s settings) inForce() string {
	var lines []string
	for k, v := range s.complete() {
		words := strings.Fields(k)
		switch {
		case words[0] == "routing" && strings.HasPrefix(words[1], "Vlan") && s["vlan "+words[1][4:]] == "":
			// it waits for its VLAN
		case words[0] == "channel" || words[0] == "routing" || words[0] == "vlan" || words[len(words)-1] == "enabled":
			lines = append(lines, strings.TrimSuffix(k+" "+v, " there"))
		case words[1] == "channel":
			lines = append(lines, k+" "+v)
		case words[1] == "mtu" && s[words[0]+" channel"] == "": // a member has the MTU of its channel
			lines = append(lines, k+" "+v)
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
	for _, o := range m.objects("ROUTER_INTERFACE") {
		switch o["TYPE"] {
		case "SAI_ROUTER_INTERFACE_TYPE_PORT":
			add("routing", names[o["PORT_ID"]])
		case "SAI_ROUTER_INTERFACE_TYPE_VLAN":
			add("routing", "Vlan"+ids[o["VLAN_ID"]])
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
		default:
			req.Update = append(req.Update, u)
		}
	}
	return req
}

// After any Set the tree is what the specification's words make of it, a Set is accepted or refused by them, with their
// code, and a refused Set changes nothing. After each Set, what is in force in the chip equals the tree.
func TestSetsOfSwitchAgainstModel(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 41))
		ports := map[string]swss.FieldValues{}
		for i := range 5 {
			ports[fmt.Sprintf("Ethernet%d", i)] = swss.FieldValues{"lanes": fmt.Sprint(i), "speed": "10000",
				"admin_status": "up"}
		}
		m := &modelled{T: t, sim: devicetest.NewServedSim(t, device.SimConfig{Profile: profile.Small(),
			Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata, "PORT": ports}})}
		devicetest.RunUntilIdle(t, m.sim)
		m.server, _, _ = devicetest.StartNorthbound(t, m.sim)
		is := settings{}
		for range 25 {
			c := chooser{r, r.IntN(2) == 0}
			var edits []edit
			for range 1 + r.IntN(3) {
				edits = append(edits, []func() edit{c.port, c.address, c.channel, c.channel, c.vlan, c.removal}[r.IntN(6)]())
			}
			want, code := is.after(edits)
			req := setRequest(t, edits)
			_, err := m.server.Set(t.Context(), req)
			if got := status.Code(err).String(); got != code {
				t.Fatalf("%v made of\n%s\ncode %s, want %s: %v", req, is.text(), got, code, err)
			}
			devicetest.RunUntilIdle(t, m.sim)
			shown := m.shown()
			routing := settings{}
			maps.Copy(routing, shown)
			shown.drop("routing ")
			if got := shown.complete().text(); got != want.complete().text() {
				t.Fatalf("%v made of\n%s\nthe tree\n%s\nwant\n%s", req, is.text(), got, want.complete().text())
			}
			if diff := cmp.Diff(routing.inForce(), m.chip()); diff != "" {
				problems, err := device.Problems(t.Context(), m.sim.Redis)
				t.Fatalf("%v made of\n%s\nin force, against the tree:\n%s\n%v %v", req, is.text(), diff, problems, err)
			}
			is = want
		}
	})
}
