package mgmt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// rowsToWrite are rows with possible values of the fields that the modules read. N stands for a number. Some values are
// invalid in YANG, and some names differ only in case.
var rowsToWrite = []struct {
	db   swss.DBName
	key  string
	with string
}{
	{swss.ConfigDB, "TAM_FLOWGROUP_TABLE|fN", "table-name=TAM id=1 id=2 id=x"},
	{swss.ConfigDB, "ACL_RULE|TAM|fN", ruleWords},
	{swss.ApplDB, "ACL_RULE_TABLE:TAM:fN", ruleWords},
	{swss.StateDB, "ACL_RULE_TABLE|TAM|fN", "status=Active status=Inactive reason=full"},
	{swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE|fN", statusWords},
	{swss.CountersDB, "ACL_COUNTER_RULE_MAP", "TAM:fN=oid:0x1 TAM:fN=oid:0x2"},
	{swss.CountersDB, "COUNTERS:oid:0xN", "SAI_ACL_COUNTER_ATTR_PACKETS=7 SAI_ACL_COUNTER_ATTR_PACKETS=8"},
	{swss.ConfigDB, "TAM_TAILSTAMPING_TABLE|sN", "flowgroup=f0 flowgroup=f1 clamp-mss=3 clamp-mss=99"},
	{swss.ApplDB, "TAM_TAILSTAMPING_TABLE:sN", "acl-table-name=TAM acl-rule-name=f0 acl-rule-name=f1 clamp-mss=3"},
	{swss.StateDB, "TAM_STATE_TAILSTAMPING_TABLE|sN", statusWords},
	{swss.CountersDB, "TAM_TAILSTAMPING_COUNTERS:sN", "MATCHED_PACKETS=1 MATCHED_PACKETS=2 NOT_STAMPED_CUT=x"},
	{swss.ConfigDB, "TAM_COLLECTORS_TABLE|cN", "ipaddress=10.0.0.1 ipaddress=fc00::1 port=1 PORT=70000 protocol=UDP"},
	{swss.ApplDB, "TAM_APPL_COLLECTORS_TABLE:cN", "ipaddress=10.0.0.1 port=1 port=2"},
	{swss.ConfigDB, "PORT|EthernetN", "alias=Eth0 alias=Eth1 speed=100000 mtu=9100 lanes=0,1 admin_status=up"},
	{swss.ApplDB, "PORT_TABLE:EthernetN", "oper_status=up oper_status=down mtu=9100 mtu=1500"},
	{swss.ConfigDB, "ACL_RULE|TAM|fN", "IN_PORTS=Eth0 IN_PORTS=Eth1"},
	{swss.ApplDB, "ACL_RULE_TABLE:TAM:fN", "IN_PORTS=Ethernet0 IN_PORTS=Ethernet1"},
	{swss.ConfigDB, "PORT|EthernetN", "alias=Eth0 alias=Eth1"},
	{swss.ConfigDB, "VLAN|Vlan1N", "vlanid=1N admin_status=down"},
	{swss.ConfigDB, "VLAN_MEMBER|Vlan1N|EthernetN", "tagging_mode=tagged tagging_mode=untagged"},
	{swss.ConfigDB, "ACL_TABLE|aN", "type=L3 stage=ingress ports@=Ethernet0 ports=Ethernet1"},
	{swss.ConfigDB, "ACL_RULE|aN|RULE_1", ruleWords},
	{swss.StateDB, "ACL_RULE_TABLE|aN|RULE_1", "status=Active status=Inactive"},
}

const (
	ruleWords = "PRIORITY=100 priority=7 PRIORITY=0x10 SRC_IP=10.0.0.0/8 SRC_IP_MASK=255.0.0.0 DST_IPV6=fc00::/7 " +
		"DSCP=8 DSCP=8/0x38 TTL=1 IP_TYPE=IPV6ANY IP_PROTOCOL=6 IN_PORTS=Eth0 IN_PORTS@=Ethernet0,Ethernet1 " +
		"TCP_FLAGS=0x02/0x12 " +
		"L4_DST_PORT_RANGE=1-9 L4_DST_PORT=80 SRC_MAC=02:00:00:00:00:01/ff:ff:ff:ff:ff:ff PACKET_ACTION=DROP"
	statusWords = "status=active status=pending status=nonsense reason=no_\"room\" reason=voilà " +
		"since=2026-01-02T03:04:05Z by=orchagent"
)

// change writes or removes a field or a row at random.
func (b *bed) change(r *rand.Rand) {
	b.t.Helper()
	x := rowsToWrite[r.IntN(len(rowsToWrite))]
	n := strings.NewReplacer("N", fmt.Sprint(r.IntN(3)))
	key, words := n.Replace(x.key), strings.Fields(n.Replace(x.with))
	c := b.redis.DB(x.db).Client()
	field, value, _ := strings.Cut(words[r.IntN(len(words))], "=")
	var err error
	switch r.IntN(6) {
	case 0:
		err = c.Del(b.ctx, key).Err()
	case 1:
		err = c.HDel(b.ctx, key, field).Err()
	default:
		err = c.HSet(b.ctx, key, field, value).Err()
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// readUncached returns the updates for a path, read from the databases without any cache.
func (b *bed) readUncached(v *rights.View, req *gpb.GetRequest) ([]*gpb.Update, error) {
	s := b.server
	filter, err := getFilter(req)
	if err != nil {
		return nil, err
	}
	targets, err := s.model.Resolve(nil, req.GetPath()[0], codes.InvalidArgument)
	if err == nil {
		targets, err = v.See(targets, nil, req.GetPath()[0])
	}
	out := &gpb.Notification{}
	for _, t := range tree.LimitDepth(targets, depthOf(req.GetExtension())) {
		sel := s.model.SelectLeaves(t.Node, t.Shows(v.Filter(filter)))
		if len(sel) == 0 {
			continue
		}
		if g := t.Node.List; sel[g] == nil {
			sel[g] = &tree.Selected{Rows: make([]bool, len(g.Rows))}
		}
		data, err := s.reader.SeenBy(v).Collect(b.ctx, s.model, sel, t.Keys)
		if err != nil {
			return nil, err
		}
		s.model.AddTarget(out, t, sel, data, req.GetEncoding())
	}
	if err == nil {
		err = decode(out)
	}
	return out.GetUpdate(), err
}

// Whatever is written, a Get returns the same data as without any cache, for every role and path.
func TestRecalledGets(t *testing.T) {
	roles, err := access.ParseRoles(strings.NewReader(`some read /tam
some none /tam/flowgroups/flowgroup[name=f1]
some none /tam/flowgroups/flowgroup[name=f2]/state
some none /tam/tailstamping-sessions/tailstamping-session/state/status
some read /interfaces
`))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/tam", "/tam/flowgroups", "/tam/flowgroups/flowgroup[name=*]/state",
		"/tam/flowgroups/flowgroup[name=f1]",
		"/tam/tailstamping-sessions", "/tam/tailstamping-sessions/tailstamping-session[name=*]/config", "/tam/collectors",
		"/tam/.../status", "/interfaces", "/vlans", "/acl"}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 24))
		b := newBed(t, nil)
		views, err := rights.NewViews(b.server.model, bareOperations(), roles)
		if err != nil {
			t.Fatal(err)
		}
		some := views["some"]
		for range 60 {
			b.change(r)
		}
		recalled := 0
		for range 80 {
			for range r.IntN(3) {
				b.change(r)
			}
			req := &gpb.GetRequest{
				Path:     []*gpb.Path{path(paths[r.IntN(len(paths))])},
				Encoding: encodings()[r.IntN(3)], Type: gpb.GetRequest_DataType(r.IntN(4)),
			}
			if r.IntN(4) == 0 {
				req.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Depth{
					Depth: &gnmi_ext.Depth{Level: uint32(1 + r.IntN(5))}}}}
			}
			v, ctx := (*rights.View)(nil), b.ctx
			if r.IntN(3) == 0 {
				v, ctx = some, auth.WithCaller(b.ctx, auth.Caller{Name: "u", Role: "some", View: some})
			}
			got, err := b.server.get(ctx, req)
			want, wantErr := b.readUncached(v, req)
			if code := status.Code(err); err != nil && code != codes.PermissionDenied &&
				(code != codes.NotFound || len(want) > 0) ||
				wantErr != nil && status.Code(wantErr) != code {
				t.Fatalf("%v: %v, read anew %v", req, err, wantErr)
			}
			is := &gpb.GetResponse{}
			// parts of the response are encoded already, so it must be decoded before it is compared
			if raw, err := proto.Marshal(got); err != nil || proto.Unmarshal(raw, is) != nil {
				t.Fatal(err)
			}
			wantUpdates(t, req, is, want)
			for _, g := range b.server.model.Lists {
				if strings.HasPrefix(g.Node.Path, "/tam/") {
					recalled += b.server.hub.Memos.Size(g)
				}
			}
		}
		if recalled == 0 {
			t.Error("nothing was remembered")
		}
	})
}

