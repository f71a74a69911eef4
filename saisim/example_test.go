package saisim_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// A chip is programmed by SAI, like a vendor's chip, and floods a frame to an unknown address.
func Example() {
	ctx := context.Background()
	chip, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(0, 0)})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := chip.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{
		{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}); err != nil {
		log.Fatal(err)
	}
	for _, p := range chip.Tables().Ports[:3] {
		up := sai.Attr{ID: sai.PortAttrAdminState, Value: sai.Bool(true)}
		if err := chip.Set(ctx, sai.Obj(sai.ObjectTypePort, sai.OID(p.ID)), up); err != nil {
			log.Fatal(err)
		}
	}
	chip.SetOutput(func(o *saisim.Out) { fmt.Printf("%d bytes leave port %d at cycle %d\n", o.Len, o.Port, o.At) })
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 46)...)
	if err := chip.Receive(0, 1000, saisim.Frame{Data: frame}); err != nil {
		log.Fatal(err)
	}
	chip.Advance(2000)
	b := chip.FrameCounts()
	fmt.Printf("of the copies for the other ports %d were dropped: %s\n", b.Dropped[drop.EgressDown], drop.EgressDown)
	// Output:
	// 60 bytes leave port 1 at cycle 1100
	// 60 bytes leave port 2 at cycle 1101
	// of the copies for the other ports 5 were dropped: egress-port-down
}
