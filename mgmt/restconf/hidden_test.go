package restconf

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// kindsOfRows are the rows of one object of each kind, in any databases. TN is a word, AN an address, MN a MAC address,
// and SN a secret, each unique for every object. # is a number.
var kindsOfRows = []map[string]string{
	{
		"CONFIG_DB PORT|Ethernet#":                "lanes=# speed=100000 alias=T1 description=T2 mtu=9100",
		"APPL_DB PORT_TABLE:Ethernet#":            "lanes=# speed=100000 alias=T1 description=T2 oper_status=up",
		"STATE_DB PORT_TABLE|Ethernet#":           "status=failed reason=T3 by=orchagent",
		"APPL_DB LLDP_ENTRY_TABLE:Ethernet#":      "lldp_rem_sys_name=T4 lldp_rem_chassis_id=M1 lldp_rem_port_id=T5",
		"CONFIG_DB INTERFACE|Ethernet#|A1/24":     "NULL=NULL",
		"CONFIG_DB INTERFACE|Ethernet#":           "NULL=NULL",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP":      "Ethernet#=oid:0x#",
		"CONFIG_DB VLAN_MEMBER|Vlan#|Ethernet#":   "tagging_mode=tagged",
		"CONFIG_DB SFLOW_SESSION|Ethernet#":       "admin_state=up",
		"CONFIG_DB PORTCHANNEL_MEMBER|T6|Etherne": "NULL=NULL",
	},
	{
		"CONFIG_DB TAM_COLLECTORS_TABLE|T1":      "ipaddress=A1 port=47# protocol=UDP",
		"APPL_DB TAM_COLLECTORS_TABLE:T1":        "ipaddress=A1 port=47# protocol=UDP",
		"STATE_DB TAM_STATE_COLLECTORS_TABLE|T1": "status=failed reason=T2,T1 by=tammgrd",
		"CONFIG_DB TAM_COLLECTOR|T3":             "dst_ip=A2 src_ip=A3 dst_port=47#",
		"STATE_DB TAM_COLLECTOR_TABLE|T3":        "status=pending reason=T4 by=orchagent",
		"CONFIG_DB TAM_SAMPLINGRATE_TABLE|T5":    "sampling-rate=#",
		"CONFIG_DB SFLOW_COLLECTOR|T6":           "collector_ip=A4",
		"CONFIG_DB SYSLOG_SERVER|A5":             "source=A6 port=51#",
	},
	{
		"CONFIG_DB TAM_FLOWGROUP_TABLE|T1":      "table-name=TAM id=#",
		"CONFIG_DB ACL_RULE|TAM|T1":             "PRIORITY=1# SRC_IP=A1/32 DST_IP=A2/32",
		"APPL_DB ACL_RULE_TABLE:TAM:T1":         "PRIORITY=1# SRC_IP=A1/32 DST_IP=A2/32",
		"STATE_DB ACL_RULE_TABLE|TAM|T1":        "status=Inactive reason=T2 by=orchagent",
		"STATE_DB TAM_STATE_FLOWGROUP_TABLE|T1": "status=failed reason=T3 by=tammgrd",
		"COUNTERS_DB ACL_COUNTER_RULE_MAP":      "TAM:T1=oid:0x#",
		"STATE_DB TAMTAM_ACL_HOLDERS":           "TAM|T1=TAM|T1",
	},
	{
		"CONFIG_DB ACL_TABLE|T1":            "type=L3 stage=INGRESS ports=Ethernet# policy_desc=T2",
		"APPL_DB ACL_TABLE_TABLE:T1":        "type=L3 stage=INGRESS ports=Ethernet# policy_desc=T2",
		"STATE_DB ACL_TABLE_TABLE|T1":       "status=Inactive reason=T3 by=orchagent",
		"CONFIG_DB ACL_RULE|T1|RULE_#":      "PRIORITY=# SRC_IP=A1/32 PACKET_ACTION=DROP",
		"APPL_DB ACL_RULE_TABLE:T1:RULE_#":  "PRIORITY=# SRC_IP=A1/32 PACKET_ACTION=DROP",
		"STATE_DB ACL_RULE_TABLE|T1|RULE_#": "status=Inactive reason=T1|RULE_#,A1 by=orchagent",
		"COUNTERS_DB ACL_COUNTER_RULE_MAP":  "T1:RULE_#=oid:0x#",
		"STATE_DB TAMTAM_ACL_HOLDERS":       "T1|RULE_#=T1|RULE_1",
	},
	{
		"CONFIG_DB TAM_TAILSTAMPING_TABLE|T1":      "flowgroup=T2",
		"APPL_DB TAM_TAILSTAMPING_TABLE:T1":        "acl-table-name=TAM acl-rule-name=T2",
		"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|T1": "status=pending reason=T3 by=tammgrd",
		"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:T1": "MATCHED_PACKETS=#",
		"CONFIG_DB TAM_ALTMARK_TABLE|T4":           "flowgroup=T5 role=initiator method=step mark=dscp0",
		"STATE_DB TAM_STATE_ALTMARK_TABLE|T4":      "status=failed reason=T6 by=orchagent",
		"CONFIG_DB TAM_FLYMON_TASK_TABLE|T7":       "key=src-ip attribute=frequency memory=96 filter=src-ip=A1/32",
		"STATE_DB TAM_STATE_FLYMON_TASK_TABLE|T7":  "status=failed reason=T8 by=orchagent",
		"CONFIG_DB TAM_FLYMON_QUERY_TABLE|T9":      "task=T13 flow=A2",
		"CONFIG_DB TAM_TABLERECORD_TABLE|T10":      "flowgroup=T11 collector=T12",
	},
	{
		"CONFIG_DB TAM_SESSION|T1":                   "type=drop-monitor collector@=T2 flow_group=T3",
		"STATE_DB TAM_DROP_MONITOR_SESSION_TABLE|T1": "status=inactive state=failed reason=T4 by=orchagent",
		"CONFIG_DB TAM_FLOW_GROUP|T5":                "aging_interval=1000 ports@=Ethernet#",
		"CONFIG_DB TAM_FLOW_GROUP|T5|T6":             "src_ip_prefix=A1/32",
		"CONFIG_DB MIRROR_SESSION|T7":                "type=ERSPAN src_ip=A2 dst_ip=A3 gre_type=0x8949",
		"STATE_DB MIRROR_SESSION_TABLE|T7":           "status=inactive reason=T8 by=orchagent",
		"CONFIG_DB DEBUG_COUNTER|T9":                 "type=PORT_INGRESS_DROPS desc=T10 alias=T11",
	},
	{
		"CONFIG_DB VLAN|Vlan#":                 "vlanid=# description=T1",
		"CONFIG_DB VLAN_INTERFACE|Vlan#":       "NULL=NULL",
		"CONFIG_DB VLAN_INTERFACE|Vlan#|A1/24": "NULL=NULL",
		"STATE_DB FDB_TABLE|Vlan#:M1":          "port=Ethernet# type=dynamic",
		"CONFIG_DB FDB|Vlan#|M2":               "port=Ethernet#",
		"CONFIG_DB NEIGH|Vlan#|A2":             "neigh=M3 family=IPv4",
		"APPL_DB NEIGH_TABLE:Vlan#:A2":         "neigh=M3 family=IPv4",
		"CONFIG_DB STATIC_ROUTE|A3/32":         "nexthop=A4 ifname=Vlan#",
		"APPL_DB ROUTE_TABLE:A5/32":            "nexthop=A6 ifname=Vlan# protocol=static",
		"STATE_DB ROUTE_TABLE|A5/32":           "status=pending reason=A6 by=orchagent",
	},
	{
		"CONFIG_DB SCHEDULER|T1":           "type=DWRR weight=#",
		"CONFIG_DB QUEUE|Ethernet#|3":      "scheduler=T2 wred_profile=T3",
		"CONFIG_DB WRED_PROFILE|T4":        "ecn=ecn_all green_max_threshold=1#",
		"CONFIG_DB BUFFER_POOL|T5":         "type=egress mode=dynamic size=1000#",
		"CONFIG_DB BUFFER_PROFILE|T6":      "pool=T7 size=100 dynamic_th=1",
		"CONFIG_DB DSCP_TO_TC_MAP|T8":      "8=1",
		"CONFIG_DB PORT_QOS_MAP|Ethernet#": "dscp_to_tc_map=T9",
		"STATE_DB BUFFER_POOL_TABLE|T5":    "status=failed reason=T10 by=orchagent",
	},
	{
		"CONFIG_DB TACPLUS_SERVER|A1":            "passkey=S1 priority=#",
		"CONFIG_DB SNMP_COMMUNITY|S2":            "TYPE=RO",
		"CONFIG_DB RADIUS_SERVER|A2":             "passkey=S3 src_ip=A3",
		"CONFIG_DB MACSEC_PROFILE|T1":            "primary_cak=S4 policy=T2",
		"APPL_DB MACSEC_INGRESS_SA_TABLE:T1:1:0": "sak=S5 active=true",
		"CONFIG_DB NTP_KEY|#":                    "type=md5 value=S6",
		"CONFIG_DB DEVICE_METADATA|localhost":    "hostname=T3 mac=M1",
		"CONFIG_DB SITE_NOTES|T4":                "text=T5 password=S7",
	},
}

