package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (as *acls) counterKind() *kind {
	return &kind{
		max: as.prof.ACL.Counters,
		attrs: []sai.AttrID{
			sai.ACLCounterAttrTableID, sai.ACLCounterAttrEnablePacketCount, sai.ACLCounterAttrEnableByteCount,
			sai.ACLCounterAttrPackets, sai.ACLCounterAttrBytes, sai.ACLCounterAttrLabel,
		},
		row: func(o *object) (config.Row, error) {
			return config.ACLCounter{
				ID: o.id(), Table: o.refID(sai.ACLCounterAttrTableID), Label: o.text(sai.ACLCounterAttrLabel),
				CountPackets: o.flag(sai.ACLCounterAttrEnablePacketCount), CountBytes: o.flag(sai.ACLCounterAttrEnableByteCount),
			}, nil
		},
		made: func(o *object) {
			as.engine.SetACLCount(o.id(), o.number(sai.ACLCounterAttrPackets), o.number(sai.ACLCounterAttrBytes))
			as.relabel(o, "", o.text(sai.ACLCounterAttrLabel))
		},
		gone: func(o *object) { as.relabel(o, o.text(sai.ACLCounterAttrLabel), "") },
		set: func(o *object, a sai.Attr) error {
			n := as.engine.ACLCount(o.id())
			switch v := a.Value.(type) {
			case sai.Uint:
				if a.ID == sai.ACLCounterAttrPackets {
					n.Packets = uint64(v)
				} else {
					n.Bytes = uint64(v)
				}
				as.engine.SetACLCount(o.id(), n.Packets, n.Bytes)
			case sai.Text:
				as.relabel(o, o.text(sai.ACLCounterAttrLabel), string(v))
			}
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			switch id {
			case sai.ACLCounterAttrPackets:
				return sai.Uint(as.engine.ACLCount(o.id()).Packets)
			case sai.ACLCounterAttrBytes:
				return sai.Uint(as.engine.ACLCount(o.id()).Bytes)
			}
			return nil
		},
	}
}

// relabel moves a counter from one label to another. An empty label means none.
func (as *acls) relabel(o *object, was, is string) {
	as.labelled[was] = slices.DeleteFunc(as.labelled[was], func(x config.ID) bool { return x == o.id() })
	if len(as.labelled[was]) == 0 {
		delete(as.labelled, was)
	}
	if is != "" {
		as.labelled[is] = append(as.labelled[is], o.id())
	}
}

// Labelled returns the counters with a label.
func (as *acls) Labelled(label string) []config.ID { return as.labelled[label] }
