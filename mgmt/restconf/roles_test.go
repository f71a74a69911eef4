package restconf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/mgmt"
	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tokenRows are rows whose names and values are unique tokens: tN.
var tokenRows = map[string]string{
	"CONFIG_DB PORT|Ethernet0": "lanes=0,1,2,3 speed=100000 alias=t1a index=1 mtu=9100 " +
		"admin_status=up description=t1b",
	"CONFIG_DB PORT|Ethernet4":             "lanes=4,5,6,7 speed=100000 alias=t2a index=2 description=t2b",
	"CONFIG_DB TAM_COLLECTORS_TABLE|t3a":   "ipaddress=10.0.0.3 port=4739 protocol=UDP",
	"CONFIG_DB TAM_COLLECTORS_TABLE|t4a":   "ipaddress=10.0.0.4 port=4739 protocol=UDP",
	"CONFIG_DB TAM_SAMPLINGRATE_TABLE|t5a": "sampling-rate=17",
	"CONFIG_DB TAM_FLOWGROUP_TABLE|t6a":    "table-name=TAM id=7",
	"CONFIG_DB ACL_RULE|TAM|t6a": "PRIORITY=100 SRC_IP=13.92.96.32 DST_IP=7.72.235.82/32 " +
		"L4_DST_PORT=236 IN_PORTS=Ethernet0",
	"CONFIG_DB TAM_TAILSTAMPING_TABLE|t7a":      "flowgroup=t6a",
	"CONFIG_DB ACL_TABLE|TAM":                   "type=TAM stage=INGRESS ports=Ethernet0",
	"CONFIG_DB TAM_FEATURES_TABLE|TAILSTAMPING": "status=ACTIVE",
	"CONFIG_DB DEVICE_METADATA|localhost":       "hostname=t8a mac=02:00:00:00:00:01 secret=t8b",
	"CONFIG_DB TACPLUS_SERVER|10.9.9.9":         "passkey=t9a",
	"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|t7a": "status=failed reason=t10a since=2026-01-02T03:04:05Z by=orchagent",
	"STATE_DB TAM_STATE_FLOWGROUP_TABLE|t6a":    "status=active reason= since=2026-01-02T03:04:05Z by=tammgrd",
	"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:t7a": "MATCHED_PACKETS=7656 STAMPED_PACKETS=7600",
	"APPL_DB TAM_TAILSTAMPING_TABLE:t7a":        "acl-table-name=TAM acl-rule-name=t6a",
	"APPL_DB PORT_TABLE:Ethernet0": "lanes=0,1,2,3 speed=100000 alias=t1a index=1 mtu=9100 " +
		"admin_status=up oper_status=up description=t1b",
	"STATE_DB TAM_STATE_FEATURES_TABLE|TAILSTAMPING": "op-status=ACTIVE reason= since=2026-01-02T03:04:05Z by=orchagent",
}

// A guarded is a server with users, whose roles change during the test.
type guarded struct {
	*bed
	engine *mgmt.Server
	clock  *atomic.Int64        // in s since 1970
	roles  string               // content of the file of roles
	all    map[string]*leafSeen // all existing leaves, by path

	fields map[string]map[string]bool // by path, the rows (DATABASE TABLE|key) and fields that the leaf depends on

	shown map[string]string // leaves that are shown to the role, by path
	seen  map[string]bool   // tokens in the shown leaves
}

// A leafSeen is a leaf that has a value.
type leafSeen struct {
	path []*gpb.PathElem
	val  string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := emptyGuarded(t)
	g.bed.rows(tokenRows)
	g.all = g.leaves("root")
	if len(g.all) < 100 {
		t.Fatalf("only %d leaves", len(g.all))
	}
	g.follow()
	return g
}