// hiddenTokens matches the tokens that identify rows.
var hiddenTokens = regexp.MustCompile(`\b[tS]\d+[a-z]\b|\b10\.\d+\.\d+\.\d+\b|\b02(:[0-9A-Fa-f]{2}){5}\b`)

// rowTokens returns the tokens of a text, MAC addresses in lower case.
func rowTokens(text string) []string {
	found := hiddenTokens.FindAllString(text, -1)
	for i := range found {
		if strings.HasPrefix(found[i], "02:") {
			found[i] = strings.ToLower(found[i])
		}
	}
	return found
}

// placeholders matches the parts of a kind that are made for each object.
var placeholders = regexp.MustCompile(`\b[TAMS]\d+\b|#`)

// objectOf returns the rows of a new object.
func objectOf(r *rand.Rand, kind map[string]string, number int) map[string]string {
	made := map[string]string{"#": fmt.Sprint(number)}
	fill := func(text string) string {
		return placeholders.ReplaceAllStringFunc(text, func(p string) string {
			if made[p] == "" {
				n := r.IntN(1 << 24)
				switch p[0] {
				case 'A':
					made[p] = fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)
				case 'M':
					made[p] = fmt.Sprintf("02:fe:%02x:%02x:%02x:%02x", number, n>>16, n>>8&255, n&255)
				default:
					made[p] = fmt.Sprintf("%s%d%c", strings.ToLower(p[:1]), n, 'a'+rune(n%26))
				}
				if p[0] == 'S' {
					made[p] = strings.ToUpper(made[p][:1]) + made[p][1:]
				}
			}
			return made[p]
		})
	}
	rows := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(kind)) {
		name := fill(key)
		rows[name] = strings.TrimSpace(rows[name] + " " + fill(kind[key]))
	}
	return rows
}

