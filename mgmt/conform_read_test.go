package mgmt

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

const (
	asJSON = gpb.Encoding_JSON
	asIETF = gpb.Encoding_JSON_IETF
	asPROT = gpb.Encoding_PROTO
	portE0 = "/interfaces/interface[name=Ethernet0]"
)

// readingChecks returns the checks of Capabilities, paths and Get.
func readingChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"C1": checkCapabilities, "C2": checkCapabilities, "C3": checkEncodings, "C4": checkReflection,
		"P1": checkPrefix, "P2": checkTarget, "P3": checkRoot,
		"P4": func(b *bed) {
			b.wantText(answerText(b.ask(asIETF, portE0+"/config")),
				portE0+`/config {"openconfig-interfaces:enabled":true,"openconfig-interfaces:mtu":9100,`+
					`"openconfig-interfaces:name":"Ethernet0","openconfig-interfaces:type":"iana-if-type:ethernetCsmacd"}`)
			entry := answerText(b.ask(asIETF, sessionS))
			if !strings.Contains(entry, `"counters":{`) || !strings.Contains(entry, "config") {
				b.t.Error(entry)
			}
		},
		"P5": func(b *bed) {
			b.refused(&gpb.GetRequest{Path: []*gpb.Path{path("/tam/nowhere"), path(rateA), path("/system/ntps")}},
				"Unimplemented", "/tam/nowhere", "\n/system/ntps")
		},
		"P6": func(b *bed) {
			b.refused(&gpb.GetRequest{Path: []*gpb.Path{path(c1)}}, "NotFound", c1)
			b.wantText(answerText(b.ask(asIETF, collectors+"/collector[name=*]")), "")
		},
		"P7": func(b *bed) {
			p := path("/tam")
			p.Origin = "other"
			b.refused(&gpb.GetRequest{Path: []*gpb.Path{p}}, "Unimplemented", "other")
		},
		"P8": func(b *bed) {
			p := path(portE0 + "/config/mtu")
			p.Origin = "openconfig"
			got := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{p}})
			b.wantText(answerText(got), answerText(b.ask(asJSON, portE0+"/config/mtu")))
			if got.GetNotification()[0].GetPrefix().GetOrigin() != "openconfig" {
				b.t.Error(got)
			}
		},
		"P13": checkSONiCTarget,
		"P9": func(b *bed) {
			p := path("/tam")
			p.Origin = "sonic-db"
			b.refused(&gpb.GetRequest{Prefix: &gpb.Path{Origin: "openconfig"}, Path: []*gpb.Path{p}}, "InvalidArgument",
				"sonic-db")
		},
		"P10": checkKeys, "P11": checkWildcards,
		"P12": func(b *bed) {
			old := &gpb.Path{Element: []string{"tam"}} //nolint:staticcheck // it is to be refused
			b.refused(&gpb.GetRequest{Path: []*gpb.Path{old}}, "InvalidArgument", "element")
			old.Elem = path(portE0 + "/config/mtu").Elem
			got := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{old}})
			//nolint:staticcheck
			if u := got.GetNotification()[0].GetUpdate(); len(u) != 1 || len(u[0].GetPath().GetElement()) > 0 {
				b.t.Error(got)
			}
		},
		"G1": checkNotifications,
		"G2": func(b *bed) {
			got := b.ask(asIETF, sessionS+"/state").GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()
			sameJSON(b.t, string(got), `{"openconfig-tam:name":"s1","openconfig-tam:flowgroup":"f1",
			 "tamtam-status:status":"active",
				"tamtam-status:status-number":1,"tamtam-status:since":"2026-01-02T03:04:05Z",
				 "openconfig-tam:counters":{"matched-packets":"7656",
				"matched-octets":"18446744073709551615","stamped-packets":"7600","not-stamped":{"cut":"56"}}}`)
		},
		"G3": func(b *bed) {
			b.wantText(answerText(b.ask(asIETF, portE0+"/config/mtu", portE0+"/config/enabled",
				portE0+"/state/counters/in-octets")),
				portE0+"/config/mtu 9100\n\n"+portE0+"/config/enabled true\n\n"+portE0+`/state/counters/in-octets "10"`)
		},
		"G4": func(b *bed) {
			for enc, other := range map[gpb.Encoding]func(*gpb.TypedValue) bool{
				asJSON: func(v *gpb.TypedValue) bool {
					return v.GetJsonVal() == nil || strings.Contains(string(v.GetJsonVal()), "tam:")
				},
				asIETF: func(v *gpb.TypedValue) bool { return v.GetJsonIetfVal() == nil },
			} {
				for _, n := range b.ask(enc, "/", portE0+"/state", matched).GetNotification() {
					for _, u := range n.GetUpdate() {
						if other(u.GetVal()) {
							b.t.Errorf("%s: %v", enc, u)
						}
					}
				}
			}
		},
		"G5": checkScalars,
		"G6": func(b *bed) {
			if got := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{path(matched)}}); answerText(got) != matched+" 7656" {
				b.t.Error(got)
			}
		},
		"G7": checkTypes, "G8": checkModels,
		"G9": func(b *bed) {
			if got := b.mustGet(&gpb.GetRequest{}); len(got.GetNotification()) != 0 {
				b.t.Error(got)
			}
			checkPrefixAlone(b)
		},
		"G10": func(b *bed) {
			before := b.server.now().UnixNano()
			got := b.ask(asIETF, matched, "/tam/switch")
			for _, n := range got.GetNotification() {
				if at := n.GetTimestamp(); at < before || at > b.server.now().UnixNano() {
					b.t.Errorf("at %d, asked at %d", at, before)
				}
			}
		},
		"G11": checkAllOrNothing,
	}
}