// wantUpdates compares the single notification of a response with updates, byte for byte.
func wantUpdates(t *testing.T, req *gpb.GetRequest, got *gpb.GetResponse, want []*gpb.Update) {
	t.Helper()
	var is []*gpb.Update
	for _, n := range got.GetNotification() {
		is = append(is, n.GetUpdate()...)
	}
	if len(is) != len(want) {
		t.Fatalf("%v: %d updates, read anew %d\n%v\n%v", req, len(is), len(want), is, want)
	}
	for i := range is {
		if !proto.Equal(is[i], want[i]) {
			t.Fatalf("%v:\n%v\nread anew\n%v", req, is[i], want[i])
		}
	}
}

// A rule that names a port by its alias changes when the ports change, too.
func TestRecalledAliases(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	const rule = "SRC_IP=13.92.96.32/32 IN_PORTS="
	b.rows(map[string]string{"CONFIG_DB ACL_RULE|TAM|f1": rule + "Eth1",
		"APPL_DB ACL_RULE_TABLE:TAM:f1": rule + "Ethernet0"})
	behind := func() string {
		t.Helper()
		u := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{path("/tam/flowgroups")}, Encoding: gpb.Encoding_JSON_IETF})
		_, text, _ := strings.Cut(string(u.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()), "not-in-force")
		return text
	}
	for range 2 {
		if got := behind(); got != "" {
			t.Errorf("not in force: %s", got)
		}
	}
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0,1,2,3 speed=100000 alias=Eth7 index=1"})
	if got := behind(); !strings.Contains(got, "interfaces") {
		t.Errorf("not in force: %q, want the interfaces", got)
	}
}
