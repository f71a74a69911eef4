package orchtest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tamtam/sai"
)

// short matches the prefixes of SAI's names that are clear from the context.
var short = regexp.MustCompile(`SAI_(?:OBJECT_TYPE|` +
	`(?:ACL_ENTRY|ACL_COUNTER|ACL_RANGE|ACL_TABLE|ACL_TABLE_GROUP|ACL_TABLE_GROUP_MEMBER|BRIDGE_PORT|FDB_FLUSH|` +
	`GENERIC_PROGRAMMABLE|HOSTIF|LAG|LAG_MEMBER|MIRROR_SESSION|PORT|SWITCH|TAM_INT|VLAN|VLAN_MEMBER)_ATTR|` +
	`ACL_ACTION_TYPE|ACL_BIND_POINT_TYPE|ACL_IP_TYPE|ACL_RANGE_TYPE|ACL_STAGE|ACL_TABLE_GROUP_TYPE|` +
	`BRIDGE_PORT_FDB_LEARNING_MODE|BRIDGE_PORT_TYPE|ERSPAN_ENCAPSULATION_TYPE|HOSTIF_TYPE|HOSTIF_VLAN_TAG|` +
	`MIRROR_SESSION_TYPE|PACKET_ACTION|STATUS|TAM_INT_PRESENCE_TYPE|TAM_INT_TYPE|VLAN_TAGGING_MODE)_`)

// oidText finds object ids of [saitest.Fake].
var oidText = regexp.MustCompile(`oid:0x[0-9a-f]+`)

// Short removes the prefixes of SAI's names in a text. For example, "SAI_ACL_ENTRY_ATTR_PRIORITY" becomes "PRIORITY".
// It names objects by type and number, such as "acl_entry#3".
func Short(text string) string {
	return named(text, func(k sai.Key) string { return fmt.Sprintf("%s#%d", typeName(k.Type), uint32(k.OID)) })
}

// named does the same as Short, with another function that names objects.
func named(text string, name func(sai.Key) string) string {
	return objects(short.ReplaceAllString(text, ""), name)
}

// objects replaces the object ids in a text with names.
func objects(text string, name func(sai.Key) string) string {
	return oidText.ReplaceAllStringFunc(text, func(s string) string {
		oid, err := sai.ParseOID(s)
		if err != nil || oid == 0 {
			return "null"
		}
		return name(keyOf(oid))
	})
}

// keyOf returns the key of an object by its id of [saitest.Fake]: type<<32 | number.
func keyOf(oid sai.OID) sai.Key { return sai.Obj(sai.ObjectType(oid>>32), oid) }

func typeName(t sai.ObjectType) string {
	return strings.ToLower(short.ReplaceAllString(t.String(), ""))
}

// Calls returns the changing calls since the last time, one line each (see [saitest.Recorder]), shortened by [Short].
func (b *Bench) Calls() []string {
	lines := slices.DeleteFunc(b.Rec.Lines(), func(l string) bool { return l[0] == 'g' })
	b.Rec.Reset()
	for i, l := range lines {
		lines[i] = Short(l)
	}
	return lines
}

// WantCalls compares the calls since the last time, line by line.
func (b *Bench) WantCalls(want ...string) {
	b.T.Helper()
	b.Compare(b.Calls(), want)
}

// Compare compares calls line by line.
func (b *Bench) Compare(got, want []string) {
	b.T.Helper()
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return "(nothing)"
	}
	for i := range max(len(got), len(want)) {
		if g, w := at(got, i), at(want, i); g != w {
			b.T.Errorf("call %d\n got %s\nwant %s", i+1, g, w)
		}
	}
}

// Content returns the objects created in the ASIC as text, without object ids. A reference to an object is replaced
// by its text, and attributes with their initial value are omitted.
func (b *Bench) Content() []string {
	c := content{b, map[sai.Key]string{}}
	var list []string
	for _, k := range b.Fake.Keys() {
		list = append(list, c.text(k))
		for _, a := range b.Fake.Attrs(k) {
			if group, ok := a.Value.(sai.OID); ok && binding(a) && group != sai.NullOID {
				list = append(list, fmt.Sprintf("%s %s %s", c.text(k), a.ID, c.text(keyOf(group))))
			}
		}
	}
	slices.Sort(list)
	return list
}

// A content caches the texts of objects.
type content struct {
	b    *Bench
	memo map[sai.Key]string
}

func (c content) text(k sai.Key) string {
	if s, ok := c.memo[k]; ok {
		return s
	}
	c.memo[k] = "(cycle)"
	var parts []string
	for _, a := range c.b.Fake.Attrs(k) {
		if m := sai.Meta(a.ID); m.Has(sai.ReadOnly) || binding(a) || reflect.DeepEqual(a.Value, m.Default) {
			continue
		}
		v, err := sai.FormatValue(a.ID, a.Value)
		if err != nil {
			c.b.T.Fatal(err)
		}
		v = named(v, func(k sai.Key) string { return "{" + c.text(k) + "}" })
		parts = append(parts, short.ReplaceAllString(a.ID.String(), "")+"="+v)
	}
	c.memo[k] = typeName(k.Type) + "(" + strings.Join(parts, " ") + ")"
	return c.memo[k]
}

// binding reports whether an attribute is the ACL group of a port. It is listed beside the port, because its members
// determine the tables.
func binding(a sai.Attr) bool { return strings.HasSuffix(a.ID.String(), "GRESS_ACL") }