func checkCapabilities(b *bed) {
	c, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	if c.GetGNMIVersion() != "0.10.0" || fmt.Sprint(c.GetSupportedEncodings()) != "[JSON JSON_IETF PROTO]" {
		b.t.Error(c.GetGNMIVersion(), c.GetSupportedEncodings())
	}
	named := map[string]bool{}
	for _, m := range c.GetSupportedModels() {
		named[m.GetName()] = true
		if m.GetOrganization() == "" || m.GetVersion() == "" {
			b.t.Error(m)
		}
	}
	for _, name := range modelsBelow(b.server.model.Root, map[string]bool{}) {
		if name != "" && !named[name] {
			b.t.Errorf("%s has nodes, and is not named", name)
		}
	}
}

func checkEncodings(b *bed) {
	for number, name := range gpb.Encoding_name {
		req := &gpb.GetRequest{Path: []*gpb.Path{path(matched)}, Encoding: gpb.Encoding(number)}
		if name == "JSON" || name == "JSON_IETF" || name == "PROTO" {
			b.mustGet(req)
		} else {
			b.refused(req, "Unimplemented", name)
		}
	}
	b.refused(&gpb.GetRequest{Path: []*gpb.Path{path(matched)}, Encoding: 77}, "Unimplemented", "77")
}

func checkReflection(b *bed) {
	conn, err := grpc.NewClient("passthrough:///"+b.server.Addr(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	stream, err := reflectpb.NewServerReflectionClient(conn).ServerReflectionInfo(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	ask := &reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		b.t.Fatal(err)
	}
	if resp, err := stream.Recv(); err != nil || !strings.Contains(resp.String(), "gnmi.gNMI") {
		b.t.Errorf("reflection: %v %v", resp, err)
	}
}

func checkPrefix(b *bed) {
	whole := path(portE0 + "/state/counters")
	want := answerText(b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{whole}}))
	for cut := range len(whole.Elem) + 1 {
		got := b.mustGet(&gpb.GetRequest{
			Prefix: &gpb.Path{Elem: whole.Elem[:cut]}, Path: []*gpb.Path{{Elem: whole.Elem[cut:]}},
		})
		b.wantText(answerText(got), want)
	}
}

