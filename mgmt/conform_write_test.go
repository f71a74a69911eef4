package mgmt

import (
	"strings"
	"sync"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/types/known/anypb"
)

func replacing(updates ...*gpb.Update) *gpb.SetRequest { return &gpb.SetRequest{Replace: updates} }

func deleting(paths ...string) *gpb.SetRequest {
	req := &gpb.SetRequest{}
	for _, p := range paths {
		req.Delete = append(req.Delete, path(p))
	}
	return req
}

const (
	rowA   = "TAM_SAMPLINGRATE_TABLE|a"
	rowB   = "TAM_SAMPLINGRATE_TABLE|b"
	rowOf1 = "TAM_COLLECTORS_TABLE|c1"
)

// writingChecks returns the checks of Set.
func writingChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"S1": func(b *bed) {
			b.rows(samplers("1", ""))
			req := updating(update(rateA, "4"))
			req.Replace = []*gpb.Update{update("/tam/samplers/sampler[name=a]", `{"config":{"sampling-rate":3}}`)}
			req.Delete = []*gpb.Path{path("/tam/samplers/sampler[name=a]")}
			b.mustSet(req)
			b.wantRow(rowA, "sampling-rate=4")
		},
		"S2": func(b *bed) {
			b.mustSet(updating(update(rateA, "1"), update(rateA, "2")))
			b.wantRow(rowA, "sampling-rate=2")
		},
		"S3": checkResults,
		"S4": func(b *bed) {
			if got := b.mustSet(&gpb.SetRequest{}); len(got.GetResponse()) > 0 || got.GetTimestamp() <= 0 {
				b.t.Error(got)
			}
			b.mustSet(&gpb.SetRequest{Extension: ofMaster("r", 0, 1)})
		},
		"S5": func(b *bed) {
			b.rows(samplers("1", ""))
			b.mustSet(replacing(update(portE0+"/config", `{"description":"x","enabled":true}`)))
			b.mustSet(replacing(update(portE0+"/config", `{"enabled":false}`)))
			b.wantText(answerText(b.ask(asIETF, portE0+"/config/mtu")), portE0+"/config/mtu 9100") // its default
			if row := b.row("PORT|Ethernet0"); strings.Contains(row, "description") || !strings.Contains(row, "lanes=0,1,2,3") {
				b.t.Error(row)
			}
			b.wantRow(rowA, "sampling-rate=1")
			b.refusedSet(replacing(update(entryA, "{}")), "InvalidArgument", entryA, "{}")
		},
		"S6": func(b *bed) {
			b.rows(map[string]string{"CONFIG_DB " + rowOf1: "ipaddress=10.0.0.1 port=1 protocol=TCP"})
			b.mustSet(updating(update(c1+"/config", `{"port":2}`)))
			b.wantRow(rowOf1, "ipaddress=10.0.0.1 port=2 protocol=TCP")
		},
		"S7": func(b *bed) {
			b.mustSet(updating(update(rateA, "7")))
			b.mustSet(replacing(update(rateB, "8")))
			b.wantRow(rowA, "sampling-rate=7")
			b.wantRow(rowB, "sampling-rate=8")
		},
		"S8": func(b *bed) {
			entry := func(name string) string { return `{"name":"` + name + `","config":{"sampling-rate":9}}` }
			b.rows(samplers("", "1"))
			b.mustSet(updating(update(samplerList+"/sampler", "["+entry("c")+"]")))
			b.wantRow(rowB, "sampling-rate=1")
			b.mustSet(replacing(update(samplerList+"/sampler", "["+entry("a")+","+entry("b")+"]")))
			b.wantRow(rowA, "sampling-rate=9")
			b.wantRow(rowB, "sampling-rate=9")
			b.wantRow("TAM_SAMPLINGRATE_TABLE|c", "")
		},
		"S9": func(b *bed) {
			b.refusedSet(updating(update("/config-rows/row[table=PORT]", `{"config":{"field":["mtu=1"]}}`)), "InvalidArgument",
				"key")
			b.refusedSet(replacing(update("/tam/samplers/sampler/config", `{"sampling-rate":1}`)), "InvalidArgument", "key")
		},
		"S10": func(b *bed) {
			b.refusedSet(updating(update("/tam/samplers/sampler[name=a]", `{"name":"b","config":{"sampling-rate":1}}`)),
				"InvalidArgument", `"b"`, `"a"`)
		},
		"S11": func(b *bed) {
			b.rows(samplers("1", "2"))
			b.mustSet(deleting("/tam/samplers/sampler[name=*]"))
			b.wantRow(rowA, "")
			b.rows(samplers("1", "2"))
			b.mustSet(deleting("/tam/samplers/sampler"))
			b.wantRow(rowB, "")
			b.rows(samplers("1", "2"))
			b.mustSet(deleting("/tam/samplers"))
			b.wantRow(rowA, "")
		},
		"S12": func(b *bed) {
			before := b.config()
			b.mustSet(deleting(c1, c1+"/config/port", "/tam/samplers/sampler[name=*]",
				"/lacp/interfaces/interface[name=PortChannel99]"))
			b.wantText(b.config(), before)
		},
		"S13": checkNothingOfASet,
		"S14": func(b *bed) {
			for p, v := range map[string]string{
				rateA: `"five"`, rateB: "0", portE0 + "/config/mtu": "100000", portE0 + "/config/enabled": `"yes"`,
				"/tam/features/feature[feature-ref=TAILSTAMPING]/config/status": `"SOMETIMES"`, portE0 + "/config": "[]",
			} {
				b.refusedSet(updating(update(p, v)), "InvalidArgument", p)
			}
			for _, v := range []*gpb.TypedValue{
				{Value: &gpb.TypedValue_BoolVal{BoolVal: true}}, {Value: &gpb.TypedValue_StringVal{StringVal: "x"}},
				{Value: &gpb.TypedValue_IntVal{IntVal: -1}}, {},
			} {
				b.refusedSet(updating(&gpb.Update{Path: path(rateA), Val: v}), "InvalidArgument", rateA)
			}
		},
		"S15": func(b *bed) {
			b.refusedSet(updating(update("/tam/nowhere", "1")), "NotFound", "/tam/nowhere")
			b.refusedSet(replacing(update("/tam/nowhere", "1")), "NotFound", "/tam/nowhere")
			b.refusedSet(updating(update("/tam", `{"nowhere":1}`)), "InvalidArgument", "nowhere")
		},
		"S16": func(b *bed) {
			empty := &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: ""}}}
			b.refusedSet(&gpb.SetRequest{Update: []*gpb.Update{{Path: empty, Val: ietf("1")}}}, "InvalidArgument", "element 2")
			b.refusedSet(&gpb.SetRequest{Delete: []*gpb.Path{empty}}, "InvalidArgument", "element 2")
		},
		"S17": func(b *bed) {
			for _, v := range []*gpb.TypedValue{
				{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "5"}}, {Value: &gpb.TypedValue_ProtoBytes{ProtoBytes: []byte{1}}},
				{Value: &gpb.TypedValue_AnyVal{AnyVal: &anypb.Any{}}},
			} {
				b.refusedSet(updating(&gpb.Update{Path: path(rateA), Val: v}), "Unimplemented", "JSON")
			}
		},
		"S18": func(b *bed) {
			b.refusedSet(updating(update(portE0+"/state/oper-status", `"UP"`)), "InvalidArgument", "oper-status")
			b.refusedSet(deleting(portE0+"/state"), "InvalidArgument", "state")
		},
		"S19": checkUsers,
		"S20": func(b *bed) {
			p := "/tam/flowgroups/flowgroup[name=f1]/config/interfaces"
			in := func() string {
				_, ports, _ := strings.Cut(b.row("ACL_RULE|TAM|f1"), "IN_PORTS=")
				return ports[:min(len(ports), 19)]
			}
			b.mustSet(replacing(update(p, `["Ethernet4"]`)))
			if got := in(); !strings.HasPrefix(got, "Ethernet4 ") {
				b.t.Error(got)
			}
			b.mustSet(updating(update(p, `["Ethernet0"]`)))
			if got := in(); got != "Ethernet4,Ethernet0" {
				b.t.Error(got)
			}
		},
		"S21": checkUnionReplace,
		"S22": func(b *bed) {
			b.refusedSet(updating(update(c1, `[{"name":"c1"}]`)), "InvalidArgument", "object")
			b.refusedSet(updating(update(c1, `{"config":`)), "InvalidArgument", "JSON")
		},
		"S23": checkSetsTogether,
		"S24": func(b *bed) {
			b.refusedSet(updating(update("/tam/nowhere", "1"), update(rateA, "1")), "NotFound")
			b.refusedSet(deleting("/tam/flowgroups/flowgroup[name=f1]"), "FailedPrecondition", "in use")
			b.refusedSet(updating(update("/tam/nowhere", "1"), update(rateA, "0")), "InvalidArgument", "nowhere", rateA)
		},
	}
}

