package tree

import (
	"bytes"
	"encoding/json"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protowire"
)

// A jsonWriter writes nodes as JSON, by RFC 7951 if ietf is set. Then a member has the name of its module where that
// differs from the parent's.
type jsonWriter struct {
	buf  []byte
	tree Entries
	want map[*Node][]*Node // the members to write of each node: selected leaves, nodes above these, and list keys
	ietf bool
}

func newJSONWriter(t Entries, sel Selection, ietf bool) *jsonWriter {
	w := &jsonWriter{tree: t, ietf: ietf, want: map[*Node][]*Node{}}
	wanted := map[*Node]bool{}
	for _, s := range sel {
		for _, n := range s.Leaves {
			for ; n != nil && !wanted[n]; n = n.Parent {
				wanted[n] = true
			}
		}
	}
	for n := range wanted {
		for _, k := range n.Kids {
			if wanted[k] || k.IsListKey() {
				w.want[n] = append(w.want[n], k)
			}
		}
	}
	return w
}

// value returns a node of an entry as JSON, or nil if it has no data.
func (w *jsonWriter) value(n *Node, e *Entry) []byte {
	w.buf = w.buf[:0]
	if n.Type != nil {
		if v := e.Value(n); len(v) > 0 {
			return n.appendJSON(nil, v, w.ietf)
		}
		return nil
	}
	if !w.object(n, e, "") {
		return nil
	}
	return bytes.Clone(w.buf)
}

// object writes the members of a container or list entry. If there are none, it writes nothing and returns false.
// module is the module of the enclosing member.
func (w *jsonWriter) object(n *Node, e *Entry, module string) bool {
	start := len(w.buf)
	w.buf = append(w.buf, '{')
	any := false
	for _, k := range w.want[n] {
		before := len(w.buf)
		if any {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, '"')
		if w.ietf && k.Module != module {
			w.buf = append(append(w.buf, k.Module...), ':')
		}
		w.buf = append(append(w.buf, k.Name...), '"', ':')
		if w.member(k, e) {
			any = true
		} else {
			w.buf = w.buf[:before]
		}
	}
	if !any {
		w.buf = w.buf[:start]
		return false
	}
	w.buf = append(w.buf, '}')
	return true
}

func (w *jsonWriter) member(n *Node, e *Entry) bool {
	switch {
	case n.Type != nil:
		v := e.Value(n)
		if len(v) == 0 {
			return false
		}
		w.buf = n.appendJSON(w.buf, v, w.ietf)
		return true
	case n.IsList:
		w.buf = append(w.buf, '[')
		any := false
		for _, k := range w.tree.below(n.List, e.Keys) {
			if any {
				w.buf = append(w.buf, ',')
			}
			if w.object(n, k, n.Module) {
				any = true
			} else if any {
				w.buf = w.buf[:len(w.buf)-1]
			}
		}
		w.buf = append(w.buf, ']')
		return any
	}
	return w.object(n, e, n.Module)
}

// JSONFields returns the members of a JSON object that are strings, numbers or booleans. It returns nil if text is not
// an object.
func JSONFields(text string) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return nil
	}
	fields := make(map[string]string, len(members))
	for name, raw := range members {
		var s string
		switch raw[0] {
		case '"':
			if json.Unmarshal(raw, &s) == nil {
				fields[name] = s
			}
		case '{', '[', 'n':
		default:
			fields[name] = string(raw)
		}
	}
	return fields
}

// AddTarget adds the data of a target to a notification. In PROTO they are added in encoded form.
func (m *Model) AddTarget(to *gpb.Notification, t Target, sel Selection, data Entries, enc gpb.Encoding) {
	if enc == gpb.Encoding_PROTO {
		raw := to.ProtoReflect().GetUnknown()
		for _, g := range m.Lists {
			if sel[g] == nil {
				continue
			}
			for _, e := range data[g] {
				raw = appendRaw(raw, e, sel[g].Leaves, enc)
			}
		}
		to.ProtoReflect().SetUnknown(raw)
		return
	}
	w := newJSONWriter(data, sel, enc == gpb.Encoding_JSON_IETF)
	for _, e := range data[t.Node.List] {
		raw := w.value(t.Node, e)
		if raw == nil {
			if t.Node != m.Root {
				continue
			}
			raw = []byte("{}")
		}
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: raw}}
		if enc == gpb.Encoding_JSON_IETF {
			v.Value = &gpb.TypedValue_JsonIetfVal{JsonIetfVal: raw}
		}
		to.Update = append(to.Update, &gpb.Update{Path: e.Path(t.Node), Val: v})
	}
}

// appendRaw appends an encoded update for each leaf of an entry that has a value.
func appendRaw(dst []byte, e *Entry, leaves []*Node, enc gpb.Encoding) []byte {
	var one []byte
	for _, n := range leaves {
		if v := e.Value(n); len(v) > 0 {
			one = e.AppendUpdate(one[:0], n, v, enc)
			dst = protowire.AppendBytes(protowire.AppendTag(dst, FieldUpdate, protowire.BytesType), one)
		}
	}
	return dst
}