// anyTable returns the rows of an object of a random table with random fields, in all databases that have the table.
func anyTable(r *rand.Rand) map[string]string {
	all := schema.Tables()
	t := all[r.IntN(len(all))]
	var fields []string
	for _, f := range t.Fields {
		if r.IntN(2) == 0 {
			fields = append(fields, fmt.Sprintf("%s=T%d", f.Name, 2+r.IntN(5)))
		}
	}
	text, rows := cmp.Or(strings.Join(fields, " "), "NULL=NULL"), map[string]string{}
	for name, table := range map[string]string{
		"CONFIG_DB ": t.Config, "APPL_DB ": t.Appl, "STATE_DB ": t.State, "COUNTERS_DB ": t.Counters,
	} {
		if table != "" {
			rows[name+table+map[bool]string{true: ":", false: "|"}[name == "APPL_DB " || name == "COUNTERS_DB "]+"T1"] = text
		}
	}
	return rows
}

// talk returns rows in which daemons report about the object of the given rows: in the status of another object, an
// alarm, or a list.
func talk(r *rand.Rand, rows map[string]string, n int) map[string]string {
	said := map[string]string{}
	names := slices.Sorted(maps.Keys(rows))
	db, key, _ := strings.Cut(names[r.IntN(len(names))], " ")
	table, name, ok := strings.Cut(key, map[bool]string{true: ":", false: "|"}[db == "APPL_DB" || db == "COUNTERS_DB"])
	if !ok || db != "CONFIG_DB" {
		return nil
	}
	about := []string{
		table + "|" + name, name + ":", `"` + name + `"`, "(" + name + ")", strings.ReplaceAll(name, "|", ":"), name + ",x",
	}[r.IntN(6)]
	row := fmt.Sprintf("text=1_failed:\x1f%s:\x1fwhy resource=%s severity=MAJOR time-created=1 type-id=X", about, table)
	said[fmt.Sprintf("STATE_DB TAMTAM_ALARM|%s-%d", table, n)] = row
	said["STATE_DB TAMTAM_UNAPPLIED|"+table+"|"+name] = "invalid=" + about + " no-effect=" + about
	said[fmt.Sprint("STATE_DB TAM_STATE_SAMPLINGRATE_TABLE|other", n)] = "status=pending reason=waits\x1ffor\x1f" + about +
		" by=x"
	said[fmt.Sprint("CONFIG_DB TAM_SAMPLINGRATE_TABLE|other", n)] = "sampling-rate=7"
	said["STATE_DB TAMTAM_HEALTH|orchagent"] = "state=degraded owner=x reason=stuck\x1fat\x1f" + about
	said["STATE_DB TAMTAM_CONSISTENCY|tammgrd"] = "state=drifted open=1 reason=differs:\x1f" + about
	return said
}