func checkResults(b *bed) {
	b.rows(samplers("1", ""))
	req := deleting("/tam/samplers/sampler[name=a]", "/tam/samplers/sampler[name=z]")
	req.Update = []*gpb.Update{update(rateB, "2"), update(rateA, "2")}
	req.Replace = []*gpb.Update{update(rateA, "3")}
	got := b.mustSet(req)
	var text []string
	for _, r := range got.GetResponse() {
		text = append(text, r.GetOp().String()+" "+tree.PathText(r.GetPath()))
	}
	b.wantText(strings.Join(text, "\n"),
		"DELETE /tam/samplers/sampler[name=a]\nDELETE /tam/samplers/sampler[name=z]\nREPLACE "+
			rateA+"\nUPDATE "+rateB+"\nUPDATE "+rateA)
	if got.GetTimestamp() <= 0 {
		b.t.Error("no timestamp")
	}
}

func checkNothingOfASet(b *bed) {
	b.rows(samplers("1", ""))
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.want("U "+rateA+" 1", "S")
	b.refusedSet(updating(update(rateA, "5"), update(rateB, "6"), update(rateB, "0")), "InvalidArgument", rateB)
	b.mustSet(updating(update(rateA, "9")))
	s.want("U " + rateA + " 9")
}

func checkSetsTogether(b *bed) {
	var all sync.WaitGroup
	for _, v := range []string{"1", "2"} {
		all.Go(func() {
			for range 5 {
				if _, err := b.server.Set(b.ctx, replacing(update(rateA, v), update(rateB, v))); err != nil {
					b.t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if one, two := b.row(rowA), b.row(rowB); one == "" || one != two {
		b.t.Errorf("%q and %q", one, two)
	}
}

func checkUnionReplace(b *bed) {
	union := func(updates ...*gpb.Update) *gpb.SetRequest { return &gpb.SetRequest{UnionReplace: updates} }
	b.rows(samplers("1", "2"))
	// No path reverts the value of another one, whatever their order.
	got := b.mustSet(union(
		update(entryA+"/config", `{"sampling-rate":5}`),
		update("/tam/samplers", `{"sampler":[{"name":"c","config":{"sampling-rate":3}}]}`)))
	if r := got.GetResponse(); len(r) != 2 || r[0].GetOp() != gpb.UpdateResult_UNION_REPLACE ||
		tree.PathText(r[1].GetPath()) != "/tam/samplers" {
		b.t.Error(got)
	}
	b.wantRow(rowA, "sampling-rate=5")
	b.wantRow(rowB, "")
	b.wantRow("TAM_SAMPLINGRATE_TABLE|c", "sampling-rate=3")
	// Both updates contain the same value.
	b.mustSet(union(update(rateA, "6"), update(entryA, `{"config":{"sampling-rate":6}}`)))
	b.wantRow(rowA, "sampling-rate=6")
	b.refusedSet(union(update(rateA, "7"), update(entryA, `{"config":{"sampling-rate":8}}`)), "InvalidArgument", `"8"`,
		rateA)
	beside := union(update(rateA, "7"))
	beside.Delete = []*gpb.Path{path(entryB)}
	b.refusedSet(beside, "InvalidArgument", "union_replace", "delete")
	b.refusedSet(union(update(rateA, "7"), update(rateB, "0")), "InvalidArgument", rateB)
	b.refusedSet(union(update("/tam/nowhere", "7")), "NotFound", "/tam/nowhere")
	cli := &gpb.Update{Path: &gpb.Path{Origin: "cli"}, Val: &gpb.TypedValue{
		Value: &gpb.TypedValue_AsciiVal{AsciiVal: "hostname x"}}}
	b.refusedSet(union(cli, update(rateA, "7")), "Unimplemented", `"cli"`)
}
