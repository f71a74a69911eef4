package saisim_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamtam/sai"
)

// Every attribute that the chip reports as implemented is named in one of these files, or here, with the reason, or is
// stored without effect.
func TestSAICoverage(t *testing.T) {
	elsewhere := map[string]string{
		"SAI_PORT_ATTR_TAM_OBJECT":                     "dropmonitor_test.go",
		"SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP": "dropmonitor_test.go",
		"SAI_ACL_ENTRY_ATTR_ACTION_TAM_OBJECT":         "dropmonitor_test.go",
		"SAI_VIRTUAL_ROUTER_ATTR_LABEL":                "a name",
		"SAI_NEXT_HOP_GROUP_ATTR_LABEL":                "a name",
		"SAI_ROUTER_INTERFACE_ATTR_LABEL":              "a name",
		"SAI_POLICER_ATTR_LABEL":                       "a name",
		"SAI_MIRROR_SESSION_ATTR_LABEL":                "a name; record copies: record_test.go",
		"SAI_SCHEDULER_ATTR_LABEL":                     "a name",
		"SAI_ACL_TABLE_ATTR_ACL_TABLE_MATCH_TYPE":      "ternary only",
		"SAI_ACL_TABLE_ATTR_FIELD_TAM_INT_TYPE":        "stamp_test.go",
		"SAI_ACL_ENTRY_ATTR_FIELD_TAM_INT_TYPE":        "stamp_test.go",
		"SAI_HOSTIF_ATTR_OBJ_ID":                       "no packet: names of ports",
		"SAI_QUEUE_ATTR_TAM_OBJECT":                    "burst_test.go",
		"SAI_HOSTIF_ATTR_QUEUE":                        "kept, for the host",
		"SAI_HOSTIF_ATTR_VLAN_TAG":                     "kept, for the host",
		"SAI_MIRROR_SESSION_ATTR_UDP_SRC_PORT":         "record_test.go",
		"SAI_MIRROR_SESSION_ATTR_UDP_DST_PORT":         "record_test.go",
		"SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE":          "qos_test.go",
		"SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH":    "qos_test.go",
		"SAI_SWITCH_ATTR_PRE_INGRESS_ACL":              "record_test.go, preingress_test.go",
		"SAI_SWITCH_ATTR_SWITCHING_MODE":               "store and forward only",
		"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_MODE":     "reference: which priorities are paused",
		"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_RX":       "reference: which priorities are paused",
		"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_TX":       "reference: which priorities are paused",
		"SAI_TUNNEL_ATTR_DECAP_TTL_MODE":               "reference: which TTL the inner header has",
		"SAI_TUNNEL_TERM_TABLE_ENTRY_ATTR_SRC_IP":      "reference: which tunnels end",
		"SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_ALGORITHM":  "reference: which member a flow takes",
		"SAI_SWITCH_ATTR_LAG_DEFAULT_HASH_ALGORITHM":   "reference: which member a flow takes",
		"SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED":       "reference: which member a flow takes",
		"SAI_SWITCH_ATTR_LAG_DEFAULT_HASH_SEED":        "reference: which member a flow takes",
		"SAI_SWITCH_ATTR_SWITCH_PROFILE_ID":            "kept",
		"SAI_SWITCH_ATTR_SWITCH_HARDWARE_INFO":         "kept",
		"SAI_SWITCH_ATTR_TYPE":                         "one value only",
		"SAI_BRIDGE_ATTR_TYPE":                         "one value only; the bridge comes with the switch",
		"SAI_BRIDGE_PORT_ATTR_BRIDGE_ID":               "of types that the chip does not have",
	}
	files, err := filepath.Glob("sai_*_test.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	named := map[string]bool{} // names in metadata form, without underscores
	for _, f := range files {
		text := need(os.ReadFile(f))(t)
		for _, m := range regexp.MustCompile(`sai\.(\w+Attr\w+)`).FindAllSubmatch(text, -1) {
			named[strings.ToLower(string(m[1]))] = true
		}
	}
	d := newDUT(t)
	d.boot()
	for _, x := range d.WithoutEffect() {
		if elsewhere[x.Name] == "" && !strings.HasPrefix(x.Name, "SAI_TAM_") {
			elsewhere[x.Name] = "stored: " + x.Why
		}
	}
	types, err := d.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, d.sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrSupportedObjectTypeList, 100)})
	if err != nil {
		t.Fatal(err)
	}
	implemented := map[string]bool{}
	for _, typ := range types[0].Value.(sai.Enums) {
		for _, m := range sai.ObjectMeta(sai.ObjectType(typ)).Attrs {
			can, err := d.AttrCapability(context.Background(), m.ID)
			name := m.ID.String()
			if err != nil || !can.Create && !can.Set || strings.HasPrefix(name, "SAI_TAM_") &&
				!strings.HasPrefix(name, "SAI_TAM_INT_") ||
				strings.HasPrefix(name, "SAI_GENERIC_PROGRAMMABLE_") || strings.HasSuffix(name, "_NOTIFY") {
				continue // attribute without effect on packets, kept only for readers: docs/internals/extensions.md
			}
			implemented[name] = true
			is := named[strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "SAI_"), "_", ""))]
			if why, known := elsewhere[name]; is == known && !strings.HasPrefix(why, "stored: ") {
				t.Errorf("%s: in these files %v, in the list of others %v; want one of both", name, is, known)
			}
		}
	}
	for name := range elsewhere {
		if !implemented[name] && !strings.Contains(name, "_STAT_") {
			t.Errorf("the list of others has %s, which the chip does not", name)
		}
	}
}
