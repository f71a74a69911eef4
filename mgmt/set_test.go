package mgmt

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	collectors = "/tam/collectors"
	c1         = "/tam/collectors/collector[name=c1]"
	flowgroups = "/tam/flowgroups"
	sessions   = "/tam/tailstamping-sessions"
)

// A Set without operations succeeds. Each leaf of a row may be set by a protobuf value of its own.
func TestSetOfValues(t *testing.T) {
	b := newBed(t, nil)
	b.mustSet(&gpb.SetRequest{})
	resp := b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{
		{Path: path(c1 + "/config/ip"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "10.0.0.1"}}},
		{Path: path(c1 + "/config/port"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 9}}},
	}})
	const want = "ipaddress=10.0.0.1 ipaddress-type=ipv4 port=9 protocol=UDP"
	if got := b.row("TAM_COLLECTORS_TABLE|c1"); got != want || len(resp.GetResponse()) != 2 {
		t.Errorf("%q, want %q; %v", got, want, resp)
	}
}

func brokenOut() map[string]string {
	rows := someSwitch()
	rows["CONFIG_DB PORT|Ethernet4"] = "lanes=4,5 speed=50000 alias=Eth2/1 index=2"
	rows["CONFIG_DB PORT|Ethernet6"] = "lanes=6,7 speed=50000 alias=Eth2/2 index=2"
	rows["CONFIG_DB BREAKOUT_CFG|Ethernet4"] = "brkout_mode=2x50G"
	return rows
}

// Invalid requests that a transcript cannot express are refused too, and change nothing.
func TestSetRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("one request after the other: nothing for the race detector")
	}
	up := func(p, v string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{update(p, v)}}
	}
	val := func(p string, v *gpb.TypedValue) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{{Path: path(p), Val: v}}}
	}
	b := newBed(t, nil)
	b.rows(someSwitch())
	before := b.config()
	for _, c := range []struct {
		name  string
		req   *gpb.SetRequest
		code  string
		words []string
	}{
		{"wrong scalar", val(c1+"/config/port", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "1"}}),
			"InvalidArgument", []string{"uint16"}},
		{"element without a name", &gpb.SetRequest{Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "tam"}, {}}}}},
			"InvalidArgument", []string{"has no name"}},
		{"bad JSON", up(c1, `{"config":`), "InvalidArgument", []string{"bad JSON"}},
		{"no UTF-8", up("/interfaces/interface[name=Ethernet0]/config/description", "\"\xff\""), "InvalidArgument",
			[]string{"not UTF-8"}},
		{"more than one JSON value", up(c1, `{} {}`), "InvalidArgument", []string{"more than one"}},
		{"ascii", val(c1+"/config/ip", &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "x"}}), "Unimplemented",
			nil},
		{"ascii for a container", val(c1, &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "x"}}), "Unimplemented",
			nil},
		{"any", val(c1+"/config/ip", &gpb.TypedValue{Value: &gpb.TypedValue_AnyVal{}}), "Unimplemented", nil},
		{"scalar for a container", val(c1, &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "x"}}),
			"InvalidArgument", []string{"container"}},
		{"no value", val(c1, nil), "InvalidArgument", []string{"missing"}},
		{"unknown origin", &gpb.SetRequest{Prefix: &gpb.Path{Origin: "cli"}, Update: []*gpb.Update{update("/tam", "{}")}},
			"Unimplemented", []string{"origin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := b.client.Set(b.ctx, c.req)
			wantErr(t, err, c.code, c.words...)
			if after := b.config(); after != before {
				t.Errorf("CONFIG_DB changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// Concurrent Sets on the same entry are executed one after the other.
func TestConcurrentSets(t *testing.T) {
	b := newBed(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				p := fmt.Sprintf(`{"ip":"10.0.0.%d","port":%d}`, i+1, i+1)
				if _, err := b.client.Set(b.ctx, &gpb.SetRequest{Replace: []*gpb.Update{update(c1+"/config", p)}}); err != nil {
					t.Error(err)
				}
				got, err := b.get(c1 + "/config")
				var x, y int
				for _, f := range strings.Split(got, ",") {
					fmt.Sscanf(f, `"openconfig-tam:port":%d`, &x)
					fmt.Sscanf(f, `{"openconfig-tam:ip":"10.0.0.%d"`, &y)
					fmt.Sscanf(f, `"openconfig-tam:ip":"10.0.0.%d"`, &y)
				}
				if err != nil || x != y {
					t.Errorf("half a Set is seen: %s (%v)", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// A Set keeps what other programs write meanwhile.
func TestForeignWriter(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			b.rows(map[string]string{"CONFIG_DB TAM_SWITCH_TABLE|global": fmt.Sprintf("enterprise-id=%d", i+1)})
		}
	})
	for i := range 50 {
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/switch/config/switch-id", fmt.Sprint(i+1))}})
		if err != nil && !strings.Contains(err.Error(), "kept writing") {
			t.Fatal(err)
		}
	}
	wg.Wait()
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/tam/switch/config/switch-id", "77")}})
	if got := b.row("TAM_SWITCH_TABLE|global"); got != "enterprise-id=200 switch-id=77" {
		t.Error(got)
	}
}

// One error lists all faults: data that is missing, absent although referenced, in use, or already used.
func TestAllErrorsOfASet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{
		Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]")},
		Update: []*gpb.Update{
			update(c1, `{"config":{"name":"c1","ip":"10.0.0.1"}}`),
			update("/tam/tailstamping-sessions/tailstamping-session[name=s2]", `{"name":"s2","config":{"flowgroup":"none"}}`),
			update("/tam/samplers/sampler[name=x]", `{"name":"x"}`),
		},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"collector[name=c1]", "there is no flowgroup none", "sampler[name=x]",
		"in use by tailstamping-session s1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not among the errors:\n%v", want, err)
		}
	}
	var many []*gpb.Update
	for i := range 25 {
		many = append(many, update(fmt.Sprintf("/tam/samplers/sampler[name=x%d]", i), fmt.Sprintf(`{"name":"x%d"}`, i)))
	}
	_, err = b.client.Set(b.ctx, &gpb.SetRequest{Update: many})
	if err == nil || !strings.HasSuffix(err.Error(), "and 5 more") {
		t.Errorf("25 errors: %v", err)
	}
}
