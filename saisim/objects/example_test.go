package objects_test

import (
	"fmt"
	"log"
	"time"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects"
	"tamtam/saisim/profile"
)

// A call of SAI makes a change of rows.
func Example() {
	small := profile.Small()
	s := objects.New(engine.New(small, time.Unix(0, 0), 0), objects.Config{Profile: small})
	if _, err := s.Create(sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch,
		Value: sai.Bool(true)}}); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Create(sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(100)}}); err != nil {
		log.Fatal(err)
	}
	for _, v := range s.Tables().VLANs {
		fmt.Printf("VLAN %d has %d members\n", v.VID, len(v.Members))
	}
	_, err := s.Create(sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(100)}})
	fmt.Println(err)
	// Output:
	// VLAN 1 has 8 members
	// VLAN 100 has 0 members
	// create SAI_OBJECT_TYPE_VLAN: SAI_STATUS_INVALID_PARAMETER: an object with SAI_VLAN_ATTR_VLAN_ID=100 exists already
}
