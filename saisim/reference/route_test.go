package reference_test

import (
	"context"
	"encoding/binary"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// An IPv4 header is fit to be routed with the checksum 0xffff where 0 is right, because both are zero in one's
// complement. With any other wrong checksum it is not.
func TestZeroChecksum(t *testing.T) {
	e := newEngines(t, 1522)
	ctx := context.Background()
	get := func(typ sai.ObjectType, oid sai.OID, id sai.AttrID) sai.OID {
		got, err := e.chip.Get(ctx, sai.Obj(typ, oid), []sai.Attr{sai.Want(id, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Value.(sai.OID)
	}
	sw := sai.OID(e.chip.Tables().Switch.ID)
	router := get(sai.ObjectTypeSwitch, sw, sai.SwitchAttrDefaultVirtualRouterID)
	rif, err := e.chip.Create(ctx, sai.ObjectTypeRouterInterface, attrs(sai.RouterInterfaceAttrType,
		sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVirtualRouterID, router, sai.RouterInterfaceAttrVLANID,
		get(sai.ObjectTypeSwitch, sw, sai.SwitchAttrDefaultVLANID)))
	if err != nil {
		t.Fatal(err)
	}
	err = e.chip.CreateEntry(ctx, sai.NeighborEntry{Switch: sw, RIF: rif, IP: ip("10.0.0.2").Addr},
		attrs(sai.NeighborEntryAttrDstMACAddress, sai.MAC{2, 0, 0, 0, 0, 7}))
	if err != nil {
		t.Fatal(err)
	}
	e.ref.Configure(e.chip.Tables(), e.chip.State())
	e.send(saisim.Frame{Data: append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 7, 0x88, 0xb5}, make([]byte, 46)...)})
	frame := append(append([]byte{}, ownMAC[:]...), 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 26, 0, 0)
	frame = append(frame, make([]byte, 60-len(frame))...)
	header := frame[14:34]
	binary.BigEndian.PutUint16(header[4:], checksum(header)) // the identification makes the sum zero
	for _, vector := range []int{0, 64} {
		e.chip.SetVector(vector)
		for sum, routed := range map[uint16]bool{0: true, 0xffff: true, 1: false, 0xfffe: false} {
			binary.BigEndian.PutUint16(header[10:], sum)
			out := e.send(saisim.Frame{Data: frame})
			if (out != nil) != routed || routed && (out[22] != 63 || checksum(out[14:34]) != 0) {
				t.Errorf("vector %d: with checksum %#x it left as %x", vector, sum, out)
			}
		}
	}
}
