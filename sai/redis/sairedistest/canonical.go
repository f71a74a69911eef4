package sairedistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// CanonicalView returns the content of ASIC_STATE as text, in which an object is named by its content and its
// neighbourhood instead of its id. It omits values equal to SAI's defaults. So equal configurations have equal texts,
// whatever their history. Learned FDB entries and callback pointers are not configuration. alike, if given, replaces
// the value of each attribute, because values assigned in order, such as indices, are not part of the configuration.
func CanonicalView(ctx context.Context, r *swss.Redis, alike ...func(sai.Attr) sai.Value) (string, error) {
	db := r.DB(swss.ASICDB)
	cold, err := db.Client().HGetAll(ctx, protocol.KeyColdVIDs).Result()
	if err != nil {
		return "", err
	}
	var bad error
	known := func(vid sai.OID) bool { return cold[vid.String()] != "" }
	g, err := asicview.ReadView(ctx, db, known, func(e error) { bad = errors.Join(bad, e) })
	if err = errors.Join(err, bad); err != nil {
		return "", err
	}
	asicview.RemoveLearned(g)
	names, err := ownNames(ctx, db, g)
	if err != nil {
		return "", err
	}
	for _, n := range g.Nodes {
		maps.DeleteFunc(n.Attrs, func(id sai.AttrID, _ sai.Value) bool {
			return sai.Meta(id).Kind == sai.KindPointer || id == sai.PortAttrHWLaneList
		})
		for id, v := range n.Attrs {
			for _, f := range alike {
				v = f(sai.Attr{ID: id, Value: v})
			}
			n.Attrs[id] = v
		}
	}
	g.Link()
	g.Paint(func(n *asicview.Node) string { return names[n.Key.OID] })
	return CanonicalGraph(g, names), nil
}

// ownNames names the switch, the ports by their first lane, and the switch's
// default objects.
func ownNames(ctx context.Context, db *swss.DB, g *asicview.Graph) (map[sai.OID]string, error) {
	names := map[sai.OID]string{protocol.SwitchVID: "switch"}
	vids, err := db.Client().HGetAll(ctx, protocol.KeyRIDToVID).Result()
	if err != nil {
		return nil, err
	}
	for key, prefix := range map[string]string{protocol.KeyLanes: "lane ", protocol.KeyHidden: ""} {
		rids, err := db.Client().HGetAll(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		for _, what := range slices.Backward(slices.SortedFunc(maps.Keys(rids), compareNumbers)) {
			if vid, err := sai.ParseOID(vids[rids[what]]); err == nil {
				names[vid] = prefix + what
			}
		}
	}
	for k, n := range g.Nodes {
		if l, ok := n.Attrs[sai.PortAttrHWLaneList].(sai.Uints); ok && len(l) > 0 && k.Entry == nil {
			names[k.OID] = "lane " + strconv.FormatUint(l[0], 10)
		}
	}
	return names, nil
}

// compareNumbers orders decimal numbers by value.
func compareNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// CanonicalGraph writes one line per object, followed by one line per attribute. It also writes the number of
// unchanged objects of each type that came with the switch.
func CanonicalGraph(g *asicview.Graph, names map[sai.OID]string) string {
	name := func(o sai.OID) string {
		n := g.ByOID[o]
		switch {
		case o == sai.NullOID:
			return "null"
		case n == nil:
			return "unknown"
		case names[o] != "":
			return n.Key.Type.String() + " " + names[o]
		}
		return fmt.Sprintf("%s %016x", n.Key.Type, n.Color())
	}
	untouched := map[sai.ObjectType]int{}
	var texts []string
	for _, n := range g.Sorted() {
		var b strings.Builder
		if n.Key.Entry != nil {
			fmt.Fprintf(&b, "%s %016x\n", protocol.KeyType(n.Key), n.Color())
			b.WriteString("\tkey " + describeEntry(n.Key.Entry, name) + "\n")
		} else {
			b.WriteString(name(n.Key.OID) + "\n")
		}
		lines := 0
		for _, a := range n.SortedAttrs() {
			if !asicview.IsDefault(a) {
				fmt.Fprintf(&b, "\t%s=%s\n", a.ID, describe(a, name))
				lines++
			}
		}
		if n.Own && lines == 0 {
			untouched[n.Key.Type]++
			continue
		}
		texts = append(texts, b.String())
	}
	slices.Sort(texts)
	for _, t := range slices.Sorted(maps.Keys(untouched)) {
		texts = append(texts, fmt.Sprintf("%s as the switch made it: %d\n", t, untouched[t]))
	}
	return strings.Join(texts, "")
}

// describe returns the text of a value with names for objects.
func describe(a sai.Attr, name func(sai.OID) string) string {
	if !asicview.NamesObjects(a.Value) {
		s, err := sai.FormatValue(a.ID, a.Value)
		if err != nil {
			return err.Error()
		}
		return s
	}
	var list []string
	sai.References(a.Value, func(o sai.OID) { list = append(list, name(o)) })
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func describeEntry(e sai.Entry, name func(sai.OID) string) string {
	text := sai.FormatEntry(e)
	sai.MapEntry(e, func(o sai.OID) sai.OID {
		text = strings.ReplaceAll(text, `"`+o.String()+`"`, `"`+name(o)+`"`)
		return o
	})
	return text
}
