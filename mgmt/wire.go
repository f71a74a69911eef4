package mgmt

import (
	"context"
	"slices"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Numbers of fields of gnmi.proto.
const (
	fieldResponseUpdate = 1 // of SubscribeResponse
	fieldTimestamp      = 1 // of Notification
	fieldPrefix         = 2
	fieldDelete         = 5
	fieldAtomic         = 6
	fieldDuplicates     = 4 // of Update
)

// A notice is an encoded Notification under construction. It consists of updates that are encoded once for all clients.
type notice struct {
	st  *stream
	at  time.Time
	how pass
	raw []byte // its encoded updates and deletes
	// entry is the entry of which the Notification is the whole content, so that its paths begin there. Nil means that
	// it is not atomic.
	entry *tree.Entry
}

// update adds the value of a leaf.
func (n *notice) update(e *tree.Entry, leaf *tree.Node, l *fetch.LeafMemo) {
	dup := uint64(n.how.duplicates)
	var raw []byte
	if n.entry != nil {
		raw = e.AppendUpdateIn(nil, n.entry, leaf, l.Value, n.st.list.GetEncoding())
	} else {
		raw = l.Update(e, leaf, n.st.list.GetEncoding())
	}
	n.add(raw, dup)
}

// add adds an encoded update, with its number of duplicates.
func (n *notice) add(raw []byte, dup uint64) {
	size := len(raw)
	if dup > 0 {
		size += protowire.SizeTag(fieldDuplicates) + protowire.SizeVarint(dup)
	}
	n.raw = slices.Grow(n.raw, size+8)
	n.raw = protowire.AppendTag(n.raw, tree.FieldUpdate, protowire.BytesType)
	n.raw = protowire.AppendVarint(n.raw, uint64(size))
	n.raw = append(n.raw, raw...)
	if dup > 0 {
		n.raw = protowire.AppendTag(n.raw, fieldDuplicates, protowire.VarintType)
		n.raw = protowire.AppendVarint(n.raw, dup)
	}
}

// gone adds the delete of a path.
func (n *notice) gone(p *gpb.Path) {
	if n.entry != nil {
		p = &gpb.Path{Elem: p.GetElem()[len(n.entry.Path(n.entry.List.Node).GetElem()):]}
	}
	raw, err := proto.Marshal(p)
	if err != nil {
		return // cannot happen: every path can be encoded
	}
	n.raw = protowire.AppendTag(n.raw, fieldDelete, protowire.BytesType)
	n.raw = protowire.AppendBytes(n.raw, raw)
}

// response returns the message to send.
func (n *notice) response() *gpb.SubscribeResponse {
	at, prefix := n.at.UnixNano(), n.st.prefix
	if n.entry != nil {
		p := &gpb.Path{Elem: n.entry.Path(n.entry.List.Node).GetElem()}
		if whole := replyPrefix(n.st.list.GetPrefix(), nil); whole != nil {
			p.Target, p.Origin = whole.GetTarget(), whole.GetOrigin()
		}
		prefix = protowire.AppendVarint(protowire.AppendTag(codedPrefix(p), fieldAtomic, protowire.VarintType), 1)
	}
	size := protowire.SizeTag(fieldTimestamp) + protowire.SizeVarint(uint64(at)) + len(prefix) + len(n.raw)
	all := make([]byte, 0, size+8)
	all = protowire.AppendTag(all, fieldResponseUpdate, protowire.BytesType)
	all = protowire.AppendVarint(all, uint64(size))
	all = protowire.AppendVarint(protowire.AppendTag(all, fieldTimestamp, protowire.VarintType), uint64(at))
	all = append(append(all, prefix...), n.raw...)
	resp := &gpb.SubscribeResponse{}
	resp.ProtoReflect().SetUnknown(all) // it is sent unchanged
	return resp
}

// wirePrefix returns the encoded prefix of the notifications for a list.
func wirePrefix(list *gpb.SubscriptionList) []byte {
	p := replyPrefix(list.GetPrefix(), nil)
	if p == nil {
		return nil
	}
	return codedPrefix(p)
}

// codedPrefix returns an encoded prefix.
func codedPrefix(p *gpb.Path) []byte {
	raw, err := proto.Marshal(p)
	if err != nil {
		return nil // cannot happen: every path can be encoded
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, fieldPrefix, protowire.BytesType), raw)
}

// A wire is the service for one kind of receiver. gRPC only sends responses, so they may be encoded already. Other
// callers read their fields.
type wire struct {
	*Server
	encoded bool
}

// Get answers a GetRequest.
func (w wire) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	resp, err := w.get(ctx, req)
	w.guard.Trail.Denied(ctx, "get", req.GetPrefix(), pathsAsked(req), err)
	if err == nil && !w.encoded {
		for _, n := range resp.GetNotification() {
			if err := decode(n); err != nil {
				return nil, err
			}
		}
	}
	return resp, err
}

// A decoding is a Subscribe RPC of a client that reads the fields of its messages.
type decoding struct{ gpb.GNMI_SubscribeServer }

// Send implements gpb.GNMI_SubscribeServer.
func (d decoding) Send(m *gpb.SubscribeResponse) error {
	if err := decode(m); err != nil {
		return err
	}
	return d.GNMI_SubscribeServer.Send(m)
}

// decode decodes the parts of a message that were encoded already.
func decode(m proto.Message) error {
	raw := m.ProtoReflect().GetUnknown()
	m.ProtoReflect().SetUnknown(nil)
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(raw, m)
}
