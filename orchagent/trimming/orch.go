// Package trimming makes SWITCH_TRIMMING_TABLE of APPL_DB into attributes of the ASIC: how it cuts the packets that
// queues do not admit. It writes to STATE_DB what the ASIC can do, as SONiC's orchagent does, and makes syncd count the
// trimmed packets of the whole switch.
//
// As in SONiC, an attribute that the row does not have stays as it is, and so do all if the row is not valid or gone.
//
// What belongs here: what the whole switch has of trimming. Which queues trim belongs to package qos.
package trimming

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	Poller orch.Poller // polls the counters of the switch; nil means that they are not polled
}

// An Orch owns the attributes for trimming of the ASIC. All its methods run on the daemon's goroutine.
type Orch struct {
	api    sai.API
	log    *slog.Logger
	chip   sai.Key // the switch
	can    capabilities
	have   map[sai.AttrID]sai.Value // attributes as set in this run
	counts counters
}

// New reads what the ASIC can do, writes that to STATE_DB, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{api: cfg.SAI, log: cfg.Daemon.Logger(), chip: sai.Obj(sai.ObjectTypeSwitch, cfg.Switch),
		have: map[sai.AttrID]sai.Value{}}
	o.can = o.probe(ctx)
	if err := cfg.Daemon.Fix(ctx, schema.StateSwitchCap, schema.SwitchKey, o.can.fields()); err != nil {
		return nil, err
	}
	if err := o.counts.open(ctx, cfg); err != nil {
		return nil, err
	}
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, cfg.Redis.DB(swss.ApplDB), schema.AppTrimming)
	}, schema.AppTrimming, orch.Each(o.handle), orch.Reporting{StateTable: schema.AppTrimming})
	orch.ConsumeFlexGroups(cfg.Daemon, o.counts.flush, &o.counts.group)
	cfg.Daemon.AfterRows(o.counts.waits, o.counts.flush)
	cfg.Daemon.Every(o.counts.retry, func(ctx context.Context, _ time.Time) error { return o.counts.flush(ctx) })
	return o, nil
}

// handle applies the row. Without it, the ASIC stays as it is.
func (o *Orch) handle(ctx context.Context, t orch.Task) error {
	if t.Key != schema.TrimmingKey || t.Op != orch.Set {
		return nil
	}
	row, err := schema.ParseSwitchTrimming(t.Key, t.Fields)
	if err == nil {
		err = o.can.check(row)
	}
	if err != nil {
		return err
	}
	return o.apply(ctx, row)
}

// A setting is the value of an attribute that a field requests.
type setting struct {
	attr  sai.AttrID
	value sai.Value
	field string
	shown string // the field's value
}

// settings returns the attributes that a row sets, each after those on which its effect depends. As in SONiC, the
// traffic class is not set while the DSCP is a number.
func settings(row schema.SwitchTrimming) (list []setting) {
	fields := row.Fields()
	add := func(attr sai.AttrID, value sai.Value, field string) {
		list = append(list, setting{attr, value, field, fields[field]})
	}
	mode := func(s schema.TrimSetting, byWord, byNumber sai.Enum) sai.Enum {
		if s.ByWord {
			return byWord
		}
		return byNumber
	}
	if row.Size.Given {
		add(sai.SwitchAttrPacketTrimSize, sai.Uint(row.Size.Number), schema.FieldTrimSize)
	}
	if row.DSCP.Given {
		add(sai.SwitchAttrPacketTrimDSCPResolutionMode, mode(row.DSCP, sai.PacketTrimDSCPResolutionModeFromTC,
			sai.PacketTrimDSCPResolutionModeDSCPValue), schema.FieldTrimDSCP)
		if !row.DSCP.ByWord {
			add(sai.SwitchAttrPacketTrimDSCPValue, sai.Uint(row.DSCP.Number), schema.FieldTrimDSCP)
		}
	}
	if row.TC.Given && !symmetric(row) {
		add(sai.SwitchAttrPacketTrimTCValue, sai.Uint(row.TC.Number), schema.FieldTrimTC)
	}
	if row.Queue.Given {
		add(sai.SwitchAttrPacketTrimQueueResolutionMode, mode(row.Queue, sai.PacketTrimQueueResolutionModeDynamic,
			sai.PacketTrimQueueResolutionModeStatic), schema.FieldTrimQueue)
		if !row.Queue.ByWord {
			add(sai.SwitchAttrPacketTrimQueueIndex, sai.Uint(row.Queue.Number), schema.FieldTrimQueue)
		}
	}
	return list
}