// A feed is a client that subscribes to changes.
type feed struct {
	once
	sent chan string
}

func (f *feed) Recv() (*gpb.SubscribeRequest, error) {
	if r, err := f.once.Recv(); err == nil {
		return r, nil
	}
	<-f.ctx.Done()
	return nil, f.ctx.Err()
}

func (f *feed) Send(m *gpb.SubscribeResponse) error {
	select {
	case f.sent <- fmt.Sprint(m):
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// fed returns the data that a subscriber to everything receives until the sync_response, and while rows change.
func (g *guarded) fed(name string, change func()) string {
	g.t.Helper()
	ctx, end := context.WithCancel(g.as(name))
	f := &feed{once{ctx: ctx, request: &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
		Subscribe: &gpb.SubscriptionList{
			Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_PROTO,
			Subscription: []*gpb.Subscription{{Path: &gpb.Path{}, Mode: gpb.SubscriptionMode_TARGET_DEFINED}},
		},
	}}}, make(chan string)}
	ended := make(chan error, 1)
	go func() { ended <- g.engine.Subscribe(f) }()
	var all strings.Builder
	until := func(word string) {
		for {
			select {
			case m := <-f.sent:
				if all.WriteString(m); strings.Contains(m, word) {
					return
				}
			case err := <-ended:
				g.t.Fatalf("the subscription ended: %v", err)
			}
		}
	}
	until("sync_response")
	change()
	g.bed.rows(map[string]string{"CONFIG_DB PORT|Ethernet99": "lanes=99 speed=100000 description=marker"})
	until("marker")
	end()
	<-ended
	return all.String()
}

// outputs returns all that a user is shown, by request.
func (g *guarded) outputs(r *rand.Rand, name string, paths []*gpb.Path) map[string]string {
	g.t.Helper()
	out, ctx := map[string]string{}, g.as(name)
	encodings := []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_JSON, gpb.Encoding_PROTO}
	for i, p := range paths {
		raw, enc, of := p.GetOrigin() != "", encodings[r.IntN(3)], gpb.GetRequest_DataType(r.IntN(4))
		if raw || i == 0 {
			enc, of = gpb.Encoding_JSON_IETF, gpb.GetRequest_ALL
		}
		resp, err := g.engine.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: enc, Type: of})
		out[fmt.Sprint(enc, " ", elemsText(p.GetElem()))] = readable(resp) + fmt.Sprint(err)
		if raw {
			continue
		}
		got, err := g.once(name, p)
		out["once "+elemsText(p.GetElem())] = fmt.Sprint(got, err)
		if len(p.GetElem()) < 2 {
			uri := root + "/data" + location(g.engine.Root(), p)
			answer := g.do("GET "+uri, "", "Authorization: Basic "+basic(name))
			out["rest "+elemsText(p.GetElem())] = textOf(g.t, answer)
		}
	}
	for _, ask := range []string{`list-drops {}`, `trace-packet {"in":"Ethernet0"}`,
		`why-flow {"src":"10.0.0.1","dst":"10.0.0.2"}`} {
		op, in, _ := strings.Cut(ask, " ")
		said, err := g.engine.Operate(ctx, op, []byte(in))
		out[ask] = string(said) + fmt.Sprint(err)
	}
	return out
}

