package ports

import (
	"fmt"
	"slices"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// decideBreakouts compares breakout modes with the configured ports. The rows of PORT define the ports, and the rows of
// BREAKOUT_CFG only describe what they should be.
func (d *decision) decideBreakouts(breakouts forward.Rows) {
	keys := breakouts.Sorted()
	for i, key := range keys {
		state := forward.Row{Table: schema.StateBreakout, Key: key}
		b, err := schema.ParseBreakout(key, breakouts[key])
		if err != nil {
			d.out.Report(state, schema.StatusFailed, schema.Reason(err))
			continue
		}
		end := ""
		if i+1 < len(keys) {
			end = keys[i+1]
		}
		if reason := d.checkBreakout(b, end); reason != "" {
			d.out.Report(state, schema.StatusPending, reason)
			continue
		}
		d.out.Report(state, schema.StatusActive, "")
	}
}

// checkBreakout returns the difference between a mode and the ports of its breakout, which begin with the first port of
// the mode. Ports from end on belong to the next mode.
func (d *decision) checkBreakout(b schema.Breakout, end string) string {
	at, ok := slices.BinarySearchFunc(d.order, b.Port, schema.CompareNames)
	if !ok {
		return fmt.Sprintf("port %q does not exist", b.Port)
	}
	ports := d.order[at:]
	if i := slices.IndexFunc(ports, func(p string) bool { return end != "" && schema.CompareNames(p, end) >= 0 }); i >= 0 {
		ports = ports[:i]
	}
	if len(ports) < b.Ports() {
		return fmt.Sprintf("%s makes %d ports, PORT has %d from %s on", b.Mode, b.Ports(), len(ports), b.Port)
	}
	for _, g := range b.Groups {
		lanes := 0
		for _, name := range ports[:g.Count] {
			p := d.ports[name]
			if !slices.Contains(g.Speeds, p.Speed) {
				return fmt.Sprintf("port %q has speed %d, %s makes ports of %d", name, p.Speed, b.Mode, g.Speeds[0])
			}
			if first := d.ports[ports[0]]; len(p.Lanes) != len(first.Lanes) {
				return fmt.Sprintf("port %q has %d lanes, port %q has %d", name, len(p.Lanes), ports[0], len(first.Lanes))
			}
			lanes += len(p.Lanes)
		}
		if g.Lanes != 0 && lanes != g.Lanes {
			return fmt.Sprintf("ports %s to %s have %d lanes, %s gives them %d",
				ports[0], ports[g.Count-1], lanes, b.Mode, g.Lanes)
		}
		ports = ports[g.Count:]
	}
	return ""
}
