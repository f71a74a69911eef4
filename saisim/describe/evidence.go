package describe

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// traps returns the traps of records, each with the table outcome of the packets that it traps.
func traps() []record.Trap {
	list := make([]record.Trap, config.NumTraps)
	for t := range config.NumTraps {
		x := &list[t]
		if x.Name, x.SAI = t.String(), t.SAI(); t == config.TrapNone {
			x.Name = "none"
		}
		switch {
		case t == config.TrapDHCP, t == config.TrapDHCPv6, t == config.TrapOSPF, t == config.TrapOSPFv6:
			// At admission for broadcast or a group, and after a route for an address of the switch.
		case t >= config.TrapLinkLocal && t <= config.TrapVRRPv6:
			x.Table, x.Outcome = Trap.String(), record.Hit
		case t > config.TrapIP2ME && t <= config.TrapNTPServer:
			x.Table, x.Outcome = RouterMAC.String(), record.Hit
		case t == config.TrapStaticMove:
			x.Table, x.Outcome = Learning.String(), record.Hit
		case t == config.TrapNeighborMiss:
			x.Table, x.Outcome = NextHop.String(), record.Miss
		case t == config.TrapL3MTU:
			x.Table, x.Outcome = NextHop.String(), record.Hit
		}
	}
	return list
}

// test records the terms of a gate on fields that records contain: ports, queues and lengths.
func (b *grapher) test(pipeName, from string, rows [][]pipe.Term) {
	t := record.Test{From: from}
	tells := false
	for _, row := range rows {
		var terms []record.Term
		for i := range row {
			x := record.Term{}
			if reported(pipeName, row[i].Field) {
				x = record.Term{Field: row[i].Field, Mask: row[i].Mask, Is: row[i].Is, Value: row[i].Value}
				tells = true
			}
			if !slices.Contains(terms, x) {
				terms = append(terms, x)
			}
		}
		t.Rows = append(t.Rows, terms)
	}
	if tells {
		b.graph.Tests = append(b.graph.Tests, t)
	}
}

// reported reports whether records contain the value of a field in a pipe.
func reported(pipeName, field string) bool {
	switch field {
	case record.FieldIn, record.FieldLength:
		return true
	case record.FieldOut, record.FieldQueue:
		return pipeName == "egress"
	}
	return false
}
