package ports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A chip holds the objects that the ASIC has from the start.
type chip struct {
	switchID sai.OID
	cpu      sai.OID
	vlan     sai.OID            // default VLAN
	bridge   sai.OID            // default .1Q bridge
	unused   map[string]sai.OID // ports that no row has claimed, by laneKey
	stats    []sai.StatID       // port statistics that the ASIC can count
	limits   limits
	singly   bool // true once the ASIC has refused to read several attributes of a port by one call
}

// laneKey returns the set of lanes as text, independent of their order.
func laneKey(lanes []uint32) string {
	sorted := slices.Sorted(slices.Values(lanes))
	var b strings.Builder
	for i, l := range sorted {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(l), 10))
	}
	return b.String()
}

// createSwitch creates the switch object and removes default objects that SONiC does not use. These are the members of
// the default VLAN and the bridge ports of all ports.
func createSwitch(ctx context.Context, cfg Config) (*chip, error) {
	api := cfg.SAI
	oid, err := api.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{
		{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)},
		{ID: sai.SwitchAttrSrcMACAddress, Value: cfg.MAC},
		{ID: sai.SwitchAttrFDBEventNotify, Value: sai.Pointer(1)},
		{ID: sai.SwitchAttrPortStateChangeNotify, Value: sai.Pointer(1)},
		{ID: sai.SwitchAttrSwitchShutdownRequestNotify, Value: sai.Pointer(1)},
	})
	if err != nil {
		return nil, fmt.Errorf("create the switch: %w", err)
	}
	c := &chip{switchID: oid, unused: map[string]sai.OID{}}
	if err := c.readDefaults(ctx, api); err != nil {
		return nil, err
	}
	if err := c.readPorts(ctx, api); err != nil {
		return nil, err
	}
	members, err := getOIDs(ctx, api, sai.Obj(sai.ObjectTypeVLAN, c.vlan), sai.VLANAttrMemberList)
	if err != nil {
		return nil, fmt.Errorf("read the default VLAN's members: %w", err)
	}
	table := swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StatePortLimits)
	if err := c.limits.remember(ctx, table, len(members) > 0); err != nil {
		return nil, err
	}
	if err := c.removeDefaults(ctx, api, members, cfg.Found); err != nil {
		return nil, err
	}
	c.stats = portStats(ctx, api)
	return c, nil
}

func (c *chip) readDefaults(ctx context.Context, api sai.API) error {
	got, err := api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, c.switchID), []sai.Attr{
		sai.Want(sai.SwitchAttrCPUPort, 0),
		sai.Want(sai.SwitchAttrDefaultVLANID, 0),
		sai.Want(sai.SwitchAttrDefault1qBridgeID, 0),
	})
	if err != nil {
		return fmt.Errorf("read the switch's default objects: %w", err)
	}
	for i, to := range []*sai.OID{&c.cpu, &c.vlan, &c.bridge} {
		*to, _ = got[i].Value.(sai.OID)
	}
	return nil
}

func (c *chip) readPorts(ctx context.Context, api sai.API) error {
	ports, err := getOIDs(ctx, api, sai.Obj(sai.ObjectTypeSwitch, c.switchID), sai.SwitchAttrPortList)
	if err != nil {
		return fmt.Errorf("read the port list: %w", err)
	}
	for _, oid := range ports {
		lanes, err := c.readPort(ctx, api, sai.Obj(sai.ObjectTypePort, oid))
		if err != nil {
			return err
		}
		c.unused[laneKey(lanes)] = oid
		if err := c.limits.see(ctx, api, oid, lanes); err != nil {
			return err
		}
	}
	return nil
}

// parts contains the attributes of a port that name the objects created with the port.
var parts = []sai.AttrID{
	sai.PortAttrQoSQueueList, sai.PortAttrQoSSchedulerGroupList, sai.PortAttrIngressPriorityGroupList,
	sai.PortAttrPortSerdesID,
}

