package tree

import (
	"bytes"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// FieldUpdate is the number of Notification's field update.
const FieldUpdate = 4

// Numbers of fields of Update, Path, PathElem, an entry of a map, TypedValue and ScalarArray.
const (
	fieldPath, fieldVal        = 1, 3
	fieldElem                  = 3
	fieldName, fieldKey        = 1, 2
	fieldMapKey, fieldMapValue = 1, 2
	fieldString, fieldUint     = 1, 3
	fieldJSON, fieldJSONIETF   = 10, 11
)

// AppendUpdate appends the encoded update of a leaf, without an intermediate message.
func (e *Entry) AppendUpdate(dst []byte, n *Node, v []string, enc gpb.Encoding) []byte {
	return e.appendUpdate(dst, e.CodedPath(), n, v, enc)
}

// AppendUpdateIn appends the encoded update of a leaf, with its path from an enclosing entry, or from the entry itself.
func (e *Entry) AppendUpdateIn(dst []byte, outer *Entry, n *Node, v []string, enc gpb.Encoding) []byte {
	return e.appendUpdate(dst, bytes.TrimPrefix(e.CodedPath(), outer.CodedPath()), n, v, enc)
}

// appendUpdate appends the encoded update of a leaf of the entry at an encoded path.
func (e *Entry) appendUpdate(dst, path []byte, n *Node, v []string, enc gpb.Encoding) []byte {
	tail := n.codedTail(e)
	dst = protowire.AppendTag(dst, fieldPath, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(path)+len(tail)))
	dst = append(append(dst, path...), tail...)
	dst = protowire.AppendTag(dst, fieldVal, protowire.BytesType)
	switch enc {
	case gpb.Encoding_JSON:
		return appendNested(dst, fieldJSON, n.appendJSON(nil, v, false))
	case gpb.Encoding_JSON_IETF:
		return appendNested(dst, fieldJSONIETF, n.appendJSON(nil, v, true))
	}
	return n.appendTyped(dst, v)
}

// CodedPath returns the entry's path, encoded.
func (e *Entry) CodedPath() []byte {
	if e.Coded == nil {
		e.Coded = []byte{}
		for i := e.List.Node; i.Parent != nil; i = i.Parent {
			e.Coded = append(i.appendElem(nil, e.Keys), e.Coded...)
		}
	}
	return e.Coded
}

// appendTyped appends the encoded value of a leaf in PROTO, with its length. Frequent types have a fast path.
func (n *Node) appendTyped(dst []byte, v []string) []byte {
	if text := First(v); !n.LeafList && unsigned(n.Type) {
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(fieldUint)+protowire.SizeVarint(u)))
			return protowire.AppendVarint(protowire.AppendTag(dst, fieldUint, protowire.VarintType), u)
		}
	} else if k := n.Type.Kind; !n.LeafList && (k == yang.Ystring || k == yang.Yenum || k == yang.Yidentityref) {
		dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(fieldString)+protowire.SizeBytes(len(text))))
		return protowire.AppendString(protowire.AppendTag(dst, fieldString, protowire.BytesType), text)
	}
	raw, err := proto.Marshal(n.Typed(v, gpb.Encoding_PROTO))
	if err != nil {
		return protowire.AppendBytes(dst, nil) // cannot happen: nothing in a value fails to encode
	}
	return protowire.AppendBytes(dst, raw)
}

// appendNested appends a message whose only field contains bytes.
func appendNested(dst []byte, field protowire.Number, v []byte) []byte {
	dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(field)+protowire.SizeBytes(len(v))))
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

// appendElem appends the node's path element in an entry.
func (n *Node) appendElem(dst []byte, keys []string) []byte {
	raw := protowire.AppendString(protowire.AppendTag(nil, fieldName, protowire.BytesType), n.Name)
	if n.IsList {
		own := n.List.OwnKeys()
		for i, k := range own {
			if v := keys[len(n.List.Keys)-len(own)+i]; v != Wildcard {
				one := protowire.AppendString(protowire.AppendTag(nil, fieldMapKey, protowire.BytesType), k)
				one = protowire.AppendString(protowire.AppendTag(one, fieldMapValue, protowire.BytesType), v)
				raw = protowire.AppendBytes(protowire.AppendTag(raw, fieldKey, protowire.BytesType), one)
			}
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, fieldElem, protowire.BytesType), raw)
}

// codedTail returns the encoded path from an entry to one of its leaves.
func (n *Node) codedTail(e *Entry) []byte {
	if t := n.tail.Load(); t != nil {
		return *t
	}
	var tail []byte
	for i := n; i != e.List.Node && i.Parent != nil; i = i.Parent {
		tail = append(i.appendElem(nil, nil), tail...)
	}
	n.tail.Store(&tail)
	return tail
}