// symmetric reports whether trimmed packets of all ports get one DSCP.
func symmetric(row schema.SwitchTrimming) bool { return row.DSCP.Given && !row.DSCP.ByWord }

// apply sets the attributes that differ. If a call fails, nothing changes.
func (o *Orch) apply(ctx context.Context, row schema.SwitchTrimming) error {
	var undo orch.Undo
	for _, s := range settings(row) {
		if o.have[s.attr] == s.value {
			continue
		}
		was := o.value(ctx, s.attr)
		if err := o.set(ctx, s.attr, s.value); err != nil {
			err = fmt.Errorf("set %s %s: %w", s.field, s.shown, err)
			if status, ok := sai.StatusOf(err); ok && orch.Refused(status) {
				err = fmt.Errorf("%s %q: the ASIC does not accept the value, want another: %w", s.field, s.shown, err)
			}
			return orch.Undone(ctx, &undo, err)
		}
		undo.Push(s.attr.String(), func(ctx context.Context) error { return o.set(ctx, s.attr, was) })
	}
	return nil
}

func (o *Orch) set(ctx context.Context, attr sai.AttrID, value sai.Value) error {
	delete(o.have, attr) // not known if the call fails
	if err := o.api.Set(ctx, o.chip, sai.Attr{ID: attr, Value: value}); err != nil {
		return err
	}
	o.have[attr] = value
	return nil
}

// value returns the value of an attribute in the ASIC. If it is not known, it returns SAI's default.
func (o *Orch) value(ctx context.Context, attr sai.AttrID) sai.Value {
	if v, ok := o.have[attr]; ok {
		return v
	}
	if got, err := o.api.Get(ctx, o.chip, []sai.Attr{sai.Want(attr, 0)}); err == nil && len(got) == 1 {
		return got[0].Value
	}
	return sai.Meta(attr).Default
}

// modeNames are SONiC's names of the two modes.
var modeNames = map[sai.AttrID]map[sai.Enum]string{
	sai.SwitchAttrPacketTrimDSCPResolutionMode: {
		sai.PacketTrimDSCPResolutionModeDSCPValue: "DSCP_VALUE", sai.PacketTrimDSCPResolutionModeFromTC: "FROM_TC"},
	sai.SwitchAttrPacketTrimQueueResolutionMode: {
		sai.PacketTrimQueueResolutionModeStatic: "STATIC", sai.PacketTrimQueueResolutionModeDynamic: "DYNAMIC"},
}

// capabilities are what the ASIC can do.
type capabilities struct {
	settable map[sai.AttrID]bool
	modes    map[sai.AttrID][]sai.Enum // sorted; nil if the ASIC does not report them
	// classes and queues are the numbers of traffic classes, and of queues for unicast of a port. They are 0 if the ASIC
	// does not report them.
	classes, queues uint32
}

// probe asks the ASIC what it can do.
func (o *Orch) probe(ctx context.Context) capabilities {
	c := capabilities{settable: map[sai.AttrID]bool{}, modes: map[sai.AttrID][]sai.Enum{}}
	for _, id := range []sai.AttrID{
		sai.SwitchAttrPacketTrimSize, sai.SwitchAttrPacketTrimDSCPResolutionMode, sai.SwitchAttrPacketTrimDSCPValue,
		sai.SwitchAttrPacketTrimTCValue, sai.SwitchAttrPacketTrimQueueResolutionMode, sai.SwitchAttrPacketTrimQueueIndex,
	} {
		can, err := o.api.AttrCapability(ctx, id)
		c.settable[id] = err == nil && can.Set
		if modeNames[id] == nil {
			continue
		}
		if modes, err := o.api.EnumCapability(ctx, id); err == nil {
			c.modes[id] = append([]sai.Enum{}, slices.Sorted(slices.Values(modes))...)
		}
	}
	c.classes = o.number(ctx, sai.SwitchAttrQoSMaxNumberOfTrafficClasses)
	c.queues = o.number(ctx, sai.SwitchAttrNumberOfUnicastQueues)
	return c
}