// readPort returns the lanes of a port. It also reads the names of the objects created with the port, without using
// them: SONiC's syncd removes objects of a port of a previous run that were not read while the new view was made. One
// call reads all. An ASIC that lacks an attribute refuses that call; then each attribute of each port has its own.
func (c *chip) readPort(ctx context.Context, api sai.API, port sai.Key) ([]uint32, error) {
	const lanes, objects = 8, 32 // capacities of the lists
	if !c.singly {
		want := []sai.Attr{sai.Want(sai.PortAttrHWLaneList, lanes)}
		for _, id := range parts {
			want = append(want, sai.Want(id, objects))
		}
		got, err := api.Get(ctx, port, want)
		if err == nil {
			return lanesIn(got[0].Value), nil
		}
		if _, answered := sai.StatusOf(err); !answered {
			return nil, fmt.Errorf("read the lanes of a port, and what came with it: %w", err)
		}
		c.singly = true
	}
	v, err := getList(ctx, api, port, sai.PortAttrHWLaneList, lanes)
	if err != nil {
		return nil, fmt.Errorf("read the lanes of a port: %w", err)
	}
	for _, id := range parts {
		_, err := getList(ctx, api, port, id, objects)
		if _, answered := sai.StatusOf(err); !answered {
			return nil, fmt.Errorf("read what came with a port: %w", err)
		}
	}
	return lanesIn(v), nil
}

// lanesIn converts the value of a port's lane list.
func lanesIn(v sai.Value) []uint32 {
	list, _ := v.(sai.Uints)
	lanes := make([]uint32, len(list))
	for i, l := range list {
		lanes[i] = uint32(l)
	}
	return lanes
}

// leftBridgePorts adds the bridge ports of unused ports that no member of the default VLAN refers to any more.
func (c *chip) leftBridgePorts(
	ctx context.Context, api sai.API, found func(context.Context, sai.ObjectType) ([]sai.OID, error), known []sai.OID,
) ([]sai.OID, error) {
	all, err := found(ctx, sai.ObjectTypeBridgePort)
	if err != nil {
		return nil, fmt.Errorf("list the default bridge ports: %w", err)
	}
	for _, bp := range all {
		if slices.Contains(known, bp) {
			continue
		}
		port, err := getOID(ctx, api, sai.Obj(sai.ObjectTypeBridgePort, bp), sai.BridgePortAttrPortID)
		if err != nil {
			return nil, fmt.Errorf("read the port of a default bridge port: %w", err)
		}
		if slices.Contains(slices.Collect(maps.Values(c.unused)), port) {
			known = append(known, bp)
		}
	}
	return known, nil
}

// removeDefaults removes the members of the default VLAN and the bridge ports of all ports. It does not read the
// bridge's port list: SONiC's virtual switch stops at that while a LAG is on the bridge, as after a restart. Members
// name their bridge ports. If a previous run ended after it removed only the members, found lists the remaining bridge
// ports. Nothing is removed in bulk, since SONiC's syncd loses bulk removals while a view is made.
func (c *chip) removeDefaults(
	ctx context.Context, api sai.API, members []sai.OID,
	found func(context.Context, sai.ObjectType) ([]sai.OID, error),
) (err error) {
	var bridgePorts []sai.OID
	for _, m := range members {
		bp, err := getOID(ctx, api, sai.Obj(sai.ObjectTypeVLANMember, m), sai.VLANMemberAttrBridgePortID)
		if err != nil {
			return fmt.Errorf("read the bridge port of a member of the default VLAN: %w", err)
		}
		if bp != sai.NullOID && !slices.Contains(bridgePorts, bp) {
			bridgePorts = append(bridgePorts, bp)
		}
	}
	if found != nil {
		if bridgePorts, err = c.leftBridgePorts(ctx, api, found, bridgePorts); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := api.Remove(ctx, sai.Obj(sai.ObjectTypeVLANMember, m)); err != nil {
			return fmt.Errorf("remove a member of the default VLAN: %w", err)
		}
	}
	for _, bp := range bridgePorts {
		if err := api.Remove(ctx, sai.Obj(sai.ObjectTypeBridgePort, bp)); err != nil {
			return fmt.Errorf("remove a default bridge port: %w", err)
		}
	}
	return nil
}

// getOID reads an attribute that is an object id.
func getOID(ctx context.Context, api sai.API, k sai.Key, id sai.AttrID) (sai.OID, error) {
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(id, 0)})
	if err != nil {
		return 0, err
	}
	oid, _ := got[0].Value.(sai.OID)
	return oid, nil
}

// getOIDs reads an object list of any length.
func getOIDs(ctx context.Context, api sai.API, k sai.Key, id sai.AttrID) ([]sai.OID, error) {
	v, err := getList(ctx, api, k, id, 128)
	if err != nil {
		return nil, err
	}
	list, _ := v.(sai.OIDs)
	return list, nil
}

// getList reads a list, first with a buffer for n items, then with a larger one if needed.
func getList(ctx context.Context, api sai.API, k sai.Key, id sai.AttrID, n int) (sai.Value, error) {
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
	if errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 {
		if n, ok := sai.ListLen(got[0].Value); ok {
			got, err = api.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
		}
	}
	if err != nil {
		return nil, err
	}
	return got[0].Value, nil
}
