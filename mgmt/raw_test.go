package mgmt

import (
	"testing"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// raw returns a path of origin sonic-db.
func raw(text string) *gpb.Path {
	p := path(text)
	p.Origin = tree.RawOrigin
	return p
}

func rawRowsOfTest() map[string]string {
	return map[string]string{
		"CONFIG_DB PORT|Ethernet0":               "lanes=0 mtu=9100",
		"CONFIG_DB VLAN_MEMBER|Vlan10|Ethernet0": "tagging_mode=tagged",
		"APPL_DB PORT_TABLE:Ethernet0":           "oper_status=up",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP":     "Ethernet0=oid:0x1",
		"COUNTERS_DB COUNTERS:oid:0x1":           "SAI_PORT_STAT_IF_IN_OCTETS=7",
	}
}

// The tables are served as by SONiC's server.
func TestRawGet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(rawRowsOfTest())
	for _, c := range []struct{ path, want, code string }{
		{"/CONFIG_DB/localhost/PORT/Ethernet0/mtu", `"9100"`, ""},
		{"/CONFIG_DB/localhost/PORT/Ethernet0", `{"lanes":"0","mtu":"9100"}`, ""},
		{"/CONFIG_DB/localhost/PORT", `{"Ethernet0":{"lanes":"0","mtu":"9100"}}`, ""},
		{"/CONFIG_DB/localhost/PORT/*", `{"Ethernet0":{"lanes":"0","mtu":"9100"}}`, ""},
		{"/CONFIG_DB/localhost/VLAN_MEMBER/Vlan10|Ethernet0", `{"tagging_mode":"tagged"}`, ""},
		{"/APPL_DB/localhost/PORT_TABLE/Ethernet0/oper_status", `"up"`, ""},
		{"/COUNTERS_DB/localhost/COUNTERS_PORT_NAME_MAP", `{"Ethernet0":"oid:0x1"}`, ""},
		{"/COUNTERS_DB/localhost/COUNTERS_PORT_NAME_MAP/Ethernet0", `"oid:0x1"`, ""},
		{"/COUNTERS_DB/localhost/COUNTERS/oid:0x1/SAI_PORT_STAT_IF_IN_OCTETS", `"7"`, ""},
		{"/CONFIG_DB/localhost/PORT/Ethernet4", "", "NotFound"},
		{"/CONFIG_DB/localhost/PORT/Ethernet0/nothing", "", "NotFound"},
		{"/CONFIG_DB/localhost/NOTHING", "", "NotFound"},
		{"/CONFIG_DB/localhost", "", "InvalidArgument"},
		{"/CONFIG_DB/asic0/PORT", "", "InvalidArgument"},
		{"/OTHER_DB/localhost/PORT", "", "InvalidArgument"},
		{"/CONFIG_DB/localhost/PORT/*/mtu", "", "InvalidArgument"},
		{"/CONFIG_DB/localhost/PORT[name=Ethernet0]", "", "InvalidArgument"},
	} {
		resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{raw(c.path)}, Encoding: gpb.Encoding_JSON_IETF})
		if c.code != "" {
			wantErr(t, err, c.code, "sonic-db")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		n := resp.GetNotification()[0]
		if got := string(n.GetUpdate()[0].GetVal().GetJsonIetfVal()); got != c.want ||
			n.GetPrefix().GetOrigin() != tree.RawOrigin {
			t.Errorf("%s: %s from %q, want %s", c.path, got, n.GetPrefix().GetOrigin(), c.want)
		}
	}
	one := &gpb.GetRequest{Path: []*gpb.Path{raw("/CONFIG_DB/localhost/PORT/Ethernet0/mtu")}, Encoding: gpb.Encoding_PROTO}
	resp, err := b.client.Get(b.ctx, one)
	if err != nil || resp.GetNotification()[0].GetUpdate()[0].GetVal().GetStringVal() != "9100" {
		t.Error(resp, err)
	}
	one.Path[0] = raw("/CONFIG_DB/localhost/PORT/Ethernet0")
	_, err = b.client.Get(b.ctx, one)
	wantErr(t, err, "Unimplemented", "JSON")
	_, err = b.client.Set(b.ctx, &gpb.SetRequest{Delete: []*gpb.Path{raw("/CONFIG_DB/localhost/PORT/Ethernet0")}})
	wantErr(t, err, "Unimplemented", "read-only")
}

