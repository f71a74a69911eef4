package device_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/cli"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/yang/tamyang"
)

// variedConfig returns wideConfig in notations that the switch normalises: an alias, numbers of other bases, masks,
// other forms of IPv6, and lists in another order. It adds a recording session.
func variedConfig(t *testing.T) device.ConfigDB {
	t.Helper()
	c, err := device.ParseConfigDB([]byte(wideConfig))
	if err != nil {
		t.Fatal(err)
	}
	c["TAM_COLLECTORS_TABLE"]["c6"]["ipaddress"] = "2001:DB8:0::7"
	c["TAM_COLLECTORS_TABLE"]["cr"] = swss.FieldValues{"ipaddress": "::ffff:10.2.0.2", "port": "9"}
	for _, g := range []string{"rec", "spare", "tasks", "flags", "masks"} {
		c["TAM_FLOWGROUP_TABLE"][g] = swss.FieldValues{"NULL": "NULL"}
	}
	null := swss.FieldValues{"NULL": "NULL"} // source of headers of alternate marking, and a route to their ends
	c["LOOPBACK_INTERFACE"] = map[string]swss.FieldValues{
		"Loopback0": null, "Loopback0|2001:db8:f::1/128": null, "Loopback0|2001:db8:f::8/128": null,
	}
	for _, key := range device.SortedKeys(c["INTERFACE"]) {
		if !strings.Contains(key, "|") {
			c["INTERFACE"][key+"|2001:db8::7/64"] = null
			break
		}
	}
	rules := c["ACL_RULE"]
	rules["TAM|rec"] = swss.FieldValues{"PRIORITY": "0x50", "SRC_IPV6": "2001:DB8:0:0::1/32", "IP_PROTOCOL": "017",
		"IN_PORTS": "Ethernet1,Eth1", "HOP_LIMIT": "9"}
	rules["TAM|spare"] = swss.FieldValues{"SRC_IP": "10.1.2.3/8", "PACKET_ACTION": "forward"}
	rules["TAM|tasks"] = swss.FieldValues{"DST_IPV6": "2001:DB8:0::/48", "L4_DST_PORT_RANGE": "80-90"}
	rules["TAM|flags"] = swss.FieldValues{"TCP_FLAGS": "2/2", "ETHER_TYPE": "34525",
		"SRC_MAC": "02:AA:00:00:00:01/ff:ff:00:00:00:00"}
	rules["TAM|masks"] = swss.FieldValues{"SRC_IP": "10.1.2.3", "SRC_IP_MASK": "255.0.255.0", "DST_IP": "10.9.0.0",
		"DST_IP_MASK": "255.255.0.0", "IP_TYPE": "ANY", "ICMP_TYPE": "8"}
	c["TAM_FLYMON_TASK_TABLE"]["t2"] = swss.FieldValues{
		"filter": "dst-port=80-80,src-ip=10.1.2.3/8", "key": "dst-port,src-ip/16", "attribute": "frequency", "memory": "1000",
		"threshold": "5",
	}
	c["TAM_FLYMON_TASK_TABLE"]["t3"] = swss.FieldValues{"flowgroup": "tasks", "key": "src-ip", "attribute": "frequency",
		"memory": "1536", "share": "1/2"}
	c["TAM_FLYMON_QUERY_TABLE"]["q2"] = swss.FieldValues{"task": "t3", "flow": "10.0.0.1"}
	c["TAM_TABLERECORD_TABLE"] = map[string]swss.FieldValues{
		"r": {"flowgroup": "rec", "collector": "cr", "sampler": "s", "must-record": "chip.fdb,chip.acl",
			"source-ip": "::FFFF:10.2.0.1"},
	}
	for _, l := range tamLists() {
		withRows(t, c, l.config)
	}
	return c
}

