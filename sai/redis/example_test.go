package sairedis_test

import (
	"context"
	"fmt"

	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
)

// orchagent's side creates a VLAN. syncd's side creates it in the ASIC and writes it into ASIC_DB.
func Example() {
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	ctx, stop := context.WithCancel(context.Background())
	syncd, stopped := sairedis.NewServer(r, saitest.NewFake(), sairedis.ServerOptions{}), make(chan error)
	go func() { stopped <- syncd.Serve(ctx) }()
	defer func() { stop(); <-stopped }()

	client, err := sairedis.NewClient(ctx, r, sairedis.ClientOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sw, err := client.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}})
	fmt.Println(sw, err)
	vlan, err := client.Create(ctx, sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(10)}})
	typ, ok := protocol.VIDType(vlan)
	fmt.Println(typ, ok, err)

	row := "SAI_OBJECT_TYPE_VLAN:" + vlan.String()
	fields, _, err := swss.NewTable(r.DB(swss.ASICDB), "ASIC_STATE").Get(ctx, row)
	fmt.Println(fields, err)

	_, err = client.Create(ctx, sai.ObjectTypeVLAN, nil)
	fmt.Println(err)
	// Output:
	// oid:0x21000000000000 <nil>
	// SAI_OBJECT_TYPE_VLAN true <nil>
	// map[SAI_VLAN_ATTR_VLAN_ID:10] <nil>
	// create SAI_OBJECT_TYPE_VLAN: SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING (SAI_VLAN_ATTR_VLAN_ID): attribute must be given
}