// checkPrefixAlone requests a prefix without a path.
func checkPrefixAlone(b *bed) {
	whole := path(portE0 + "/state/counters")
	want := answerText(b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{whole}}))
	got := b.mustGet(&gpb.GetRequest{Prefix: whole})
	b.wantText(answerText(got), want)
	for _, prefix := range []*gpb.Path{{Target: "sw1"}, {Origin: "openconfig"}} {
		got, root := b.mustGet(&gpb.GetRequest{Prefix: prefix}), b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{{}}})
		b.wantText(answerText(got), answerText(root))
		if p := got.GetNotification()[0].GetPrefix(); p.GetTarget() != prefix.GetTarget() ||
			p.GetOrigin() != prefix.GetOrigin() {
			b.t.Error(p)
		}
	}
	b.refused(&gpb.GetRequest{Prefix: path(c1)}, "NotFound", c1)
	list := &gpb.SubscriptionList{Prefix: whole, Mode: gpb.SubscriptionList_ONCE, Subscription: []*gpb.Subscription{{}}}
	if m, err := b.subscribe(list).rpc.Recv(); err != nil || len(m.GetUpdate().GetUpdate()) == 0 {
		b.t.Errorf("a subscription without a path: %v, %v", m, err)
	}
	rows := path("/CONFIG_DB/localhost/PORT/Ethernet0/mtu")
	rows.Origin = tree.RawOrigin
	one := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{rows}})
	b.wantText(answerText(b.mustGet(&gpb.GetRequest{Prefix: rows})), answerText(one))
}

// checkSONiCTarget sends requests as clients of SONiC's server do, with a database as target.
func checkSONiCTarget(b *bed) {
	for _, tt := range []struct{ target, path, want string }{
		{"COUNTERS_DB", "/COUNTERS/Ethernet0", "/COUNTERS_DB/localhost/COUNTERS/Ethernet0"},
		{"COUNTERS_DB", "/interfaces", "/COUNTERS_DB/localhost/interfaces"},
		{"APPL_DB/asic0", "/", "/APPL_DB/localhost/TABLE"},
		{"SNMP_OVERLAY_DB", "/x", "sonic-db"},
		{"OTHERS", "/proc/uptime", "sonic-db"},
	} {
		prefix := &gpb.Path{Target: tt.target}
		for _, req := range []*gpb.GetRequest{
			{Prefix: prefix, Path: []*gpb.Path{path(tt.path)}},
			{Prefix: &gpb.Path{Target: tt.target, Elem: path(tt.path).GetElem()}},
		} {
			b.refused(req, "InvalidArgument", tt.want)
			b.refused(req, "InvalidArgument", `origin "sonic-db"`)
		}
		list := listOf(gpb.SubscriptionList_ONCE, subOf(0, tt.path))
		list.Prefix = prefix
		_, err := b.subscribe(list).rpc.Recv()
		wantErr(b.t, err, "InvalidArgument", tt.want)
		b.refusedSet(&gpb.SetRequest{Prefix: prefix, Update: []*gpb.Update{update(rateA, "5")}}, "InvalidArgument",
			"sonic-db")
	}
	rows := path("/CONFIG_DB/localhost/PORT/Ethernet0/mtu")
	rows.Origin = tree.RawOrigin
	got := b.mustGet(&gpb.GetRequest{Prefix: &gpb.Path{Target: "CONFIG_DB"}, Path: []*gpb.Path{rows}})
	if got.GetNotification()[0].GetPrefix().GetTarget() != "CONFIG_DB" {
		b.t.Error(got)
	}
}

