package mgmt

import (
	"context"
	"slices"
	"strconv"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Numbers of fields of gnmi.proto.
const (
	fieldResponseUpdate = 1 // of SubscribeResponse
	fieldTimestamp      = 1 // of Notification
	fieldPrefix         = 2
	fieldDelete         = 5
	fieldDuplicates     = 4 // of Update
)

// A notice is a Notification in the making: for a client of gRPC as it travels, put together of updates that were
// encoded for others too, else as a message.
type notice struct {
	st      *stream
	at      time.Time
	how     pass
	raw     []byte // its updates and deletes
	message gpb.Notification
}

// empty reports whether there is nothing in it.
func (n *notice) empty() bool {
	return len(n.raw)+len(n.message.GetUpdate())+len(n.message.GetDelete()) == 0
}

// update adds the value of a leaf.
func (n *notice) update(e *entry, leaf *node, l *leafMemo) {
	enc := n.st.list.GetEncoding()
	if !n.st.wire {
		n.message.Update = append(n.message.Update, &gpb.Update{Path: e.path(leaf), Val: leaf.typed(l.value, enc),
			Duplicates: n.how.duplicates})
		return
	}
	raw, dup := l.update(e, leaf, enc), uint64(n.how.duplicates)
	size := len(raw)
	if dup > 0 {
		size += protowire.SizeTag(fieldDuplicates) + protowire.SizeVarint(dup)
	}
	n.raw = slices.Grow(n.raw, size+8)
	n.raw = protowire.AppendTag(n.raw, fieldUpdate, protowire.BytesType)
	n.raw = protowire.AppendVarint(n.raw, uint64(size))
	n.raw = append(n.raw, raw...)
	if dup > 0 {
		n.raw = protowire.AppendTag(n.raw, fieldDuplicates, protowire.VarintType)
		n.raw = protowire.AppendVarint(n.raw, dup)
	}
}

// gone adds a path that is deleted.
func (n *notice) gone(p *gpb.Path) {
	if !n.st.wire {
		n.message.Delete = append(n.message.Delete, p)
		return
	}
	raw, err := proto.Marshal(p)
	if err != nil {
		return // nothing that it is made of fails
	}
	n.raw = protowire.AppendTag(n.raw, fieldDelete, protowire.BytesType)
	n.raw = protowire.AppendBytes(n.raw, raw)
}

// response is what is sent.
func (n *notice) response() *gpb.SubscribeResponse {
	at := n.at.UnixNano()
	if !n.st.wire {
		n.message.Timestamp, n.message.Prefix = at, replyPrefix(n.st.list.GetPrefix(), nil)
		return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &n.message}}
	}
	size := protowire.SizeTag(fieldTimestamp) + protowire.SizeVarint(uint64(at)) + len(n.st.prefix) + len(n.raw)
	all := make([]byte, 0, size+8)
	all = protowire.AppendTag(all, fieldResponseUpdate, protowire.BytesType)
	all = protowire.AppendVarint(all, uint64(size))
	all = protowire.AppendVarint(protowire.AppendTag(all, fieldTimestamp, protowire.VarintType), uint64(at))
	all = append(append(all, n.st.prefix...), n.raw...)
	resp := &gpb.SubscribeResponse{}
	resp.ProtoReflect().SetUnknown(all) // it is sent as it is
	return resp
}

// fieldUpdate is the number of the field of Notification with its updates.
const fieldUpdate = 4

// Numbers of fields of Update, Path, PathElem, an entry of a map, TypedValue and ScalarArray.
const (
	fieldPath, fieldVal        = 1, 3
	fieldElem                  = 3
	fieldName, fieldKey        = 1, 2
	fieldMapKey, fieldMapValue = 1, 2
	fieldString, fieldUint     = 1, 3
	fieldJSON, fieldJSONIETF   = 10, 11
)

// appendUpdate appends the update of a leaf as it travels, without a message in between.
func (e *entry) appendUpdate(dst []byte, n *node, v []string, enc gpb.Encoding) []byte {
	path, tail := e.codedPath(), n.codedTail(e)
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

// codedPath is the entry's path as it travels.
func (e *entry) codedPath() []byte {
	if e.coded == nil {
		e.coded = []byte{}
		for i := e.group.node; i.parent != nil; i = i.parent {
			e.coded = append(i.appendElem(nil, e.keys), e.coded...)
		}
	}
	return e.coded
}

// appendTyped appends the value of a leaf in PROTO, with its length: those of which there are many by themselves.
func (n *node) appendTyped(dst []byte, v []string) []byte {
	if text := first(v); !n.leafList && unsigned(n.typ) {
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(fieldUint)+protowire.SizeVarint(u)))
			return protowire.AppendVarint(protowire.AppendTag(dst, fieldUint, protowire.VarintType), u)
		}
	} else if k := n.typ.Kind; !n.leafList && (k == yang.Ystring || k == yang.Yenum || k == yang.Yidentityref) {
		dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(fieldString)+protowire.SizeBytes(len(text))))
		return protowire.AppendString(protowire.AppendTag(dst, fieldString, protowire.BytesType), text)
	}
	raw, err := proto.Marshal(n.typed(v, gpb.Encoding_PROTO))
	if err != nil {
		return protowire.AppendBytes(dst, nil) // nothing that it is made of fails
	}
	return protowire.AppendBytes(dst, raw)
}

// appendNested appends a message of one field of bytes.
func appendNested(dst []byte, field protowire.Number, v []byte) []byte {
	dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(field)+protowire.SizeBytes(len(v))))
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

// appendElem appends the element of a path that the node is in an entry.
func (n *node) appendElem(dst []byte, keys []string) []byte {
	raw := protowire.AppendString(protowire.AppendTag(nil, fieldName, protowire.BytesType), n.name)
	if n.list {
		own := n.group.ownKeys()
		for i, k := range own {
			if v := keys[len(n.group.keys)-len(own)+i]; v != wildcard {
				one := protowire.AppendString(protowire.AppendTag(nil, fieldMapKey, protowire.BytesType), k)
				one = protowire.AppendString(protowire.AppendTag(one, fieldMapValue, protowire.BytesType), v)
				raw = protowire.AppendBytes(protowire.AppendTag(raw, fieldKey, protowire.BytesType), one)
			}
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, fieldElem, protowire.BytesType), raw)
}

// codedTail is the path from an entry to a leaf of it.
func (n *node) codedTail(e *entry) []byte {
	if t := n.tail.Load(); t != nil {
		return *t
	}
	var tail []byte
	for i := n; i != e.group.node && i.parent != nil; i = i.parent {
		tail = append(i.appendElem(nil, nil), tail...)
	}
	n.tail.Store(&tail)
	return tail
}

// wirePrefix is the prefix of a stream's notifications as it travels.
func (st *stream) wirePrefix() []byte {
	p := replyPrefix(st.list.GetPrefix(), nil)
	if p == nil {
		return nil
	}
	raw, err := proto.Marshal(p)
	if err != nil {
		return nil // it was decoded from such bytes
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, fieldPrefix, protowire.BytesType), raw)
}

// A wire is the service for whoever gets answers: gRPC only sends them, so that they may be encoded already; others
// look at them.
type wire struct {
	*Server
	encoded bool
}

// Get answers a GetRequest.
func (w wire) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	resp, err := w.get(ctx, req, w.encoded)
	w.guard.trail.denied(ctx, "get", req.GetPrefix(), pathsAsked(req), err)
	return resp, err
}
