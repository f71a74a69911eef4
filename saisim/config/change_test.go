package config_test

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/config"
	"tamtam/tam/flymon"
)

// inOrder returns a row of each kind, and two of some, each after the rows to which it refers.
func inOrder() []config.Row {
	address := netip.MustParseAddr("10.0.0.2")
	return []config.Row{
		config.Switch{ID: 1, CPU: 2},
		config.Pool{Index: 1, Cells: 10}, config.Pool{Index: 2, Cells: 20},
		config.Port{ID: 10, Port: 4, QoS: config.QoS{}}, config.Port{ID: 11, Port: 0},
		config.LAG{ID: 20, Members: []config.LAGMember{{Port: 4}}},
		config.BridgePort{ID: 30, On: 11}, config.BridgePort{ID: 31, On: 20},
		config.VLAN{ID: 40, VID: 7, Members: []config.VLANMember{{BridgePort: 30}, {BridgePort: 31}}},
		config.FDBEntry{VLAN: 40, VID: 7, MAC: config.MAC{5: 1}, BridgePort: 31},
		config.FDBEntry{VLAN: 40, VID: 7, MAC: config.MAC{4: 1}, BridgePort: 30},
		config.Router{ID: 49}, config.Router{ID: 50}, config.Interface{ID: 51, Router: 50, On: 40},
		config.Neighbor{Interface: 51, IP: address},
		config.NextHop{ID: 52, Interface: 51, IP: address},
		config.HopGroup{ID: 53, Members: []config.HopMember{{NextHop: 52, Weight: 1}}},
		config.Route{Router: 49, Prefix: netip.MustParsePrefix("10.0.0.0/8"), NextHop: 52},
		config.Route{Router: 50, Prefix: netip.MustParsePrefix("0.0.0.0/0"), NextHop: 53},
		config.Route{Router: 50, Prefix: netip.MustParsePrefix("10.0.0.0/8"), NextHop: 52},
		config.Route{Router: 50, Prefix: netip.MustParsePrefix("10.0.0.0/24"), NextHop: 51},
		config.Policer{ID: 58}, config.Counter{ID: 59}, config.TrapRule{ID: 60, ToCPU: config.ToCPU{Counter: 59}},
		config.TrapDefault{ToCPU: config.ToCPU{Policer: 58}},
		config.TAMInt{ID: 61}, config.Mirror{ID: 62, Monitor: 20},
		config.ACLRange{ID: 70}, config.ACLCounter{ID: 71}, config.ACLTable{ID: 72}, config.ACLEntry{ID: 73, Table: 72},
		config.ACLGroup{ID: 74, Members: []config.ACLMember{{Table: 72}}},
		config.AltMark{Lane: 0}, config.AltMark{Lane: 3},
		config.Sketch{Layout: flymon.Layout{Task: "a"}}, config.Sketch{Layout: flymon.Layout{Task: "b"}},
		config.RecordPlan{Object: 80}, config.MSSClamp{ID: 90},
	}
}

// Whatever the order of changes, rows are returned by table and by key. Each row follows the rows to which it refers.
func TestRowsAreInOrder(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		rows, set := inOrder(), config.Set{}
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(rows)) {
			var c config.Change
			c.Put(rows[i])
			set.Apply(c)
		}
		for i, s := range set.Rows() {
			if s.Gone || !reflect.DeepEqual(s.Row, rows[i]) {
				t.Errorf("row %d is %+v, want %+v", i, s, rows[i])
			}
		}
	})
}

// Every row that is put is in the tables, once. After all are removed, in any order, none is left.
func TestTablesHaveEveryRow(t *testing.T) {
	set := config.Set{}
	var put, remove config.Change
	for _, r := range inOrder() {
		put.Put(r)
		remove.Remove(r)
	}
	set.Apply(put)
	set.Apply(put)
	if n, want := len(set.Rows()), len(inOrder()); n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
	tables := set.Tables()
	if tables.Ports[0].Port != 0 || tables.Ports[1].Port != 4 {
		t.Errorf("ports in another order than on the chip: %+v", tables.Ports)
	}
	if n := rowsIn(reflect.ValueOf(tables)); n != len(inOrder()) {
		t.Errorf("%d rows in tables, want %d", n, len(inOrder()))
	}
	set.Apply(remove)
	if len(set) != 0 || rowsIn(reflect.ValueOf(set.Tables())) != 0 {
		t.Errorf("what is left: %+v", set)
	}
}

// rowsIn counts the rows in tables: rows in lists, and single rows.
func rowsIn(tables reflect.Value) (n int) {
	for i := range tables.NumField() {
		switch f := tables.Field(i); {
		case f.Kind() == reflect.Slice:
			n += f.Len()
		case f.Type() == reflect.TypeFor[config.Switch](), f.Type() == reflect.TypeFor[config.TrapDefault]():
			if !f.IsZero() {
				n++
			}
		default:
			n += rowsIn(f)
		}
	}
	return n
}

// A row is found by its ID if it is of the requested type. A later row with the same key replaces it, and the key
// suffices to remove it.
func TestFind(t *testing.T) {
	set := config.Set{}
	set.Apply(config.Change{{Row: config.VLAN{ID: 7, VID: 100}}, {Row: config.LAG{ID: 8, PVID: 5}}})
	set.Apply(config.Change{{Row: config.VLAN{ID: 7, VID: 200}}, {Row: config.VLAN{ID: 8}, Gone: true}})
	if v, ok := config.Find[config.VLAN](set, 7); !ok || v.VID != 200 {
		t.Errorf("VLAN 7 is %+v, %v", v, ok)
	}
	if v, ok := config.Find[config.VLAN](set, 8); ok {
		t.Errorf("LAG 8 is found as a VLAN: %+v", v)
	}
	if l, ok := config.Find[config.LAG](set, 8); !ok || l.PVID != 5 {
		t.Errorf("LAG 8 is %+v, %v", l, ok)
	}
	set.Apply(config.Change{{Row: config.LAG{ID: 8}, Gone: true}, {Row: config.LAG{ID: 9}, Gone: true}})
	if l, ok := config.Find[config.LAG](set, 8); ok {
		t.Errorf("what is gone is found: %+v", l)
	}
}
