package routes

import (
	"fmt"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// decideNeighbors decides on static neighbours.
func (d *decision) decideNeighbors() {
	taken := map[string]string{}
	for _, key := range d.neighbors.sorted() {
		row, state := d.neighbors[key], forward.Row{Table: schema.StateNeigh, Key: key}
		n := row.row
		at, missing := n.Interface+":"+n.Addr.String(), ""
		switch {
		case row.err != nil:
		case taken[at] != "":
			d.refuse(state, "%s is the same neighbour, and has a row of its own", taken[at])
			continue
		case d.own[place{d.vrfOf(n.Interface), n.Addr}] != "":
			d.refuse(state, "%s is the switch's own address, of %s", n.Addr, d.own[place{d.vrfOf(n.Interface), n.Addr}])
			continue
		case !d.routed[n.Interface]:
			missing = d.unrouted(n.Interface)
		}
		if row.err == nil {
			taken[at] = key
		}
		d.accept(forward.Row{Table: schema.AppNeigh, Key: at}, state, key, n.Fields, row.err, missing)
	}
}

// decideFDB decides on static FDB entries.
func (d *decision) decideFDB() {
	taken := map[string]string{}
	for _, key := range d.fdb.sorted() {
		row, state := d.fdb[key], forward.Row{Table: schema.StateStaticFDB, Key: key}
		e, missing := row.row, ""
		switch {
		case row.err != nil:
		case e.Type != schema.FDBStatic:
			d.refuse(state, "type %q: want static; the others the switch learns", e.Type)
			continue
		case taken[e.Key()] != "":
			d.refuse(state, "%s is the same address, and has a row of its own", taken[e.Key()])
			continue
		case !d.vlans.valid(e.VLAN):
			missing = fmt.Sprintf("VLAN %q does not exist", e.VLAN)
		case !d.inVLAN[e.VLAN+"|"+e.Port]:
			missing = fmt.Sprintf("%q is not a member of VLAN %q", e.Port, e.VLAN)
		}
		if row.err == nil {
			taken[e.Key()] = key
		}
		d.accept(forward.Row{Table: schema.AppFDB, Key: e.Key()}, state, key, e.Fields, row.err, missing)
	}
}