// readable returns a response as text with readable JSON.
func readable(m *gpb.GetResponse) string {
	var b strings.Builder
	for _, n := range m.GetNotification() {
		for _, u := range n.GetUpdate() {
			fmt.Fprintf(&b, "%s %s %v\n", elemsText(u.GetPath().GetElem()), u.GetVal().GetJsonIetfVal(), u.GetVal())
			b.Write(u.GetVal().GetJsonVal())
		}
	}
	return b.String()
}

// everywhere returns the paths of the root, of some nodes, of all raw tables, and of all lists that are returned only
// if requested by name.
func (g *guarded) everywhere(r *rand.Rand) []*gpb.Path {
	g.t.Helper()
	paths := []*gpb.Path{{}}
	for _, top := range []string{"config-rows", "configurations", "tallies", "not-in-force"} {
		paths = append(paths, &gpb.Path{Elem: []*gpb.PathElem{{Name: top}}})
	}
	for range 5 {
		paths = append(paths, &gpb.Path{Elem: g.somePath(r, 0.8)})
	}
	tables := map[[2]string]bool{}
	for _, db := range []swss.DBName{
		swss.ConfigDB, swss.ApplDB, swss.StateDB, swss.CountersDB, swss.ASICDB, swss.FlexCounterDB,
	} {
		for _, key := range g.keys(db) {
			table, _, _ := strings.Cut(strings.Replace(key, ":", "|", 1), "|")
			tables[[2]string{string(db), table}] = true
			if r.IntN(10) == 0 {
				tables[[2]string{string(db), key}] = true
			}
		}
	}
	for at := range tables {
		paths = append(paths, &gpb.Path{Origin: "sonic-db", Elem: []*gpb.PathElem{
			{Name: at[0]}, {Name: "localhost"}, {Name: at[1]}}})
	}
	return paths
}

// asItIs reports whether a top node shows raw rows or summaries. A line about such a node has no effect on other lists.
func asItIs(top string) bool {
	return slices.Contains([]string{"config-rows", "configurations", "tallies", "not-in-force"}, top)
}

// hide chooses a list, an entry, or a node above lists. It returns the path, and the tokens that the administrator sees
// there.
func (g *guarded) hide(r *rand.Rand) (path []*gpb.PathElem, gone map[string]bool) {
	g.t.Helper()
	for tries := 0; len(gone) == 0 && tries < 1000; tries++ {
		texts := slices.Sorted(maps.Keys(g.all))
		whole := g.all[texts[r.IntN(len(texts))]].path
		var ends []int // positions after a list entry, and after the top-level node
		for i, el := range whole {
			if len(el.GetKey()) > 0 || i == 0 && len(whole) > 1 {
				ends = append(ends, i+1)
			}
		}
		if len(ends) == 0 || asItIs(whole[0].GetName()) {
			continue
		}
		path = nil
		for _, el := range whole[:ends[r.IntN(len(ends))]] {
			keys := maps.Clone(el.GetKey())
			if r.IntN(3) == 0 {
				clear(keys)
			}
			path = append(path, &gpb.PathElem{Name: el.GetName(), Key: keys})
		}
		gone = map[string]bool{}
		for _, leaf := range g.all {
			if !isBelow(leaf.path, path) {
				continue
			}
			for _, token := range rowTokens(elemsText(leaf.path[len(path)-1:]) + " " + leaf.val) {
				gone[token] = true
			}
		}
		for _, token := range rowTokens(elemsText(path[:len(path)-1])) {
			delete(gone, token)
		}
		for _, leaf := range g.all { // a flow group and its rule have the same name
			if len(leaf.path) > 2 && leaf.path[1].GetName() == "flowgroups" && path[0].GetName() == "acl" {
				delete(gone, leaf.path[2].GetKey()["name"])
			}
			if leaf.path[len(leaf.path)-1].GetName() == "base-mac-address" { // interfaces have the switch's address, too
				for _, token := range rowTokens(leaf.val) {
					delete(gone, token)
				}
			}
		}
	}
	return path, gone
}

