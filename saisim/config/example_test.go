package config_test

import (
	"fmt"
	"net/netip"

	"tamtam/saisim/config"
)

// A set applies changes: a new row replaces the row with the same key.
func ExampleSet() {
	prefix := netip.MustParsePrefix("10.1.0.0/16")
	rows := config.Set{}
	rows.Apply(config.Change{
		{Row: config.Route{Prefix: prefix, Action: config.Drop}},
		{Row: config.VLAN{ID: 7, VID: 100}},
	})
	rows.Apply(config.Change{
		{Row: config.Route{Prefix: prefix, Action: config.Forward, NextHop: 9}},
		{Row: config.VLAN{ID: 8, VID: 200}},
		{Row: config.VLAN{ID: 7}, Gone: true},
	})
	tables := rows.Tables()
	for _, r := range tables.Routes {
		fmt.Println(r.Prefix, "by next hop", r.NextHop)
	}
	for _, v := range tables.VLANs {
		fmt.Println("VLAN", v.VID)
	}
	_, there := config.Find[config.VLAN](rows, 7)
	fmt.Println(there)
	// Output:
	// 10.1.0.0/16 by next hop 0x9
	// VLAN 200
	// false
}
