package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// hashFields returns the fields of the flow hash. An IP packet has addresses, protocol and ports, any other frame
// EtherType and MAC addresses.
func hashFields() []sai.Enum {
	return []sai.Enum{
		sai.NativeHashFieldSrcIP, sai.NativeHashFieldDstIP, sai.NativeHashFieldIPProtocol,
		sai.NativeHashFieldL4SrcPort, sai.NativeHashFieldL4DstPort, sai.NativeHashFieldEthertype,
		sai.NativeHashFieldSrcMAC, sai.NativeHashFieldDstMAC,
	}
}

// hashKind returns the kind of the two HASH objects of the switch: for next hop groups and for LAGs. They come with the
// switch. Their lists name the fields that are hashed.
func (s *Store) hashKind() *kind {
	return &kind{
		max:   2,
		attrs: []sai.AttrID{sai.HashAttrNativeHashFieldList},
		enums: map[sai.AttrID][]sai.Enum{sai.HashAttrNativeHashFieldList: hashFields()},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			return s.putRow(s.kinds[sai.ObjectTypeSwitch], s.sw)
		},
		remove: refuseRemove("the hashes of the switch stay"),
	}
}

// unhashed returns the fields that a HASH object does not list.
func unhashed(o *object) (fields config.HashFields) {
	if o == nil {
		return 0
	}
	list, _ := o.attr(sai.HashAttrNativeHashFieldList).(sai.Enums)
	for i, f := range hashFields() {
		if !slices.Contains(list, f) {
			fields |= 1 << i
		}
	}
	return fields
}