func checkTarget(b *bed) {
	for _, target := range []string{"sw1", ""} {
		prefix := &gpb.Path{Target: target}
		got := b.mustGet(&gpb.GetRequest{Prefix: prefix, Path: []*gpb.Path{path(matched)}})
		set := b.mustSet(&gpb.SetRequest{Prefix: prefix, Update: []*gpb.Update{update(rateA, "5")}})
		list := listOf(gpb.SubscriptionList_ONCE, subOf(0, rateA))
		list.Prefix = prefix
		m, err := b.subscribe(list).rpc.Recv()
		if err != nil {
			b.t.Fatal(err)
		}
		for _, p := range []*gpb.Path{got.GetNotification()[0].GetPrefix(), set.GetPrefix(), m.GetUpdate().GetPrefix()} {
			if p.GetTarget() != target {
				b.t.Errorf("target %q, want %q", p.GetTarget(), target)
			}
		}
	}
}

func checkRoot(b *bed) {
	for _, p := range []*gpb.Path{{}, nil} {
		text := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{p}}).GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal()
		var top map[string]any
		if err := json.Unmarshal(text, &top); err != nil || top["tam"] == nil || top["interfaces"] == nil ||
			top["config-rows"] != nil {
			b.t.Errorf("%v %s", err, text)
		}
	}
}

