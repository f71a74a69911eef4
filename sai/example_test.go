package sai_test

import (
	"fmt"
	"net/netip"

	"tamtam/sai"
)

// FormatValue writes a match of an ACL entry as in ASIC_DB. ParseValue reports an error for one of the wrong type.
func ExampleParseValue() {
	dst, mask := netip.MustParseAddr("10.1.0.0"), netip.MustParseAddr("255.255.0.0")
	text, err := sai.FormatValue(sai.ACLEntryAttrFieldDstIP, sai.Match(sai.IP{Addr: dst}, sai.IP{Addr: mask}))
	fmt.Println(text, err)

	v, err := sai.ParseValue(sai.ACLEntryAttrFieldDstIP, text)
	fmt.Println(v.(sai.Field).Data, err)

	_, err = sai.ParseValue(sai.ACLEntryAttrFieldDstIP, "2001:db8::1&mask:ffff::")
	fmt.Println(err)
	// Output:
	// 10.1.0.0&mask:255.255.0.0 <nil>
	// 10.1.0.0 <nil>
	// SAI_ACL_ENTRY_ATTR_FIELD_DST_IP: "2001:db8::1" is not an ipv4 address
}

// A call is checked before it is made, as SAI's own metadata library does.
func ExampleValidator() {
	v := sai.NewValidator()
	v.Created(sai.Obj(sai.ObjectTypeSwitch, 1), nil)
	fmt.Println(v.CheckCreate(sai.ObjectTypeVLAN, nil))

	ten := []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(10)}}
	fmt.Println(v.CheckCreate(sai.ObjectTypeVLAN, ten))
	v.Created(sai.Obj(sai.ObjectTypeVLAN, 2), ten)
	fmt.Println(v.CheckCreate(sai.ObjectTypeVLAN, ten))
	// Output:
	// create SAI_OBJECT_TYPE_VLAN: SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING (SAI_VLAN_ATTR_VLAN_ID): attribute must be given
	// <nil>
	// create SAI_OBJECT_TYPE_VLAN: SAI_STATUS_INVALID_PARAMETER: an object with SAI_VLAN_ATTR_VLAN_ID=10 exists already
}
