package saisim

import "tamtam/saisim/config"

// apply compiles a change. What is compiled of a row is changed in place, so that packets that hold
// it see the change, and what it has counted stays.
func (c *engine) apply(ch config.Change) {
	for _, x := range ch {
		if c.applyRouting(x.Row, x.Gone) {
			continue
		}
		c.applyPorts(x.Row, x.Gone)
		c.applyACL(x.Row, x.Gone)
		c.applyTAM(x.Row, x.Gone)
	}
}

// applyPorts compiles where frames come in and leave, and the bridge between.
func (c *engine) applyPorts(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.Switch:
		c.applySwitch(r, gone)
	case config.Port:
		c.applyPort(r, gone)
	case config.LAG:
		c.applyLAG(r, gone)
	case config.BridgePort:
		c.applyBridgePort(r, gone)
	case config.VLAN:
		c.applyVLAN(r, gone)
	case config.FDBEntry:
		c.applyFDB(r, gone)
	case config.Pool:
		c.applyPool(r, gone)
	}
}

// applyACL compiles what the ACL stages look in.
func (c *engine) applyACL(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.ACLRange:
		c.applyRange(r, gone)
	case config.ACLCounter:
		c.applyCounter(r, gone)
	}
}

// applyTAM compiles what is measured and copied.
func (c *engine) applyTAM(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.TrapRule:
		c.applyTrap(r, gone)
	case config.Mirror:
		c.applyMirror(r, gone)
	case config.TAMInt:
		c.applyTAMInt(r, gone)
	case config.AltMark:
		c.applyAltMark(r, gone)
	case config.Sketch:
		c.applySketch(r, gone)
	}
}

// at returns what is compiled of the row with an id, nil if there is none or it is something else.
func at[T any](c *engine, id config.ID) (x T) {
	x, _ = c.ids[id].(T)
	return x
}

// actionsOf are what a packet action does.
func actionsOf(a config.PacketAction) actions {
	switch a {
	case config.Drop:
		return actDrop
	case config.Copy, config.Log:
		return actCopy
	case config.CopyCancel, config.Transit:
		return actCancel
	case config.Punt:
		return actDrop | actCopy
	case config.Deny:
		return actDrop | actCancel
	}
	return 0 // forward, do not drop
}