// number returns a number of the switch, or 0 if the ASIC does not report it.
func (o *Orch) number(ctx context.Context, id sai.AttrID) uint32 {
	if can, err := o.api.AttrCapability(ctx, id); err != nil || !can.Get {
		return 0
	}
	got, err := o.api.Get(ctx, o.chip, []sai.Attr{sai.Want(id, 0)})
	if err != nil || len(got) != 1 {
		return 0
	}
	n, _ := got[0].Value.(sai.Uint)
	return uint32(n)
}

// has reports whether an attribute can have a mode. An ASIC that does not report its modes may have all.
func (c capabilities) has(attr sai.AttrID, mode sai.Enum) bool {
	return c.modes[attr] == nil || slices.Contains(c.modes[attr], mode)
}

// lacks returns an attribute that the ASIC cannot set, but needs for trimming, as SONiC has it.
func (c capabilities) lacks() (attr sai.AttrID, lacks bool) {
	dscp, queue := sai.SwitchAttrPacketTrimDSCPResolutionMode, sai.SwitchAttrPacketTrimQueueResolutionMode
	for _, need := range []struct {
		attr sai.AttrID
		when bool
	}{
		{sai.SwitchAttrPacketTrimSize, true}, {dscp, true},
		{sai.SwitchAttrPacketTrimDSCPValue, c.has(dscp, sai.PacketTrimDSCPResolutionModeDSCPValue)},
		{sai.SwitchAttrPacketTrimTCValue, c.has(dscp, sai.PacketTrimDSCPResolutionModeFromTC)},
		{queue, true},
		{sai.SwitchAttrPacketTrimQueueIndex, c.has(queue, sai.PacketTrimQueueResolutionModeStatic)},
	} {
		if need.when && !c.settable[need.attr] {
			return need.attr, true
		}
	}
	return 0, false
}

// fields returns the fields of SWITCH_CAPABILITY.
func (c capabilities) fields() swss.FieldValues {
	modes := func(attr sai.AttrID) string {
		if c.modes[attr] == nil {
			return schema.SwitchHashUnknown
		}
		return strings.Join(c.names(attr), ",")
	}
	number := func(n uint32) string {
		if n == 0 {
			return schema.SwitchHashUnknown
		}
		return fmt.Sprint(n)
	}
	_, lacks := c.lacks()
	return swss.FieldValues{
		schema.FieldTrimmingCapable: fmt.Sprint(!lacks),
		schema.FieldTrimDSCPModes:   modes(sai.SwitchAttrPacketTrimDSCPResolutionMode),
		schema.FieldTrimQueueModes:  modes(sai.SwitchAttrPacketTrimQueueResolutionMode),
		schema.FieldTrafficClasses:  number(c.classes),
		schema.FieldUnicastQueues:   number(c.queues),
	}
}

// names returns SONiC's names of the modes that the ASIC has.
func (c capabilities) names(attr sai.AttrID) (names []string) {
	for _, m := range c.modes[attr] {
		if name, known := modeNames[attr][m]; known {
			names = append(names, name)
		}
	}
	return names
}

// check returns why the ASIC cannot have a row.
func (c capabilities) check(row schema.SwitchTrimming) error {
	if attr, lacks := c.lacks(); lacks {
		return fmt.Errorf("the ASIC cannot trim packets: it cannot set %s", attr)
	}
	for _, s := range settings(row) {
		mode, isMode := s.value.(sai.Enum)
		if isMode && !c.has(s.attr, mode) {
			return fmt.Errorf("%s %q: the ASIC does not support this mode, want %s",
				s.field, s.shown, strings.Join(c.names(s.attr), " or "))
		}
	}
	for _, n := range []struct {
		field, what string
		setting     schema.TrimSetting
		most        uint32
		counts      bool
	}{
		{schema.FieldTrimTC, "traffic classes", row.TC, c.classes, !symmetric(row)},
		{schema.FieldTrimQueue, "queues for unicast", row.Queue, c.queues, !row.Queue.ByWord},
	} {
		if n.setting.Given && n.counts && n.most > 0 && n.setting.Number >= n.most {
			return fmt.Errorf("%s \"%d\": the ASIC has %d %s, want 0..%d", n.field, n.setting.Number, n.most, n.what, n.most-1)
		}
	}
	return nil
}