// withoutAsked removes from an answer the tokens of the request.
func withoutAsked(asked, answer string) string {
	for _, token := range rowTokens(asked) {
		answer = strings.ReplaceAll(answer, token, "")
	}
	return answer
}

// No answer contains data that a line hides at one path, in any row of any table. Only the administrator is shown
// secrets.
func TestHiddenRows(t *testing.T) {
	racetest.Stepped(t) // it asks one question after the other; TestRandomRoles asks them of the same servers
	g := emptyGuarded(t)
	if _, err := g.engine.Operate(g.as("root"), "commit", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	randtest.Run(t, randtest.Cases{Seed: 3, Count: 3, Short: 1}, func(t *testing.T, seed uint64) {
		g.t, g.bed.t = t, t
		r := rand.New(rand.NewPCG(seed, 0x41d))
		g.forget()
		var objects []map[string]string
		for i, n := range r.Perm(len(kindsOfRows)) {
			objects = append(objects, objectOf(r, kindsOfRows[n], 10+i))
			if i < 3 {
				objects = append(objects, objectOf(r, kindsOfRows[n], 30+i), objectOf(r, anyTable(r), 50+i))
			}
		}
		for _, rows := range objects {
			g.bed.rows(rows)
		}
		g.write("r none /\n")
		g.all = g.leaves("root")
		path, gone := g.hide(r)
		line := "r none " + elemsText(path)
		g.write("r read /\nr read sonic-db:/\nr write /operations\n" + line + "\n")
		check := func(what, asked, answer string) {
			for _, token := range rowTokens(withoutAsked(asked, answer)) {
				if gone[token] || token[0] == 'S' {
					at := strings.Index(answer, token)
					t.Errorf("%s: %s shows %s: ...%s", line, what, token, answer[max(0, at-120):min(len(answer), at+60)])
					return
				}
			}
		}
		change := func() {
			for i, rows := range objects {
				for range 3 {
					for name, text := range talk(r, rows, i) {
						g.say(name, text)
					}
				}
			}
		}
		if top := path[0].GetName(); top == "interfaces" {
			change()
		} else {
			check("stream", "", g.fed("u", change))
		}
		for what, answer := range g.outputs(r, "u", g.everywhere(r)) {
			check(what, what, answer)
		}
		if _, _, err := mgmt.LooksOf(g.engine).Enter(g.request("u"), false); err == nil {
			t.Errorf("%s: the page and the metrics are open", line)
		}
		clear(gone)
		name := []string{"op", "guest"}[r.IntN(2)]
		for what, answer := range g.outputs(r, name, g.everywhere(r)) {
			check(name+": "+what, what, answer)
		}
	})
}

// forget deletes all rows.
func (g *guarded) forget() {
	g.t.Helper()
	for _, db := range []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB, swss.CountersDB} {
		if keys := g.keys(db); len(keys) > 0 { // deleted keys cause events, a flushed database does not
			if err := g.redis.DB(db).Client().Del(g.t.Context(), keys...).Err(); err != nil {
				g.t.Fatal(err)
			}
		}
	}
}

func (g *guarded) keys(db swss.DBName) []string {
	g.t.Helper()
	keys, err := g.redis.DB(db).Client().Keys(g.t.Context(), "*").Result()
	if err != nil {
		g.t.Fatal(err)
	}
	return keys
}

// say writes a row, in whose text 0x1f stands for a blank.
func (g *guarded) say(name, text string) {
	g.t.Helper()
	db, key, _ := strings.Cut(name, " ")
	for pair := range strings.FieldsSeq(text) {
		field, value, _ := strings.Cut(pair, "=")
		client := g.redis.DB(swss.DBName(db)).Client()
		if err := client.HSet(g.t.Context(), key, field, strings.ReplaceAll(value, "\x1f", " ")).Err(); err != nil {
			g.t.Fatal(err)
		}
	}
}

// request returns a request for a page.
func (g *guarded) request(name string) *http.Request {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	r.SetBasicAuth(name, "p")
	return r
}
