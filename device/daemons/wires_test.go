package daemons

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"tamtam/device/wire"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/yang/tamyang"
)

// Each field of a wire's row is a leaf of YANG, and each leaf is a field.
func TestWireRowIsInYANG(t *testing.T) {
	row := wireRow(wire.Port{MTU: 1500})
	addDropped(row, cpuChip(t), "Ethernet0")
	var leaves []string
	state := reflect.TypeFor[tamyang.OpenconfigInterfaces_Interfaces_Interface_Wire_State]()
	for i := range state.NumField() {
		leaves = append(leaves, state.Field(i).Tag.Get("path"))
	}
	slices.Sort(leaves)
	if fields := slices.Sorted(maps.Keys(row)); !slices.Equal(fields, leaves) {
		t.Errorf("fields\n%q\nleaves\n%q", fields, leaves)
	}
}

// A wire's row contains the chip's drops at the port, by reason: 0 if there were none, and unknown if there is no
// such port.
func TestDroppedAtAWire(t *testing.T) {
	chip := cpuChip(t)
	id, _ := chip.PortByName("Ethernet0")
	runt := saisim.Arrival{Port: id, At: chip.Now(), Frame: saisim.Frame{Data: make([]byte, 10)}}
	if _, err := chip.ReceiveAll([]saisim.Arrival{runt}); err != nil {
		t.Fatal(err)
	}
	chip.Advance(chip.Now() + 1000)
	for port, want := range map[string][2]string{"Ethernet0": {"1", "0"}, "Ethernet4": {"N/A", "N/A"}} {
		row := swss.FieldValues{}
		addDropped(row, chip, port)
		if got := [2]string{row["dropped-runt"], row["dropped-no-route"]}; got != want {
			t.Errorf("%s: runts and those without a route: %v, want %v", port, got, want)
		}
	}
}