// notRepeated lists the leaves for which no state reports whether they are in force, with the reason.
var notRepeated = map[string]string{
	"/tam/features/feature/config/status": "/tam/features-state says what a feature is",
	"/tam/flowgroups/flowgroup/config/id": "nothing in the switch is made of it: a Set checks that no " +
		"other group has it",
	"/tam/collectors/collector/config/encapsulation":     "it has one value",
	"/tam/report-collectors/report-collector/config/vrf": "it has one value that can be in force",
}

// notTried lists the parts of /tam that are not in tamLists: those that no command shows alone, or that are below an
// entry.
var notTried = []string{"/tam/device/", "/tam/match-groups/match-group/rules/"}

// configLeaves adds the config leaves below an entry of the schema, except for keys.
func configLeaves(e *yang.Entry, path string, out map[string]*yang.Entry) {
	for _, name := range device.SortedKeys(e.Dir) {
		k := e.Dir[name]
		at := path + "/" + name
		switch {
		case k.ReadOnly():
		case k.IsDir():
			configLeaves(k, at, out)
		case e.Name == "config" && (e.Parent == nil || !slices.Contains(strings.Fields(e.Parent.Key), name)):
			out[at] = k
		}
	}
}

// gpath parses a path of elements with at most one key each.
func gpath(text string) *gpb.Path {
	p := &gpb.Path{}
	for part := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
		name, key, keyed := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		el := &gpb.PathElem{Name: name}
		if keyed {
			k, v, _ := strings.Cut(key, "=")
			el.Key = map[string]string{k: v}
		}
		p.Elem = append(p.Elem, el)
	}
	return p
}

// inForceBed is a switch with its northbound.
type inForceBed struct {
	*testing.T
	sim    *device.Sim
	server *mgmt.Server
	shell  *cli.Shell
	out    *bytes.Buffer
}

// below returns the tree below a path, empty if there is none.
func (b inForceBed) below(path string) map[string]string {
	b.Helper()
	return leaves(b.T, gpath(path), func(r *gpb.GetRequest) (*gpb.GetResponse, error) {
		resp, err := b.server.Get(b.Context(), r)
		if status.Code(err) == codes.NotFound {
			return nil, nil
		}
		return resp, err
	})
}

// settled steps the daemons until the whole configuration is in force, and fails if the northbound reports otherwise.
func (b inForceBed) settled(after string) {
	b.Helper()
	devicetest.RunUntilIdle(b.T, b.sim)
	all := b.below("/tam")
	for _, path := range device.SortedKeys(all) {
		at, behind := strings.CutSuffix(path, "/state/not-in-force")
		if behind && !strings.Contains(all[at+"/state/status"], "pending") {
			b.Errorf("after %s all is settled, but %s %s", after, path, all[path])
		}
		if strings.HasPrefix(path, "/tam/") && strings.HasSuffix(path, "/state/status") &&
			!strings.Contains(all[path], "active") && at != "" {
			b.Errorf("after %s %s is %s: %s", after, path, all[path], all[strings.TrimSuffix(path, "status")+"reason"])
		}
	}
}

// reported returns the parts of an entry that are not in force, as in its state.
func (b inForceBed) reported(entry string) string {
	b.Helper()
	return b.below(entry)[entry+"/state/not-in-force"]
}

// show returns the shell's output for the entry of a list.
func (b inForceBed) show(l tamList) string {
	b.Helper()
	b.out.Reset()
	devicetest.NoError(b, b.shell.Exec(b.Context(), "show tam "+l.show+" "+l.entry))
	return b.out.String()
}

func (b inForceBed) set(req *gpb.SetRequest) {
	b.Helper()
	if _, err := b.server.Set(b.Context(), req); err != nil {
		b.Fatalf("%v\n%v", req, err)
	}
}

func jsonOf(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
}

