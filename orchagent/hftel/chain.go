package hftel

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
)

// The names that SONiC's countersyncd listens for.
const (
	netlinkFamily = "sonic_stel"
	netlinkGroup  = "ipfix"
)

// A chain holds the objects that connect streams with the switch, and with a group of generic netlink on the host. They
// exist as long as there is a stream.
type chain struct {
	api       sai.API
	sw        sai.OID
	whole     *feature.SwitchTAM
	hostif    sai.OID
	trap      sai.OID
	entry     sai.OID
	transport sai.OID
	collector sai.OID
	tam       sai.OID
	notifies  bool
	telemetry map[string]*telemetry // by profile
}

// A telemetry is the TAM_TELEMETRY of a profile.
type telemetry struct {
	oid   sai.OID
	types sai.OIDs
}

// add connects a telemetry type.
func (c *chain) add(ctx context.Context, profile string, telType sai.OID) error {
	if err := c.build(ctx); err != nil {
		return err
	}
	t := c.telemetry[profile]
	if t == nil {
		oid, err := c.api.Create(ctx, sai.ObjectTypeTAMTelemetry,
			[]sai.Attr{{ID: sai.TAMTelemetryAttrCollectorList, Value: sai.OIDs{c.collector}}})
		if err != nil {
			return err
		}
		t = &telemetry{oid: oid}
		c.telemetry[profile] = t
		if err := c.list(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(t.types, telType) {
		return nil
	}
	return c.setTypes(ctx, t, append(slices.Clone(t.types), telType))
}

func (c *chain) setTypes(ctx context.Context, t *telemetry, types sai.OIDs) error {
	err := c.api.Set(ctx, sai.Obj(sai.ObjectTypeTAMTelemetry, t.oid),
		sai.Attr{ID: sai.TAMTelemetryAttrTAMTypeList, Value: types})
	if err == nil {
		t.types = types
	}
	return err
}

// list binds the telemetry objects of all profiles to the TAM object.
func (c *chain) list(ctx context.Context) error {
	all := sai.OIDs{}
	for _, profile := range slices.Sorted(maps.Keys(c.telemetry)) {
		all = append(all, c.telemetry[profile].oid)
	}
	return c.api.Set(ctx, sai.Obj(sai.ObjectTypeTAM, c.tam), sai.Attr{ID: sai.TAMAttrTelemetryObjectsList, Value: all})
}

// build makes the objects that all streams share, in SONiC's order.
func (c *chain) build(ctx context.Context) error {
	none := sai.IP{Addr: netip.IPv4Unspecified()}
	for _, x := range []struct {
		oid   *sai.OID
		t     sai.ObjectType
		attrs func() []sai.Attr
	}{
		{&c.hostif, sai.ObjectTypeHostif, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.HostifAttrType, Value: sai.HostifTypeGenetlink}, {ID: sai.HostifAttrOperStatus, Value: sai.Bool(true)},
				{ID: sai.HostifAttrName, Value: sai.Text(netlinkFamily)},
				{ID: sai.HostifAttrGenetlinkMcgrpName, Value: sai.Text(netlinkGroup)},
			}
		}},
		{&c.trap, sai.ObjectTypeHostifUserDefinedTrap, func() []sai.Attr {
			return []sai.Attr{{ID: sai.HostifUserDefinedTrapAttrType, Value: sai.HostifUserDefinedTrapTypeTAM}}
		}},
		{&c.entry, sai.ObjectTypeHostifTableEntry, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.HostifTableEntryAttrType, Value: sai.HostifTableEntryTypeTrapID},
				{ID: sai.HostifTableEntryAttrTrapID, Value: c.trap},
				{ID: sai.HostifTableEntryAttrChannelType, Value: sai.HostifTableEntryChannelTypeGenetlink},
				{ID: sai.HostifTableEntryAttrHostIf, Value: c.hostif},
			}
		}},
		{&c.transport, sai.ObjectTypeTAMTransport, func() []sai.Attr {
			return []sai.Attr{{ID: sai.TAMTransportAttrTransportType, Value: sai.TAMTransportTypeNone}}
		}},
		{&c.collector, sai.ObjectTypeTAMCollector, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.TAMCollectorAttrSrcIP, Value: none}, {ID: sai.TAMCollectorAttrDstIP, Value: none},
				{ID: sai.TAMCollectorAttrTransport, Value: c.transport},
				{ID: sai.TAMCollectorAttrLocalhost, Value: sai.Bool(true)},
				{ID: sai.TAMCollectorAttrHostifTrap, Value: c.trap}, {ID: sai.TAMCollectorAttrDSCPValue, Value: sai.Uint(0)},
			}
		}},
		{&c.tam, sai.ObjectTypeTAM, func() []sai.Attr {
			return []sai.Attr{{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}}}
		}},
	} {
		if *x.oid != sai.NullOID {
			continue
		}
		attrs := x.attrs()
		oid, err := c.api.Create(ctx, x.t, attrs)
		if err != nil {
			return orch.AtAttr(err, x.t, attrs)
		}
		*x.oid = oid
	}
	if err := c.whole.Add(ctx, c.tam); err != nil || c.notifies {
		return err
	}
	err := c.api.Set(ctx, sai.Obj(sai.ObjectTypeSwitch, c.sw),
		sai.Attr{ID: sai.SwitchAttrTAMTelTypeConfigChangeNotify, Value: sai.Pointer(1)})
	c.notifies = err == nil
	return err
}

// remove disconnects a telemetry type. What no other stream needs is removed.
func (c *chain) remove(ctx context.Context, profile string, telType sai.OID) error {
	if t := c.telemetry[profile]; t != nil {
		types := slices.DeleteFunc(slices.Clone(t.types), func(x sai.OID) bool { return x == telType })
		if len(types) != len(t.types) {
			if err := c.setTypes(ctx, t, types); err != nil {
				return err
			}
		}
		if len(types) > 0 {
			return nil
		}
		delete(c.telemetry, profile)
		err := c.list(ctx)
		if err == nil {
			err = remove(ctx, c.api, sai.ObjectTypeTAMTelemetry, &t.oid)
		}
		if err != nil {
			c.telemetry[profile] = t
			return err
		}
	}
	if len(c.telemetry) > 0 {
		return nil
	}
	if err := c.whole.Remove(ctx, c.tam); err != nil {
		return err
	}
	for _, x := range []struct {
		oid *sai.OID
		t   sai.ObjectType
	}{
		{&c.tam, sai.ObjectTypeTAM}, {&c.collector, sai.ObjectTypeTAMCollector}, {&c.transport, sai.ObjectTypeTAMTransport},
		{&c.entry, sai.ObjectTypeHostifTableEntry}, {&c.trap, sai.ObjectTypeHostifUserDefinedTrap},
		{&c.hostif, sai.ObjectTypeHostif},
	} {
		if err := remove(ctx, c.api, x.t, x.oid); err != nil {
			return err
		}
	}
	return nil
}
