package trimming

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A chip is an ASIC with 8 traffic classes and 10 queues for unicast, that may lack a part of trimming.
type chip struct {
	sai.API
	lacks  []sai.AttrID // attributes that it cannot set
	modes  []sai.Enum   // modes that it lacks, by number
	silent bool         // it does not report modes and numbers
}

func (c *chip) AttrCapability(ctx context.Context, id sai.AttrID) (sai.Capability, error) {
	can, err := c.API.AttrCapability(ctx, id)
	can.Set = can.Set && !slices.Contains(c.lacks, id)
	can.Get = can.Get && !c.silent
	return can, err
}

func (c *chip) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	if c.silent {
		return nil, sai.StatusNotSupported
	}
	all, err := c.API.EnumCapability(ctx, id)
	return slices.DeleteFunc(slices.Clone(all), func(m sai.Enum) bool { return slices.Contains(c.modes, m) }), err
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	switch want[0].ID {
	case sai.SwitchAttrQoSMaxNumberOfTrafficClasses:
		return []sai.Attr{{ID: want[0].ID, Value: sai.Uint(8)}}, nil
	case sai.SwitchAttrNumberOfUnicastQueues:
		return []sai.Attr{{ID: want[0].ID, Value: sai.Uint(10)}}, nil
	}
	return c.API.Get(ctx, k, want)
}

type bench struct {
	*orchtest.Bench
	sw sai.OID
}

func newBench(t *testing.T, c chip) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1})}
	b.sw, _ = b.CreateSwitch()
	c.API = b.Rec
	_, err := New(b.Ctx, Config{SAI: &c, Daemon: b.Daemon, Redis: b.Redis, Switch: b.sw, Poller: b.Poller})
	if err != nil {
		t.Fatal(err)
	}
	b.Step()
	b.Rec.Reset()
	return b
}

// row writes the row, and returns the attributes that it set, such as "SIZE=100".
func (b *bench) row(fields string) (calls string) {
	b.T.Helper()
	b.Rec.Reset()
	b.Del(schema.AppTrimming, schema.TrimmingKey)
	b.Write(schema.AppTrimming + ":" + schema.TrimmingKey + " " + fields)
	b.Step()
	var list []string
	for _, c := range b.Calls() {
		_, set, _ := strings.Cut(c, "PACKET_TRIM_")
		if set = strings.ReplaceAll(set, "SAI_PACKET_TRIM_DSCP_RESOLUTION_MODE_", ""); set != "" {
			list = append(list, strings.ReplaceAll(set, "SAI_PACKET_TRIM_QUEUE_RESOLUTION_MODE_", ""))
		}
	}
	return strings.Join(list, " ")
}

// A row sets the attributes that differ, the mode before its value. What is not in the row stays, and the traffic class
// is not set while the DSCP is a number, as in SONiC.
func TestSettings(t *testing.T) {
	b := newBench(t, chip{})
	for _, tt := range []struct{ row, want string }{
		{"size=100 dscp_value=10 queue_index=1",
			"SIZE=100 DSCP_RESOLUTION_MODE=DSCP_VALUE DSCP_VALUE=10 QUEUE_RESOLUTION_MODE=STATIC QUEUE_INDEX=1"},
		{"size=100 dscp_value=10 queue_index=1", ""},
		{"size=200 dscp_value=20 queue_index=dynamic", "SIZE=200 DSCP_VALUE=20 QUEUE_RESOLUTION_MODE=DYNAMIC"},
		{"size=200 dscp_value=20 queue_index=dynamic tc_value=5", ""},
		{"size=200 dscp_value=from-tc queue_index=dynamic tc_value=5", "DSCP_RESOLUTION_MODE=FROM_TC TC_VALUE=5"},
		{"size=200 dscp_value=20 queue_index=1 tc_value=6",
			"DSCP_RESOLUTION_MODE=DSCP_VALUE QUEUE_RESOLUTION_MODE=STATIC"},
		{"size=200 dscp_value=FROM-TC queue_index=1 tc_value=5", "DSCP_RESOLUTION_MODE=FROM_TC"},
		{"tc_value=0", "TC_VALUE=0"},
	} {
		got := b.row(tt.row)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.row, got, tt.want)
		}
		b.WantStatus(schema.AppTrimming, schema.TrimmingKey, "active")
	}
	b.Rec.Reset()
	b.Del(schema.AppTrimming, schema.TrimmingKey)
	b.Step()
	if calls := b.Calls(); len(calls) > 0 {
		t.Errorf("without the row: %q", calls)
	}
}

