package engine_test

import (
	"fmt"
	"log"
	"time"

	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
)

// The packet path follows its rows, whatever their source.
func Example() {
	e := engine.New(profile.Small(), time.Unix(0, 0), 0)
	var change config.Change
	change.Put(config.Switch{ID: 1})
	vlan := config.VLAN{ID: 100, VID: 1}
	for i := range 2 {
		port, bridgePort := config.ID(10+i), config.ID(20+i)
		change.Put(config.Port{ID: port, Port: config.PortID(i), Mbps: 10_000, Admin: true, Link: true, MTU: 1522, PVID: 1})
		change.Put(config.BridgePort{ID: bridgePort, On: port, Admin: true})
		vlan.Members = append(vlan.Members, config.VLANMember{BridgePort: bridgePort})
	}
	change.Put(vlan)
	e.Apply(change)

	e.SetOutput(func(o *engine.Out) { fmt.Printf("%d bytes leave port %d\n", o.Len, o.Port) })
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 46)...)
	if err := e.Receive(0, 1000, &engine.Frame{Data: frame}); err != nil {
		log.Fatal(err)
	}
	e.Advance(2000)
	for _, a := range e.Addresses() {
		fmt.Printf("%s is behind bridge port %s\n", a.MAC, a.BridgePort)
	}
	// Output:
	// 60 bytes leave port 1
	// 02:00:00:00:00:01 is behind bridge port 0x14
}
