package hostrows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// needs holds the traps that the stack needs, in rate-limited groups as in SONiC's copp_cfg.json.
var needs = []schema.COPPGroup{
	{Name: "host-arp", Action: "copy", Priority: 4, Queue: 4, Traps: []string{"arp_req", "arp_resp", "neigh_discovery"},
		COPPPolicer: atMost(600)},
	{Name: "host-ip2me", Action: "trap", Priority: 1, Queue: 1, Traps: []string{"ip2me"}, COPPPolicer: atMost(6000)},
	{Name: "host-error", Action: "trap", Priority: 1, Queue: 1,
		Traps: []string{"l3_mtu_error", "neighbor_miss", "ttl_error"}, COPPPolicer: atMost(600)},
}

// atMost returns a policer with this rate in packets per second, and a burst of the same size.
func atMost(packets uint64) schema.COPPPolicer {
	return schema.COPPPolicer{
		Meter: schema.MeterPackets, Mode: schema.ModeSRTCM, CIR: &packets, CBS: &packets, Red: "drop",
	}
}

// Traps holds the current rows of COPP_TABLE.
type Traps struct {
	table *swss.ProducerState
	rows  map[string]swss.FieldValues
	look  bool // true if the rows must be checked again
}

// Trap makes the chip send the CPU the packets that a host needs, unless a group of CONFIG_DB configures these traps.
// It starts once begun returns true.
func Trap(d *orch.Daemon, r *swss.Redis, begun func() bool) *Traps {
	db := r.DB(swss.ApplDB)
	t := &Traps{
		table: swss.NewProducerState(db, schema.AppCOPP), rows: map[string]swss.FieldValues{}, look: true,
	}
	forward.Consume(d, db, schema.AppCOPP, func(key string, fields swss.FieldValues) {
		t.look = true
		if t.rows[key] = fields; fields == nil {
			delete(t.rows, key)
		}
	})
	d.AfterRows(func() bool { return t.look && begun() }, t.claim)
	return t
}

// Limit describes the group that limits the rate of a trap's packets, "" if there is none.
func (t *Traps) Limit(trap string) string {
	for _, name := range slices.Sorted(maps.Keys(t.rows)) {
		g, err := schema.ParseCOPPGroup(name, t.rows[name])
		if err != nil || g.CIR == nil || g.Red != "drop" || !slices.Contains(g.Traps, trap) {
			continue
		}
		unit := "bytes"
		if g.Meter == schema.MeterPackets {
			unit = "packets"
		}
		return fmt.Sprintf("trap group %s, %d %s a second", name, *g.CIR, unit)
	}
	return ""
}

// claim writes the groups of needs whose rows differ. Fields that others added to them stay.
func (t *Traps) claim(ctx context.Context) error {
	taken := map[string]bool{}
	for name, fields := range t.rows {
		if !slices.ContainsFunc(needs, func(g schema.COPPGroup) bool { return g.Name == name }) {
			for id := range strings.SplitSeq(fields["trap_ids"], ",") {
				taken[id] = true
			}
		}
	}
	for _, g := range needs {
		g.Traps = slices.DeleteFunc(slices.Clone(g.Traps), func(id string) bool { return taken[id] })
		row, want := t.rows[g.Name], g.Fields()
		differs := false
		for name, value := range want {
			differs = differs || row[name] != value
		}
		var err error
		switch {
		case len(g.Traps) > 0 && differs:
			err = t.table.Set(ctx, g.Name, swss.Pairs(want))
		case len(g.Traps) == 0 && row != nil:
			err = t.table.Del(ctx, g.Name)
		}
		if err != nil {
			return err
		}
	}
	t.look = false
	return nil
}