func rawList(mode gpb.SubscriptionList_Mode, sub gpb.SubscriptionMode, p string) *gpb.SubscriptionList {
	return &gpb.SubscriptionList{Mode: mode, Encoding: gpb.Encoding_JSON_IETF, Subscription: []*gpb.Subscription{{
		Path: raw(p), Mode: sub, SampleInterval: uint64(time.Second),
	}}}
}

// A table on change sends each written row, and a delete for each deleted one.
func TestRawOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(rawRowsOfTest())
	const port = "/CONFIG_DB/localhost/PORT/"
	s := b.subscribe(rawList(gpb.SubscriptionList_STREAM, onChange, "/CONFIG_DB/localhost/PORT"))
	s.want("U "+port+`Ethernet0 {"lanes":"0","mtu":"9100"}`, "S")
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet4": "lanes=4"})
	s.want("U " + port + `Ethernet4 {"lanes":"4"}`)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "mtu=1500"})
	s.want("U " + port + `Ethernet0 {"lanes":"0","mtu":"1500"}`)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet4": ""})
	s.want("D " + port + "Ethernet4")
	field := b.subscribe(rawList(gpb.SubscriptionList_STREAM, onChange, port+"Ethernet0/mtu"))
	field.want("U "+port+`Ethernet0/mtu "1500"`, "S")
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=1"})
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "mtu=2000"})
	field.want("U " + port + `Ethernet0/mtu "2000"`)
}

// ONCE and POLL work, and unsupported requests are refused.
func TestRawModes(t *testing.T) {
	b := newBed(t, nil)
	b.rows(rawRowsOfTest())
	const names = "/COUNTERS_DB/localhost/COUNTERS_PORT_NAME_MAP"
	s := b.subscribe(rawList(gpb.SubscriptionList_ONCE, 0, names))
	s.want("U "+names+` {"Ethernet0":"oid:0x1"}`, "S")
	s.wantEnd("OK")
	b.subscribe(rawList(gpb.SubscriptionList_STREAM, onChange, names)).wantEnd("InvalidArgument")
	mixed := rawList(gpb.SubscriptionList_ONCE, 0, names)
	mixed.Subscription = append(mixed.Subscription, subOf(onChange, "/tam"))
	b.subscribe(mixed).wantEnd("InvalidArgument")
	sampled := b.subscribe(rawList(gpb.SubscriptionList_STREAM, sample, names))
	sampled.want("U "+names+` {"Ethernet0":"oid:0x1"}`, "S")
}

// Any path of origin sonic-db is either valid, or refused with an error that explains the fault.
func FuzzRawPath(f *testing.F) {
	r := fetch.Reader{Redis: swsstest.Start(f)}
	f.Add("CONFIG_DB", "localhost", "PORT", "Ethernet0", "mtu")
	f.Add("x", "", "*", "*", "")
	f.Fuzz(func(t *testing.T, a, b, c, d, e string) {
		p := &gpb.Path{Origin: tree.RawOrigin}
		for _, name := range []string{a, b, c, d, e} {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
		}
		for n := range len(p.GetElem()) + 1 {
			got, err := r.ParseRaw(nil, &gpb.Path{Origin: tree.RawOrigin, Elem: p.GetElem()[:n]})
			if err == nil && (got.Table == "" || got.DB == nil || got.Field != "" && got.Key == "") {
				t.Errorf("%q: %+v", p, got)
			}
		}
	})
}
