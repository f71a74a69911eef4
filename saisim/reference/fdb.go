package reference

import (
	"cmp"
	"math"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

type fdbKey struct {
	vid uint16
	mac uint64
}

func keyOf(r saisim.FDBRow) fdbKey { return fdbKey{r.VLAN, mac(r.MAC[:])} }

// learn notes the location of the packet's source address. It returns false, with the reason, if the packet must be
// dropped: the bridge port drops unknown source addresses, or the trap for moves of static entries drops packets.
func (c *Chip) learn(pk *packet) (drop.Reason, bool) {
	if pk.faults.skips("chip.learning") {
		return 0, true
	}
	mode := pk.conf.bridgePorts[pk.source].Learning
	if mode == config.LearnNot || pk.conf.vlanByID[pk.vid].LearnDisable {
		return 0, true
	}
	key := fdbKey{pk.vid, pk.h.smac}
	e, known := c.fdb[key]
	pk.ran("chip.learning", known)
	pk.findAddress("chip.learning", key, e, known)
	switch {
	case known && e.Static && e.BridgePort == pk.source:
		e.Seen = pk.entered
		c.fdb[key] = e
	case known && e.Static && !e.Moves:
		does, _, _ := pk.conf.trapOf(config.TrapStaticMove)
		pk.trapAs(config.TrapStaticMove, effects{copy: does.copy, cancel: does.cancel})
		if does.drop {
			pk.noteTrap(config.TrapStaticMove)
		}
		return drop.Learning, !does.drop
	case known:
		e.BridgePort, e.Seen = pk.source, pk.entered
		c.fdb[key] = e
	case mode == config.LearnDrop:
		return drop.Learning, false
	case key.mac == 0: // zero is not an address
	case len(c.fdb) < int(c.prof.FDB):
		c.fdb[key] = saisim.FDBRow{VLAN: pk.vid, MAC: macOf(key.mac), BridgePort: pk.source, Seen: pk.entered}
	}
	return 0, true
}

// syncFDB replaces the static entries with those of a configuration, and removes learned entries whose VLAN or bridge
// port was removed.
func (c *Chip) syncFDB(conf *settings) {
	for key, e := range c.fdb {
		_, bridged := conf.bridgePorts[e.BridgePort]
		_, vlan := conf.vlanByID[key.vid]
		if e.Static || !bridged || !vlan {
			delete(c.fdb, key)
		}
	}
	for _, e := range conf.fdb {
		if e.Static {
			c.fdb[keyOf(e)] = e
		}
	}
}

// ChangeFDB changes the FDB by a control operation after the work of the current cycle. Packets that entered the
// ingress pipe up to now do not see the change. keep returns whether an entry stays, and add is added afterwards.
func (c *Chip) ChangeFDB(keep func(saisim.FDBRow) bool, add ...saisim.FDBRow) {
	c.pending = append(c.pending, &bubble{forward: func() {
		for key, e := range c.fdb {
			if !keep(e) {
				delete(c.fdb, key)
			}
		}
		for _, e := range add {
			c.fdb[keyOf(e)] = e
		}
	}})
}

// FDB returns the entries, sorted as in [saisim.State].
func (c *Chip) FDB() (rows []saisim.FDBRow) {
	for _, e := range c.fdb {
		rows = append(rows, e)
	}
	slices.SortFunc(rows, func(a, b saisim.FDBRow) int {
		return cmp.Or(cmp.Compare(a.VLAN, b.VLAN), cmp.Compare(mac(a.MAC[:]), mac(b.MAC[:])))
	})
	return rows
}

// tenth returns the number of cycles between two sweeps for aged entries: 0.1 s.
func (c *Chip) tenth() saisim.Cycle { return max(1, saisim.Cycle(c.prof.ClockHz/10)) }

// nextSweep returns the next cycle in which entries may age.
func (c *Chip) nextSweep() saisim.Cycle {
	if c.conf.Switch.AgingSeconds == 0 || len(c.fdb) == 0 {
		return math.MaxUint64
	}
	return (c.now/c.tenth() + 1) * c.tenth()
}

// sweep sends a sweep through the pipe, behind the packet that enters now, at every multiple of 0.1 s. It removes
// dynamic entries that have not been seen for the ageing time.
func (c *Chip) sweep() {
	age := saisim.Cycle(c.conf.Switch.AgingSeconds) * saisim.Cycle(c.prof.ClockHz)
	if age == 0 || c.now%c.tenth() != 0 {
		return
	}
	now := c.now
	s := &c.ingress.slots[0]
	s.behind = append(s.behind, &bubble{forward: func() {
		for key, e := range c.fdb {
			if !e.Static && e.Seen+age <= now {
				delete(c.fdb, key)
			}
		}
	}})
}

func macOf(m uint64) (b config.MAC) {
	putMAC(b[:], m)
	return b
}
