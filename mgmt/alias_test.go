package mgmt

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// everyOutput returns all output that a user receives by Get, Subscribe, origin sonic-db and operations.
func (b *bed) everyOutput(name string) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	ask := func(what string, p *gpb.Path) {
		resp, err := b.server.Get(b.as(name), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON_IETF})
		var text strings.Builder
		for _, n := range resp.GetNotification() {
			for _, u := range n.GetUpdate() {
				fmt.Fprintf(&text, "%v %s\n", u.GetPath(), u.GetVal().GetJsonIetfVal())
			}
		}
		out[what] = text.String() + fmt.Sprint(err)
	}
	for _, top := range []string{"/", "/config-rows", "/configurations", "/tallies", "/not-in-force"} {
		ask(top, path(top))
	}
	for _, db := range tree.RawDatabases {
		keys, err := b.redis.DB(db).Client().Keys(b.ctx, "*").Result()
		if err != nil {
			b.t.Fatal(err)
		}
		for _, key := range keys {
			table := key
			if i := strings.IndexAny(key, ":|"); i >= 0 {
				table = key[:i]
			}
			for _, elem := range []string{key, table} {
				ask(string(db)+" "+elem, &gpb.Path{Origin: tree.RawOrigin, Elem: []*gpb.PathElem{
					{Name: string(db)}, {Name: "localhost"}, {Name: elem}}})
			}
		}
	}
	return out
}

func aliasRows() map[string]string {
	return map[string]string{
		"CONFIG_DB ACL_TABLE|LIST":                 "type=L3 stage=INGRESS ports=Ethernet0 policy_desc=t1",
		"CONFIG_DB ACL_RULE|LIST|RULE_10":          "PRIORITY=10 SRC_IP=10.7.7.7/32 PACKET_ACTION=DROP",
		"CONFIG_DB TAM_COLLECTORS_TABLE|t2":        "ipaddress=10.7.7.8 port=4739 protocol=UDP",
		"APPL_DB TAM_COLLECTORS_TABLE:t2":          "ipaddress=10.7.7.8 port=4739 protocol=UDP",
		"STATE_DB TAM_STATE_COLLECTORS_TABLE|t2":   "status=failed reason=t3 since=2026-01-02T03:04:05Z by=tammgrd",
		"CONFIG_DB TACPLUS_SERVER|h":               "passkey=t4 priority=1",
		"CONFIG_DB SNMP_COMMUNITY|t5":              "TYPE=RO",
		"CONFIG_DB MACSEC_PROFILE|m":               "primary_cak=t6 policy=security",
		"APPL_DB MACSEC_INGRESS_SA_TABLE:x:1:0":    "sak=t7 active=true",
		"CONFIG_DB PORT|Ethernet0":                 "lanes=0 speed=100000 description=t8",
		"STATE_DB ACL_RULE_TABLE|LIST|RULE_10":     "status=Inactive reason=10.7.7.7 by=orchagent",
		"STATE_DB TAMTAM_UNAPPLIED|PORT|Ethernet0": "no-effect=t9",
		"STATE_DB TAMTAM_UNAPPLIED|TACPLUS_SERVER": "not-implemented=t10",
		"CONFIG_DB TAM_TAILSTAMPING_TABLE|s9":      "flowgroup=g",
		"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s9": "status=failed reason=t11,collector:t2 by=tammgrd",
		"STATE_DB TAMTAM_ALARM|a": "text=t12(PORT|Ethernet0) resource=a severity=MAJOR time-created=1 " +
			"type-id=a id=a",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP":      "Ethernet0=oid:0x1",
		"COUNTERS_DB COUNTERS:oid:0x1":            "SAI_PORT_STAT_IF_IN_OCTETS=770077",
		"ASIC_DB ASIC_STATE:SAI_OBJECT_TYPE_X:{}": "SAI_X_ATTR_IP=10.7.7.8",
	}
}