// What the ASIC cannot do is refused with field, value and what it can do. Nothing changes then.
func TestRefused(t *testing.T) {
	dscpModes := []sai.Enum{sai.PacketTrimDSCPResolutionModeFromTC}
	for _, tt := range []struct {
		chip     chip
		row, why string
	}{
		{chip{}, "size=100 dscp_value=from-tc tc_value=8",
			`tc_value "8": the ASIC has 8 traffic classes, want 0..7`},
		{chip{}, "size=100 queue_index=10", `queue_index "10": the ASIC has 10 queues for unicast, want 0..9`},
		{chip{modes: dscpModes}, "dscp_value=from-tc size=9", "the ASIC does not support this mode, want DSCP_VALUE"},
		{chip{lacks: []sai.AttrID{sai.SwitchAttrPacketTrimSize}}, "size=100",
			"the ASIC cannot trim packets: it cannot set SAI_SWITCH_ATTR_PACKET_TRIM_SIZE"},
		{chip{}, "size=x", `size "x": want a number in 0..4294967295`},
	} {
		b := newBench(t, tt.chip)
		if got := b.row(tt.row); got != "" {
			t.Errorf("%s: sets %q", tt.row, got)
		}
		if got := b.Status(schema.AppTrimming + "|GLOBAL"); !strings.HasPrefix(got, "failed: ") ||
			!strings.Contains(got, tt.why) {
			t.Errorf("%s: %s, want %s", tt.row, got, tt.why)
		}
	}
	// A traffic class that does not count is no error, nor is any number of an ASIC that does not report its own.
	for row, c := range map[string]chip{
		"size=100 dscp_value=1 tc_value=200": {}, "dscp_value=from-tc tc_value=200 queue_index=99": {silent: true},
	} {
		b := newBench(t, c)
		b.row(row)
		b.WantStatus(schema.AppTrimming, schema.TrimmingKey, "active")
	}
}

// If a call fails, the calls before it are undone, and the row has the error. It is applied when it is written again.
func TestEveryCallFails(t *testing.T) {
	const before = "size=100 dscp_value=10 queue_index=1"
	const after = "size=200 dscp_value=from-tc tc_value=2 queue_index=dynamic"
	for n := 1; n <= 4; n++ {
		b := newBench(t, chip{})
		b.row(before)
		was := b.asic()
		b.Rec.Reset()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Set(schema.AppTrimming, schema.TrimmingKey, "size", "200", "dscp_value", "from-tc", "tc_value", "2",
			"queue_index", "dynamic")
		b.Step()
		if got := b.Status(schema.AppTrimming + "|GLOBAL"); !strings.HasPrefix(got, "failed: set ") || b.asic() != was {
			t.Errorf("call %d: %s, %s, want %s", n, got, b.asic(), was)
		}
		b.row(after)
		b.WantStatus(schema.AppTrimming, schema.TrimmingKey, "active")
		if got := b.asic(); got == was {
			t.Errorf("call %d: %s", n, got)
		}
	}
}

// asic returns the attributes of the ASIC.
func (b *bench) asic() string {
	var list []string
	for _, id := range []sai.AttrID{
		sai.SwitchAttrPacketTrimSize, sai.SwitchAttrPacketTrimDSCPResolutionMode, sai.SwitchAttrPacketTrimDSCPValue,
		sai.SwitchAttrPacketTrimTCValue, sai.SwitchAttrPacketTrimQueueResolutionMode, sai.SwitchAttrPacketTrimQueueIndex,
	} {
		list = append(list, fmt.Sprint(b.Attr(sai.Obj(sai.ObjectTypeSwitch, b.sw), id)))
	}
	return strings.Join(list, " ")
}

// STATE_DB has what the ASIC can do, in SONiC's words.
func TestCapabilities(t *testing.T) {
	for _, tt := range []struct {
		chip chip
		want string
	}{
		{chip{}, "true DSCP_VALUE,FROM_TC STATIC,DYNAMIC 8 10"},
		{chip{silent: true}, "true N/A N/A N/A N/A"},
		{chip{lacks: []sai.AttrID{sai.SwitchAttrPacketTrimTCValue}}, "false DSCP_VALUE,FROM_TC STATIC,DYNAMIC 8 10"},
		{chip{lacks: []sai.AttrID{sai.SwitchAttrPacketTrimTCValue}, modes: []sai.Enum{1}}, "true DSCP_VALUE STATIC 8 10"},
		{chip{modes: []sai.Enum{0, 1}}, "true   8 10"},
	} {
		row := newBench(t, tt.chip).Row(swss.StateDB, schema.StateSwitchCap, schema.SwitchKey)
		got := strings.Join([]string{row[schema.FieldTrimmingCapable], row[schema.FieldTrimDSCPModes],
			row[schema.FieldTrimQueueModes], row[schema.FieldTrafficClasses], row[schema.FieldUnicastQueues]}, " ")
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.chip.lacks, got, tt.want)
		}
	}
}

// The statistics of the switch are polled under SONiC's names, at SONiC's interval.
func TestSwitchCounters(t *testing.T) {
	b := newBench(t, chip{})
	name := schema.FlexSwitch + "_STAT_COUNTER"
	if b.Poller.Count(name) != 1 || schema.DefaultPoll(schema.FlexSwitch) != time.Minute {
		t.Errorf("%d objects are polled", b.Poller.Count(name))
	}
	got := b.Row(swss.CountersDB, schema.CountersSwitchNameMap, "")
	if len(got) != 1 || got["ASIC"] != b.sw.String() {
		t.Errorf("the switch is called %v", got)
	}
}