// emptyGuarded returns a server with users but without rows.
func emptyGuarded(t *testing.T) *guarded {
	t.Helper()
	dir, r := t.TempDir(), swsstest.Start(t)
	g := &guarded{bed: &bed{t: t, redis: r}, clock: &atomic.Int64{}, roles: filepath.Join(dir, "roles")}
	g.clock.Store(1_700_000_000)
	g.write("r none /\n")
	var err error
	g.engine, err = mgmt.NewServer(mgmt.Config{
		Redis: r, Keep: dir, Dir: dir, RolesFile: g.roles, Clock: func() time.Time { return time.Unix(g.clock.Load(), 0) },
		Users: []access.User{
			{Name: "root", Password: "p", Role: access.Admin}, {Name: "u", Password: "p", Role: "r"},
			{Name: "op", Password: "p", Role: access.Operator}, {Name: "guest", Password: "p", Role: access.ReadOnly},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.engine.Close)
	if g.server, err = New(Config{Engine: g.engine, Addr: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.server.Close)
	return g
}

// leaves returns all leaves that a user is shown.
func (g *guarded) leaves(name string) map[string]*leafSeen {
	g.t.Helper()
	all := map[string]*leafSeen{}
	for _, top := range []string{"", "config-rows", "tallies"} {
		p := &gpb.Path{}
		if top != "" {
			p.Elem = []*gpb.PathElem{{Name: top}}
		}
		updates, err := g.get(name, gpb.Encoding_PROTO, p)
		if code := status.Code(err); err != nil && code != codes.PermissionDenied && code != codes.NotFound {
			g.t.Fatal(err)
		}
		for _, u := range updates {
			all[elemsText(u.GetPath().GetElem())] = &leafSeen{u.GetPath().GetElem(), u.GetVal().String()}
		}
	}
	return all
}

// follow finds the fields on which leaves depend. It removes each field of each row in turn, and compares the leaves.
func (g *guarded) follow() {
	g.t.Helper()
	g.fields = map[string]map[string]bool{}
	note := func(path, what string) {
		if g.fields[path] == nil {
			g.fields[path] = map[string]bool{}
		}
		g.fields[path][what] = true
	}
	for _, row := range slices.Sorted(maps.Keys(tokenRows)) {
		name, key, _ := strings.Cut(row, " ")
		db := g.redis.DB(swss.DBName(name)).Client()
		for text := range strings.FieldsSeq(tokenRows[row]) {
			field, value, _ := strings.Cut(text, "=")
			db.HSet(g.t.Context(), key, "NULL", "NULL") // the row exists without the field
			if err := db.HDel(g.t.Context(), key, field).Err(); err != nil {
				g.t.Fatal(err)
			}
			now := g.leaves("root")
			for path, leaf := range g.all {
				// true for a status word about a row, or a number of entries
				said := apart(path) && !strings.HasSuffix(path, "/config/field")
				if is := now[path]; (is == nil || is.val != leaf.val) && !said {
					note(path, row)
					note(path, row+" "+field)
					note(path, madeOf(row))
				}
			}
			db.HDel(g.t.Context(), key, "NULL")
			if err := db.HSet(g.t.Context(), key, field, value).Err(); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	for path, leaf := range g.all { // leaves of raw rows depend on the row
		if list := leaf.path[0].GetName(); list == "config-rows" {
			row := "CONFIG_DB " + leaf.path[1].GetKey()["table"] + "|" + leaf.path[1].GetKey()["key"]
			note(path, row)
			if leaf.path[len(leaf.path)-1].GetName() != "field" {
				continue
			}
			for text := range strings.FieldsSeq(tokenRows[row]) {
				field, _, _ := strings.Cut(text, "=")
				note(path, row+" "+field)
			}
		}
	}
}

// madeOf returns the row of CONFIG_DB from which a row of APPL_DB is made.
func madeOf(row string) string {
	for _, t := range schema.Tables() {
		if key, ok := strings.CutPrefix(row, "APPL_DB "+t.Appl+":"); ok && t.Appl != "" && t.Config != "" {
			return "CONFIG_DB " + t.Config + "|" + strings.Replace(key, ":", "|", 1)
		}
	}
	return row
}

// listOf returns the path, without keys, of the list that contains a leaf.
func listOf(path []*gpb.PathElem) string {
	text, last := "", ""
	for _, el := range path {
		if text += "/" + el.GetName(); len(el.GetKey()) > 0 {
			last = text
		}
	}
	return last
}

// entryOf returns the path of the entry that contains a leaf.
func entryOf(path []*gpb.PathElem) []*gpb.PathElem {
	for i := len(path); i > 0; i-- {
		if len(path[i-1].GetKey()) > 0 {
			return path[:i]
		}
	}
	return path
}

// shares reports whether two leaves are in different lists and depend on the same field. If rows is set, the same row
// is sufficient.
func (g *guarded) shares(a, b string, rows bool) bool {
	if listOf(g.all[a].path) == listOf(g.all[b].path) {
		return false
	}
	fields := g.fields[a]
	if rows { // a key is shown with the leaves of its entry
		fields = map[string]bool{}
		for text, leaf := range g.all {
			if entry := entryOf(g.all[a].path); isBelow(leaf.path, entry) {
				maps.Copy(fields, g.fields[text])
			}
		}
	}
	for what := range fields {
		if g.fields[b][what] && (rows || strings.Count(what, " ") > 1) {
			return true
		}
	}
	return false
}

// alsoAt holds further top nodes for rows of a list. The experiment cannot find them: either an entry is made from many
// rows, or a row makes an entry whatever its content.
var alsoAt = map[string][]string{
	"/components/component[name=port-":                       {"interfaces", "lldp", "qos", "altmark"},
	"/config-rows/row[key=localhost][table=DEVICE_METADATA]": {"network-instances", "components", "system", "lldp"},
}

// covered reports whether lines for other paths may explain why a leaf is hidden. They must hide something of an entry
// that has a row on which the leaf depends.
func (g *guarded) covered(o oracle, text string) bool {
	for _, r := range o.rules {
		if r.level > 0 || len(r.elems) == 0 {
			continue
		}
		for at, tops := range alsoAt {
			if strings.HasPrefix(text, at) && slices.Contains(tops, r.elems[0].GetName()) {
				return true
			}
		}
		entry := r.elems
		for i := range r.elems { // the pattern ends at the last list
			if o.node(r.elems[:i+1]).IsList {
				entry = r.elems[:i+1]
			}
		}
		for other, leaf := range g.all {
			if (isBelow(leaf.path, entry) || isBelow(leaf.path, r.elems)) && g.shares(text, other, true) {
				return true
			}
		}
	}
	return false
}

// secret returns a text as shown to users that are not administrators.
func secret(text string) string {
	return strings.NewReplacer("passkey=t9a", "passkey=********", "secret=t8b", "secret=********").Replace(text)
}

func (g *guarded) write(text string) {
	g.t.Helper()
	if err := os.WriteFile(g.roles, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	g.clock.Add(2)
}

// as returns the context of a user's request.
func (g *guarded) as(name string) context.Context {
	g.t.Helper()
	c, leave, err := g.engine.Admit(g.request(name), "RESTCONF", false)
	if err != nil {
		g.t.Fatal(err)
	}
	leave()
	return auth.WithCaller(g.t.Context(), c)
}

func (g *guarded) get(name string, enc gpb.Encoding, p *gpb.Path) ([]*gpb.Update, error) {
	g.t.Helper()
	resp, err := g.engine.Get(g.as(name), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: enc})
	if err != nil {
		return nil, err
	}
	return resp.GetNotification()[0].GetUpdate(), nil
}

// A once is a client of Subscribe ONCE.
type once struct {
	grpc.ServerStream
	ctx     context.Context
	request *gpb.SubscribeRequest
	got     []*gpb.Update
}

func (o *once) Context() context.Context { return o.ctx }
func (o *once) Recv() (*gpb.SubscribeRequest, error) {
	if o.request == nil {
		return nil, io.EOF
	}
	r := o.request
	o.request = nil
	return r, nil
}
func (o *once) Send(m *gpb.SubscribeResponse) error {
	o.got = append(o.got, m.GetUpdate().GetUpdate()...)
	return nil
}

func (g *guarded) once(name string, p *gpb.Path) ([]*gpb.Update, error) {
	g.t.Helper()
	o := &once{ctx: g.as(name), request: &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
		Subscribe: &gpb.SubscriptionList{
			Mode: gpb.SubscriptionList_ONCE, Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{{Path: p}},
		},
	}}}
	err := g.engine.Subscribe(o)
	return o.got, err
}

func elemsText(elems []*gpb.PathElem) string {
	var b strings.Builder
	for _, el := range elems {
		b.WriteString("/" + el.GetName())
		for _, k := range slices.Sorted(maps.Keys(el.GetKey())) {
			b.WriteString("[" + k + "=" + strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(el.GetKey()[k]) + "]")
		}
	}
	return b.String()
}

// somePath returns the path of an existing leaf, cut at a random position, without some keys.
func (g *guarded) somePath(r *rand.Rand, keep float64) []*gpb.PathElem {
	texts := slices.Sorted(maps.Keys(g.all))
	path := g.all[texts[r.IntN(len(texts))]].path
	if r.IntN(2) == 0 { // otherwise the whole path
		path = path[:r.IntN(len(path)+1)]
	}
	var out []*gpb.PathElem
	for _, el := range path {
		keys := map[string]string{}
		for k, v := range el.GetKey() {
			if r.Float64() < keep {
				keys[k] = v
			}
		}
		out = append(out, &gpb.PathElem{Name: el.GetName(), Key: keys})
	}
	return out
}

// someRules returns random rules of the role r, as lines and for the oracle.
func (g *guarded) someRules(r *rand.Rand) (string, oracle) {
	o := oracle{root: g.engine.Root()}
	lines := map[string]int{}
	if r.IntN(2) == 0 { // then lines below may hide something
		lines["/"] = 1 + r.IntN(2)
		o.rules = append(o.rules, ruling{lines["/"], nil})
	}
	for range 1 + r.IntN(8) {
		path := g.somePath(r, 0.75)
		text := elemsText(path)
		if text == "" {
			text = "/"
		}
		if _, twice := lines[text]; twice {
			continue
		}
		lines[text] = r.IntN(3)
		o.rules = append(o.rules, ruling{lines[text], path})
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "r %s %s\n", []string{"none", "read", "write"}[lines[path]], path)
	}
	return b.String(), o
}

// look records the leaves that the role sees, and their tokens. It checks that they are all that its lines leave,
// except data that lines hide at other paths.
func (g *guarded) look(o *oracle) {
	g.t.Helper()
	g.seen, g.shown = map[string]bool{}, map[string]string{}
	is := g.leaves("u")
	o.hidden = nil
	hidden := map[string]bool{}
	for text, leaf := range g.all {
		if !o.sees(leaf.path) {
			continue
		}
		if is[text] == nil {
			if hidden[text] = true; !g.covered(*o, text) {
				g.t.Errorf("%s is not shown, and no line is about a place where it is, too", text)
			}
			continue
		}
		g.shown[text] = secret(leaf.val)
		for _, token := range tokens.FindAllString(text+" "+g.shown[text], -1) {
			g.seen[token] = true
		}
	}
	for text := range g.shown {
		for other, leaf := range g.all {
			if !apart(other) && o.hides(leaf.path) && g.shares(text, other, false) {
				g.t.Errorf("%s is shown, which follows from what %s does, which a line takes away", text, other)
			}
		}
	}
	o.hidden = hidden
}

var tokens = regexp.MustCompile(`\bt\d+[a-z]\b`)

// leaks checks that an answer contains only tokens that the role sees somewhere, or that were part of the request.
func (g *guarded) leaks(asked, answer string) {
	g.t.Helper()
	of := tokens.FindAllString(asked, -1)
	for _, token := range tokens.FindAllString(answer, -1) {
		if !g.seen[token] && !slices.Contains(of, token) {
			g.t.Errorf("%s: %s is told: %s", asked, token, answer)
		}
	}
}

// Whatever lines a role has, it sees and changes exactly what an evaluation of each line for each node permits, by
// every protocol. No answer or error reveals more.
func TestRandomRoles(t *testing.T) {
	g := newGuarded(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 8, Short: 1}, func(t *testing.T, seed uint64) {
		g.t, g.bed.t = t, t
		r := rand.New(rand.NewPCG(seed, 0))
		text, o := g.someRules(r)
		g.write(text)
		g.look(&o)
		g.checkRead(o, nil)
		g.checkREST(o, nil)
		for range 5 {
			path := g.somePath(r, 0.8)
			g.checkRead(o, path)
			g.checkREST(o, path)
		}
		for range 4 {
			g.checkSet(o, r)
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}

// checkRead compares Get and Subscribe with the oracle.
func (g *guarded) checkRead(o oracle, path []*gpb.PathElem) {
	g.t.Helper()
	want, asked := map[string]string{}, elemsText(path)
	for text, val := range g.shown {
		if isBelow(g.all[text].path, path) && (len(path) > 0 || !apart(text)) {
			want[text] = val
		}
	}
	got, err := g.get("u", gpb.Encoding_PROTO, &gpb.Path{Elem: path})
	g.compare("Get", o, path, want, got, err)
	got, err = g.once("u", &gpb.Path{Elem: path})
	g.compare("Subscribe", o, path, want, got, err)
	values, err := g.get("u", gpb.Encoding_JSON, &gpb.Path{Elem: path})
	g.leaks(asked, fmt.Sprint(values, err))
	resp, err := g.engine.Capabilities(g.as("u"), &gpb.CapabilityRequest{})
	g.leaks(asked, fmt.Sprint(resp, err))
	resp2, err := g.engine.Get(g.as("u"), &gpb.GetRequest{Path: []*gpb.Path{{
		Origin: "sonic-db", Elem: []*gpb.PathElem{{Name: "CONFIG_DB"}, {Name: "localhost"}, {Name: "PORT"}},
	}}})
	if status.Code(err) != codes.PermissionDenied {
		g.t.Errorf("sonic-db: %v, %v", resp2, err)
	}
}

// isBelow reports whether a leaf is at or below a path, which may lack keys.
func isBelow(leaf, path []*gpb.PathElem) bool {
	if len(leaf) < len(path) {
		return false
	}
	for i, el := range path {
		for k, v := range el.GetKey() {
			if leaf[i].GetKey()[k] != v {
				return false
			}
		}
		if leaf[i].GetName() != el.GetName() {
			return false
		}
	}
	return true
}

func (g *guarded) compare(
	what string, o oracle, path []*gpb.PathElem, want map[string]string, updates []*gpb.Update, err error,
) {
	g.t.Helper()
	asked := elemsText(path)
	g.leaks(asked, fmt.Sprint(updates, err))
	if !o.some(path, 1) {
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "role r") {
			g.t.Errorf("%s %s: %v, want PermissionDenied", what, asked, err)
		}
		return
	}
	got := map[string]string{}
	for _, u := range updates {
		got[elemsText(u.GetPath().GetElem())] = u.GetVal().String()
	}
	covered := len(o.hidden) > 0 && status.Code(err) == codes.PermissionDenied
	if err != nil && (len(want) > 0 || status.Code(err) != codes.NotFound && !covered) {
		g.t.Errorf("%s %s: %v", what, asked, err)
	}
	for text := range want {
		if got[text] != want[text] {
			g.t.Errorf("%s %s: %s is %q, want %q", what, asked, text, got[text], want[text])
		}
		delete(got, text)
	}
	for text := range got {
		g.t.Errorf("%s %s: %s is told", what, asked, text)
	}
}

// checkREST compares a GET with the part of the administrator's that the oracle permits.
func (g *guarded) checkREST(o oracle, path []*gpb.PathElem) {
	g.t.Helper()
	// A URI names a list without keys, or one entry by all keys, and nothing below a list without keys.
	for i, el := range path {
		if keys := o.node(path[:i+1]).Keys(); len(el.GetKey()) < len(keys) {
			el = &gpb.PathElem{Name: el.GetName()}
			path = append(slices.Clone(path[:i]), el)
			break
		}
	}
	uri := root + "/data" + location(g.engine.Root(), &gpb.Path{Elem: path})
	of := func(name string) (int, string) {
		answer := g.do("GET "+uri, "", "Authorization: Basic "+basic(name))
		return answer.StatusCode, textOf(g.t, answer)
	}
	wantCode, whole := of("root")
	code, got := of("u")
	g.leaks(elemsText(path), got)
	var want any
	if wantCode == http.StatusOK {
		want = g.pruned(o, path, secret(whole))
	}
	switch {
	case !o.some(path, 1):
		if code != http.StatusForbidden || !strings.Contains(got, "access-denied") {
			g.t.Errorf("%s: %d %s, want 403", uri, code, got)
		}
	case want == nil && code != http.StatusOK:
		if code != http.StatusNotFound && (code != http.StatusForbidden || len(o.hidden) == 0) {
			g.t.Errorf("%s: %d %s, want 404", uri, code, got)
		}
	default:
		var is map[string]any
		if json.Unmarshal([]byte(got), &is) != nil || len(is) != 1 {
			g.t.Fatalf("%s: %d %s", uri, code, got)
		}
		for _, v := range is {
			if a, b := asJSON(v), asJSON(want); a != b && !(want == nil && a == "{}") {
				g.t.Errorf("%s: %s\nwant %s", uri, a, b)
			}
		}
	}
}

// pruned returns the part of an answer that the oracle permits.
func (g *guarded) pruned(o oracle, path []*gpb.PathElem, whole string) any {
	g.t.Helper()
	var is map[string]any
	if err := json.Unmarshal([]byte(whole), &is); err != nil {
		g.t.Fatal(err)
	}
	for _, v := range is {
		if entries, one := v.([]any); one && len(path) > 0 && len(path[len(path)-1].GetKey()) > 0 {
			v = entries
		}
		if out, shown := o.prune(path, v); shown {
			return out
		}
	}
	return nil
}

func asJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(bytes.TrimSpace(raw))
}

func basic(name string) string {
	r, _ := http.NewRequest(http.MethodGet, "/", nil) //nolint:noctx // for its header
	r.SetBasicAuth(name, "p")
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}

// checkSet requests a change, and checks that it is refused exactly when the oracle forbids it.
func (g *guarded) checkSet(o oracle, r *rand.Rand) {
	g.t.Helper()
	path := g.somePath(r, 0.9)
	n := o.node(path)
	if !n.Writable() || len(path) > 0 && isKey(o, path) {
		return
	}
	req, may := &gpb.SetRequest{}, o.all(path)
	p := &gpb.Path{Elem: path}
	leaf, there := g.all[elemsText(path)]
	switch {
	case there && n.Type != nil && r.IntN(2) == 0:
		values, err := g.get("root", gpb.Encoding_JSON_IETF, p)
		if err != nil || leaf == nil {
			g.t.Fatal(err)
		}
		req.Update, may = []*gpb.Update{{Path: p, Val: values[0].GetVal()}}, o.level(path) == 2
	case r.IntN(4) == 0 && n.Type == nil && !n.IsList:
		req.Replace = []*gpb.Update{{Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{
			JsonIetfVal: []byte("{}")}}}}
	default:
		req.Delete = []*gpb.Path{p}
	}
	before := g.config()
	_, err := g.engine.Set(g.as("u"), req)
	g.leaks(req.String(), fmt.Sprint(err))
	after := g.config()
	if len(path) > 0 && path[0].GetName() == "config-rows" && o.limits() && status.Code(err) == codes.PermissionDenied {
		may = false // the row appears at another path, too
	}
	if denied := status.Code(err) == codes.PermissionDenied; denied == may || denied && after != before {
		g.t.Errorf("%v: %v, want it denied: %v; changed: %v", req, err, !may, after != before)
	}
	if after != before {
		if err := g.redis.DB(swss.ConfigDB).Client().FlushDB(g.t.Context()).Err(); err != nil {
			g.t.Fatal(err)
		}
		g.bed.rows(tokenRows)
	}
}

// limits reports whether a line other than that for all allows less than write.
func (o oracle) limits() bool {
	return slices.ContainsFunc(o.rules, func(r ruling) bool { return len(r.elems) > 0 && r.level < 2 })
}

// isKey reports whether the leaf of a path repeats a key of its list.
func isKey(o oracle, path []*gpb.PathElem) bool {
	name := path[len(path)-1].GetName()
	for i := range path[:len(path)-1] {
		if slices.Contains(o.node(path[:i+1]).Keys(), name) {
			return true
		}
	}
	return false
}