// Data that a line hides at one path is hidden at every other path. Only the administrator is shown secrets.
func TestAliases(t *testing.T) {
	const all = "r read /\nr read sonic-db:/\nr write /operations\n"
	secrets := []string{"t4", "t5", "t6", "t7"}
	for _, tt := range []struct {
		line string
		gone []string // texts that are hidden in addition to the secrets
		stay string
	}{
		{"", nil, "10.7.7.8"},
		{"r none /acl", []string{"10.7.7.7"}, "10.7.7.8"},
		{"r none /acl/tables", []string{"10.7.7.7"}, "10.7.7.8"},
		{"r none /acl/acl-sets", []string{"10.7.7.7"}, "10.7.7.8"},
		{"r none /tam/collectors", []string{"10.7.7.8", "t2", "t3", "t11"}, "10.7.7.7"},
		{"r none /tam/collectors/collector[name=t2]/config/ip\nr none /tam/collectors/collector[name=t2]/state/ip",
			[]string{"10.7.7.8"}, "t3"},
		{"r none /tam/collectors/collector[name=other]", nil, "10.7.7.8"},
		{"r none /interfaces/interface[name=Ethernet0]", []string{"t8", "770077", "t9", "t12"}, "t11"},
		{"r none /interfaces/interface/state/counters", []string{"770077"}, "10.7.7.8"},
		{"r none /config-rows/row[table=TACPLUS_SERVER]", []string{"priority=1", "t10"}, "t12"},
		{"r none sonic-db:/CONFIG_DB/TAM_COLLECTORS_TABLE", nil, "10.7.7.8"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			if testing.Short() && tt.line != "" {
				t.Skip("what one caller is shown: nothing new for the race detector")
			}
			b := staffed(t, "", func(c *Config) { c.Roles = all + tt.line })
			if _, err := b.server.Operate(b.as("root"), "commit", []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			b.rows(aliasRows())
			shown := ""
			for what, text := range b.everyOutput("u") {
				text = unasked(what, text)
				shown += text
				for _, secret := range append(secrets, tt.gone...) {
					if containsWord(text, secret) {
						t.Errorf("%s shows %s: %.300s", what, secret, text)
					}
				}
			}
			if !strings.Contains(shown, tt.stay) {
				t.Errorf("nothing shows %s", tt.stay)
			}
			_, err := b.server.Operate(b.as("u"), "list-drops", []byte(`{}`))
			if blind := len(tt.gone) > 0 && !strings.Contains(tt.line, "config-rows"); blind &&
				status.Code(err) != codes.PermissionDenied {
				t.Errorf("list-drops: %v", err)
			}
			root := ""
			for _, text := range b.everyOutput("root") {
				root += text
			}
			for _, word := range append(secrets, tt.gone...) {
				if !strings.Contains(root, word) {
					t.Errorf("the administrator is not shown %s", word)
				}
			}
			for what, text := range b.everyOutput("op") {
				text = unasked(what, text)
				for _, secret := range secrets {
					if containsWord(text, secret) {
						t.Errorf("%s shows the operator %s: %.300s", what, secret, text)
					}
				}
			}
		})
	}
}

// unasked returns an answer without the key of the database row that was requested.
func unasked(what, text string) string {
	if _, key, ok := strings.Cut(what, " "); ok {
		return strings.ReplaceAll(text, key, "")
	}
	return text
}

// containsWord reports whether a text contains a word that is not part of a longer one.
func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		part := func(i int) bool {
			return i >= 0 && i < len(text) && strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz", rune(text[i]))
		}
		if !part(from-1) && !part(to) {
			return true
		}
		at = to
	}
}

// A line that removes write access to a node also removes it for the database rows of the node. If a client writes back
// the mask of a secret, the secret stays.
func TestAliasesWrite(t *testing.T) {
	b := staffed(t, "r write /config-rows\nr read /tam/collectors\n")
	b.rows(aliasRows())
	set := func(table, key, field string) error {
		_, err := b.server.Set(b.as("u"), &gpb.SetRequest{Update: []*gpb.Update{
			update("/config-rows/row[table="+table+"][key="+key+"]/config/field", fmt.Sprintf("[%q]", field))}})
		return err
	}
	wantErr(t, set("TAM_COLLECTORS_TABLE", "t2", "port=1"), "PermissionDenied")
	if err := set("TACPLUS_SERVER", "h", "passkey=********"); err != nil ||
		!strings.Contains(b.row("TACPLUS_SERVER|h"), "passkey=t4") {
		t.Errorf("the mask of a secret: %v, then %s", err, b.row("TACPLUS_SERVER|h"))
	}
	wantErr(t, set("TACPLUS_SERVER", "new", "passkey=********"), "InvalidArgument", "give the secret")
	if err := set("TACPLUS_SERVER", "h", "passkey=another"); err != nil ||
		!strings.Contains(b.row("TACPLUS_SERVER|h"), "passkey=another") {
		t.Errorf("a secret: %v, then %s", err, b.row("TACPLUS_SERVER|h"))
	}
}