func checkKeys(b *bed) {
	const name = `a/b]c[d=e*\`
	p := &gpb.Path{Elem: []*gpb.PathElem{
		{Name: "tam"}, {Name: "samplers"}, {Name: "sampler", Key: map[string]string{"name": name}}, {Name: "config"},
		{Name: "sampling-rate"},
	}}
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{{Path: p, Val: ietf("5")}}})
	b.wantRow("TAM_SAMPLINGRATE_TABLE|"+name, "sampling-rate=5")
	got := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{p}}).GetNotification()[0].GetUpdate()
	if len(got) != 1 || got[0].GetPath().GetElem()[2].GetKey()["name"] != name ||
		string(got[0].GetVal().GetJsonVal()) != "5" {
		b.t.Error(got)
	}
	const row = "/config-rows/row[key=a b/c][table=OTHER]/config/field"
	b.mustSet(updating(update(row, `["x=1"]`)))
	b.wantText(answerText(b.ask(asIETF, row)), row+` ["x=1"]`)
}

func checkWildcards(b *bed) {
	b.rows(samplers("1", "2"))
	want := rateA + " 1\n" + rateB + " 2"
	for _, p := range []string{
		rates, "/tam/samplers/sampler/config/sampling-rate", "/tam/*/sampler/config/sampling-rate", "/tam/.../sampling-rate",
	} {
		got := answerText(b.ask(asIETF, p))
		if p == "/tam/.../sampling-rate" { // state has one, too
			got = strings.Join(strings.Split(got, "\n")[:2], "\n")
		}
		b.wantText(got, want)
		if p != "/tam/.../sampling-rate" {
			s := b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(0, p)))
			s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
		}
	}
}

func checkNotifications(b *bed) {
	got := b.ask(asIETF, matched, "/tam/collectors/collector[name=*]", matched, portE0+"/config/mtu")
	b.wantText(answerText(got), matched+" \"7656\"\n\n\n\n"+matched+" \"7656\"\n\n"+portE0+"/config/mtu 9100")
	for _, n := range got.GetNotification() {
		if n.GetTimestamp() <= 0 {
			b.t.Error(n)
		}
	}
}

func checkScalars(b *bed) {
	for p, want := range map[string]string{
		portE0 + "/config/mtu": "uint_val:9100", portE0 + "/config/enabled": "bool_val:true", matched: "uint_val:7656",
		portE0 + "/config/type":                                   `string_val:"ethernetCsmacd"`,
		"/tam/flowgroups/flowgroup/config/interfaces":             `leaflist_val:{element:{string_val:"Ethernet0"}}`,
		"/tam/features/feature/config/feature-ref":                `string_val:"TAILSTAMPING"`,
		"/tam/switch/state/op-switch-id":                          "uint_val:2020",
		"/interfaces/interface[name=Ethernet0]/state/oper-status": `string_val:"UP"`,
	} {
		got := b.ask(asPROT, p).GetNotification()[0].GetUpdate()
		if len(got) != 1 || strings.ReplaceAll(got[0].GetVal().String(), " ", "") != want {
			b.t.Errorf("%s: %v, want %s", p, got, want)
		}
	}
	if got := b.ask(asPROT, portE0+"/config").GetNotification()[0].GetUpdate(); len(got) != 4 {
		b.t.Errorf("a container is %v", got)
	}
}

func checkTypes(b *bed) {
	has := func(t gpb.GetRequest_DataType, words ...string) {
		b.t.Helper()
		got := b.mustGet(&gpb.GetRequest{Type: t, Path: []*gpb.Path{path(portE0)}, Encoding: asPROT})
		text := answerText(got)
		for _, w := range words {
			w, not := strings.CutPrefix(w, "!")
			if strings.Contains(text, w) == not {
				b.t.Errorf("%s: %s in\n%s", t, w, text)
			}
		}
	}
	has(gpb.GetRequest_ALL, "/config/mtu", "/state/mtu", "/state/oper-status", "/counters/")
	has(gpb.GetRequest_CONFIG, "/config/mtu", "!/state/")
	has(gpb.GetRequest_STATE, "!/config/", "/state/mtu", "/state/oper-status", "/counters/")
	has(gpb.GetRequest_OPERATIONAL, "!/config/", "!/state/mtu", "/state/oper-status", "/counters/")
	b.refused(&gpb.GetRequest{Type: 9, Path: []*gpb.Path{path(portE0)}}, "InvalidArgument", "9")
}

func checkModels(b *bed) {
	ask := &gpb.GetRequest{Path: []*gpb.Path{path("/interfaces")}, Encoding: asPROT,
		UseModels: []*gpb.ModelData{{Name: "openconfig-interfaces"}}}
	for _, u := range b.mustGet(ask).GetNotification()[0].GetUpdate() {
		ts, err := b.server.model.Resolve(nil, u.GetPath(), 0)
		if err != nil || ts[0].Node.Module != "openconfig-interfaces" {
			b.t.Errorf("%v %v", u, err)
		}
		if u.GetVal().GetStringVal() == "ethernetCsmacd" {
			b.t.Errorf("%v: a word of another model", u)
		}
	}
	ask.UseModels = append(ask.UseModels, &gpb.ModelData{Name: "iana-if-type"})
	if got := answerText(b.mustGet(ask)); !strings.Contains(got, "ethernetCsmacd") {
		b.t.Errorf("no word of a model that is asked for:\n%s", got)
	}
	for _, m := range []*gpb.ModelData{{Name: "nope"}, {Name: "openconfig-interfaces", Version: "0.0.1"}} {
		ask.UseModels = []*gpb.ModelData{m}
		b.refused(ask, "InvalidArgument", m.GetName(), m.GetVersion())
	}
}

// checkAllOrNothing lets one client set two values together, while another reads both.
func checkAllOrNothing(b *bed) {
	var writer sync.WaitGroup
	both := func(n int) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{update(rateA, fmt.Sprint(n)), update(rateB, fmt.Sprint(n))}}
	}
	b.mustSet(both(1))
	writer.Go(func() {
		for n := range 20 {
			if _, err := b.server.Set(b.ctx, both(n+2)); err != nil {
				b.t.Error(err)
			}
		}
	})
	for range 10 {
		n := b.ask(asJSON, rateA, rateB).GetNotification()
		one, two := n[0].GetUpdate()[0].GetVal().GetJsonVal(), n[1].GetUpdate()[0].GetVal().GetJsonVal()
		if string(one) != string(two) {
			b.t.Errorf("half a Set: %s and %s", one, two)
		}
	}
	writer.Wait()
}
