package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// changes says what one change through SAI costs in a chip with few entries, routes and addresses, and in
// one with many; after each a packet comes, so that lists which are made anew for it count.
func (b *asicBench) changes() {
	const few, many = 10, 100_000
	var of [2]*filledChip
	for i, n := range []int{few, many} {
		if b.err == nil {
			of[i], b.err = newFilledChip(b.ctx, n)
		}
	}
	for _, what := range []string{"ACL entry", "route", "FDB entry", "LAG member"} {
		if b.err != nil {
			return
		}
		var took [2]float64
		if took, b.err = pairedChanges(of, what, b.d); b.err != nil {
			return
		}
		b.add(fmt.Sprintf("one %s changed, among %d", what, few), took[0], "us")
		b.add(fmt.Sprintf("one %s changed, among %d", what, many), took[1], "us")
		b.add(fmt.Sprintf("one %s changed, among %d, of among %d", what, many, few), took[1]/took[0], "times")
	}
}

// pairedChanges returns what a change takes in each of two chips, in microseconds: the chips take turns for
// d, and of the turns of each the fastest counts.
func pairedChanges(of [2]*filledChip, what string, d time.Duration) (us [2]float64, err error) {
	const turn = 200
	us = [2]float64{math.Inf(1), math.Inf(1)}
	for begin, first := time.Now(), true; first || time.Since(begin) < d; first = false {
		for i, c := range of {
			start := time.Now()
			for n := range turn {
				c.change(what, n)
			}
			us[i] = min(us[i], float64(time.Since(start).Nanoseconds())/1e3/turn)
			if c.err != nil {
				return us, c.err
			}
		}
	}
	return us, nil
}

// A filledChip has many ACL entries, routes and addresses, and a LAG.
type filledChip struct {
	saiCalls
	entry, route, address, member sai.Key // that change
	frame                         saisim.Frame
}

func newFilledChip(ctx context.Context, n int) (*filledChip, error) {
	p := profile.Default()
	p.ACL.Entries, p.ACL.TableEntries, p.FDB, p.IPv4Routes = 1<<17, 1<<17, 1<<18, 1<<18
	chip, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	c := &filledChip{saiCalls: saiCalls{ctx: ctx, chip: chip}, frame: saisim.Frame{Data: udpBetween(1, 2, false)}}
	sw := c.create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)})
	key := sai.Obj(sai.ObjectTypeSwitch, sw)
	ports, _ := c.get(key, sai.SwitchAttrPortList).(sai.OIDs)
	for _, oid := range ports {
		c.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrAdminState, sai.Bool(true))
	}
	c.rules(key, asicLoad{rules: n})
	c.makeEntry()
	c.makeRoutes(sw, n)
	c.makeAddresses(sw, n)
	return c, c.err
}

// makeEntry makes the ACL entry that changes.
func (c *filledChip) makeEntry() {
	yes := sai.Bool(true)
	table := c.create(sai.ObjectTypeACLTable, sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrFieldDstIP, Value: yes})
	c.entry = sai.Obj(sai.ObjectTypeACLEntry, c.create(sai.ObjectTypeACLEntry,
		sai.Attr{ID: sai.ACLEntryAttrTableID, Value: table}, sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)}))
}

// makeRoutes makes routes, of which the first one changes.
func (c *filledChip) makeRoutes(sw sai.OID, n int) {
	router, _ := c.get(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)
	var entries []sai.Entry
	var with [][]sai.Attr
	for i := range n {
		addr := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 20<<24|uint32(i)<<4)))
		entries = append(entries, sai.RouteEntry{Switch: sw, VR: router, Dest: netip.PrefixFrom(addr, 28)})
		with = append(with, []sai.Attr{{ID: sai.RouteEntryAttrPacketAction, Value: sai.PacketActionDrop}})
	}
	c.createEntries(entries, with)
	c.route = sai.EntryKey(entries[0])
}

// makeAddresses makes addresses, of which the first one changes.
func (c *filledChip) makeAddresses(sw sai.OID, n int) {
	key := sai.Obj(sai.ObjectTypeSwitch, sw)
	vlan, _ := c.get(key, sai.SwitchAttrDefaultVLANID).(sai.OID)
	bridge, _ := c.get(key, sai.SwitchAttrDefault1qBridgeID).(sai.OID)
	ports, _ := c.get(sai.Obj(sai.ObjectTypeBridge, bridge), sai.BridgeAttrPortList).(sai.OIDs)
	if c.err != nil {
		return
	}
	var entries []sai.Entry
	var with [][]sai.Attr
	for i := range n {
		mac := sai.MAC(binary.BigEndian.AppendUint32([]byte{2, 1}, uint32(i)))
		entries = append(entries, sai.FDBEntry{Switch: sw, BV: vlan, MAC: mac})
		with = append(with, []sai.Attr{{ID: sai.FDBEntryAttrType, Value: sai.FDBEntryTypeStatic},
			{ID: sai.FDBEntryAttrBridgePortID, Value: ports[0]}})
	}
	c.createEntries(entries, with)
	c.address = sai.EntryKey(entries[0])
	c.makeLAG(vlan, ports[len(ports)-1])
}

// makeLAG makes a LAG of a port that leaves the bridge.
func (c *filledChip) makeLAG(vlan, bridgePort sai.OID) {
	port, _ := c.get(sai.Obj(sai.ObjectTypeBridgePort, bridgePort), sai.BridgePortAttrPortID).(sai.OID)
	members, _ := c.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)
	for _, m := range members {
		if c.get(sai.Obj(sai.ObjectTypeVLANMember, m), sai.VLANMemberAttrBridgePortID) == bridgePort {
			c.remove(sai.Obj(sai.ObjectTypeVLANMember, m))
		}
	}
	c.remove(sai.Obj(sai.ObjectTypeBridgePort, bridgePort))
	lag := c.create(sai.ObjectTypeLAG)
	c.member = sai.Obj(sai.ObjectTypeLAGMember, c.create(sai.ObjectTypeLAGMember,
		sai.Attr{ID: sai.LAGMemberAttrLAGID, Value: lag}, sai.Attr{ID: sai.LAGMemberAttrPortID, Value: port}))
}

func (c *filledChip) remove(k sai.Key) {
	if c.err == nil {
		c.err = c.chip.Remove(c.ctx, k)
	}
}

func (c *filledChip) createEntries(entries []sai.Entry, with [][]sai.Attr) {
	if c.err == nil {
		c.err = errors.Join(c.chip.BulkCreateEntries(c.ctx, entries, with)...)
	}
}

// change makes the n-th change of a kind, and lets a packet through.
func (c *filledChip) change(what string, n int) {
	action := []sai.Value{sai.PacketActionForward, sai.PacketActionDrop}[n%2]
	switch what {
	case "ACL entry":
		c.set(c.entry, sai.ACLEntryAttrPriority, sai.Uint(1+n%2))
	case "route":
		c.set(c.route, sai.RouteEntryAttrPacketAction, action)
	case "FDB entry":
		c.set(c.address, sai.FDBEntryAttrPacketAction, action)
	case "LAG member":
		c.set(c.member, sai.LAGMemberAttrEgressDisable, sai.Bool(n%2 == 0))
	}
	if c.err == nil {
		c.err = c.chip.Receive(c.chip.Ports()[0], c.chip.Now(), c.frame)
	}
	c.chip.Advance(c.chip.Now() + 1000)
}
