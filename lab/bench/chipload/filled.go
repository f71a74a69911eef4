package chipload

import (
	"context"
	"encoding/binary"
	"net/netip"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A Filled is a chip with many ACL entries, routes and addresses, and a LAG. One object of each kind changes.
type Filled struct {
	calls
	entry, route, address, member sai.Key // the objects that change
	frame                         saisim.Frame
}

// NewFilled returns a chip with n ACL entries, n routes and n static FDB entries.
func NewFilled(ctx context.Context, n int) (*Filled, error) {
	p := profile.Default()
	p.ACL.Entries, p.ACL.TableEntries, p.FDB, p.IPv4Routes = 1<<17, 1<<17, 1<<18, 1<<18
	chip, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	c := &Filled{calls: calls{ctx: ctx, chip: chip}, frame: saisim.Frame{Data: Load{}.Frame(1, 2)}}
	sw := c.create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)})
	key := sai.Obj(sai.ObjectTypeSwitch, sw)
	ports, _ := c.get(key, sai.SwitchAttrPortList).(sai.OIDs)
	for _, oid := range ports {
		c.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrAdminState, sai.Bool(true))
	}
	c.rules(key, Load{Rules: n})
	c.makeEntry()
	c.makeRoutes(sw, n)
	c.makeAddresses(sw, n)
	return c, c.err
}

// makeEntry creates the ACL entry that changes.
func (c *Filled) makeEntry() {
	yes := sai.Bool(true)
	table := c.create(sai.ObjectTypeACLTable, sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrFieldDstIP, Value: yes})
	c.entry = sai.Obj(sai.ObjectTypeACLEntry, c.create(sai.ObjectTypeACLEntry,
		sai.Attr{ID: sai.ACLEntryAttrTableID, Value: table}, sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)}))
}

// makeRoutes creates n routes, the first of which changes later.
func (c *Filled) makeRoutes(sw sai.OID, n int) {
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

// makeAddresses creates n static FDB entries, the first of which changes later, and a LAG.
func (c *Filled) makeAddresses(sw sai.OID, n int) {
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

// makeLAG creates a LAG of a port that leaves the bridge.
func (c *Filled) makeLAG(vlan, bridgePort sai.OID) {
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

// Changes are the kinds of changes in a [Filled] chip.
var Changes = []string{"ACL entry", "route", "FDB entry", "LAG member"}

// Change makes the n-th change of a kind, and sends a packet through the chip.
func (c *Filled) Change(what string, n int) error {
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
	return c.err
}