// config returns the configuration of an entry, as JSON.
func (b inForceBed) config(entry string) string {
	b.Helper()
	resp, err := b.server.Get(b.Context(), &gpb.GetRequest{Path: []*gpb.Path{gpath(entry)}, Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		b.Fatal(err)
	}
	return string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
}

// Whichever leaf of TAM's configuration changes, the switch immediately reports that it is not in force, with the old
// and the new value. When the daemons have done their work, the report ends, whatever the notation of the
// configuration.
func TestEveryChangeIsReported(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	c := variedConfig(t)
	c["TAM_COLLECTORS_TABLE"]["c7"] = swss.FieldValues{"ipaddress": "10.2.0.2", "port": "9"}
	c["TAM_SAMPLINGRATE_TABLE"]["s7"] = swss.FieldValues{"sampling-rate": "100"}
	s := devicetest.NewSim(t, device.SimConfig{Config: c})
	server, shell, out := devicetest.StartNorthbound(t, s)
	b := inForceBed{t, s, server, shell, out}
	b.settled("the start")

	root, err := tamyang.Schema()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*yang.Entry{}
	configLeaves(root.RootSchema().Dir["tam"], "/tam", all)
	listed := map[string]bool{}
	for _, l := range tamLists() {
		for _, leaf := range device.SortedKeys(l.leaves) {
			path := l.path + "/" + leaf
			if listed[path] = true; all[path] == nil {
				t.Errorf("%s is no leaf that can be configured", path)
				continue
			}
			b.change(l, leaf, all[path])
		}
	}
	for _, path := range device.SortedKeys(all) {
		tried := !slices.ContainsFunc(notTried, func(part string) bool { return strings.HasPrefix(path, part) })
		if tried && notRepeated[path] == "" && !listed[path] {
			t.Errorf("%s: no list of tamLists says how to change it; is its change told?", path)
		}
	}
}

// change changes a leaf, deletes it and restores all, and checks the report after each step.
func (b inForceBed) change(l tamList, name string, leaf *yang.Entry) {
	b.Helper()
	path, entry, c := l.path+"/"+name, l.at(), l.leaves[name]
	at, isSwitch := entry+"/"+name, l.path == "/tam/switch"
	word := leaf.Name
	if word == "flowgroup" {
		word = "flow group"
	}
	reports := func(what string) {
		b.Helper()
		if got := b.reported(entry); !strings.Contains(got, `"`+word+" ") {
			b.Errorf("%s %s is not told: %s", path, what, got)
		}
		if got := b.show(l); !strings.Contains(got, "Pending") || !strings.Contains(got, word+" ") {
			b.Errorf("%s %s is not shown:\n%s", path, what, got)
		}
	}
	before := b.config(entry)
	req := &gpb.SetRequest{Replace: []*gpb.Update{{Path: gpath(at), Val: jsonOf(c.value)}}}
	for _, w := range c.without {
		req.Delete = append(req.Delete, gpath(entry+"/"+w))
	}
	if c.with != "" {
		req.Update = append(req.Update, &gpb.Update{Path: gpath(entry), Val: jsonOf(c.with)})
	}
	b.set(req)
	reports("changed to " + c.value)
	if waits := isSwitch && strings.HasSuffix(name, "-id"); !waits { // ids wait while features are active
		b.settled(path + " changed to " + c.value)
	} else {
		devicetest.RunUntilIdle(b.T, b.sim)
		if got := b.reported(entry); !strings.Contains(got, word+" ") {
			b.Errorf("%s waits for the features and is not told: %s", path, got)
		}
	}
	if _, err := b.server.Set(b.Context(), &gpb.SetRequest{Delete: []*gpb.Path{gpath(at)}}); err == nil {
		if got := b.reported(entry); !strings.Contains(got, `"`+word+" ") {
			b.Errorf("%s removed is not told: %s", path, got)
		}
	} else if isSwitch {
		b.Errorf("%s: %v", path, err)
	}
	b.set(&gpb.SetRequest{Replace: []*gpb.Update{{Path: gpath(entry), Val: jsonOf(before)}}})
	b.settled("putting back " + path)
}
