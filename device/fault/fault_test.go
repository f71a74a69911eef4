package fault

import (
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
)

// Each kind of fault has a row form that parses to the same fault.
func TestRows(t *testing.T) {
	for _, f := range []Fault{
		{Kind: SAIFail, For: time.Minute, Count: 3, Every: 2, Op: sai.OpCreate, Type: sai.ObjectTypeACLEntry,
			Status: sai.StatusTableFull},
		{Kind: SAIDelay, For: time.Hour, Op: sai.OpQuery, Delay: 200 * time.Millisecond},
		{Kind: NotificationsLose, For: time.Second, Of: "fdb_event"},
		{Kind: NotificationsDouble, For: time.Second, Count: 1},
		{Kind: RedisPause, For: MostPause},
		{Kind: RedisSlow, For: time.Minute, Delay: MostSlow},
		{Kind: RedisFull, For: time.Millisecond},
		{Kind: RedisEmpty, DB: swss.StateDB},
		{Kind: RedisEmpty, DB: AllDBs},
		{Kind: ClockStep, For: time.Minute, Step: -MostStep, Of: HostClock},
	} {
		if got, err := Parse(f.Row()); err != nil || got != f {
			t.Errorf("%v: %+v, %v", f.Row(), got, err)
		}
	}
}

// Missing fields get their defaults, and SAI's names may be abbreviated.
func TestUsual(t *testing.T) {
	for _, tt := range []struct {
		row  swss.FieldValues
		want Fault
		says string
	}{
		{swss.FieldValues{"kind": "sai-fail"}, Fault{Kind: SAIFail, For: UsualFor, Status: sai.StatusFailure},
			"SAI calls: SAI_STATUS_FAILURE"},
		{
			swss.FieldValues{"kind": "sai-fail", "op": "remove", "type": "acl-entry", "status": "table-full", "every": "3"},
			Fault{Kind: SAIFail, For: UsualFor, Op: sai.OpRemove, Type: sai.ObjectTypeACLEntry, Status: sai.StatusTableFull,
				Every: 3},
			"SAI remove of SAI_OBJECT_TYPE_ACL_ENTRY: SAI_STATUS_TABLE_FULL, every 3",
		},
		{
			swss.FieldValues{"kind": "sai-delay", "op": "any", "type": "SAI_OBJECT_TYPE_PORT", "delay": "1s"},
			Fault{Kind: SAIDelay, For: UsualFor, Type: sai.ObjectTypePort, Delay: time.Second},
			"SAI calls of SAI_OBJECT_TYPE_PORT: 1s late",
		},
		{swss.FieldValues{"kind": "clock-step", "step": "2s"}, Fault{Kind: ClockStep, For: UsualFor, Step: 2 * time.Second,
			Of: ChipClock}, "the clock of the chip is set by +2s"},
	} {
		if got, err := Parse(tt.row); err != nil || got != tt.want || got.String() != tt.says {
			t.Errorf("%v: %+v, %v: %s", tt.row, got, err, got)
		}
	}
}

// Invalid rows are rejected with the field, the value and what would be valid.
func TestRefusedRows(t *testing.T) {
	for want, row := range map[string]swss.FieldValues{
		`kind "", want one of [clock-step`:                 {},
		`kind "fire", want one of`:                         {"kind": "fire"},
		`field "delay", want for, count`:                   {"kind": "sai-fail", "delay": "1s"},
		`for "forever", want a time from 1ms to 1h`:        {"kind": "sai-fail", "for": "forever"},
		`for "61m", want a time from 1ms to 1h`:            {"kind": "redis-full", "for": "61m"},
		`for "61s", want a time from 1ms to 1m0s`:          {"kind": "redis-pause", "for": "61s"},
		`for "-1s", want a time`:                           {"kind": "redis-pause", "for": "-1s"},
		`for "0s", want a time`:                            {"kind": "redis-pause", "for": "0s"},
		`count "0", want 1 to`:                             {"kind": "sai-fail", "count": "0"},
		`every "-2", want 1 to`:                            {"kind": "sai-fail", "every": "-2"},
		`op "explode", want one of any, create`:            {"kind": "sai-fail", "op": "explode"},
		`type "teapot", want an object type`:               {"kind": "sai-fail", "type": "teapot"},
		`status "SUCCESS", want a status of SAI`:           {"kind": "sai-fail", "status": "SUCCESS"},
		`delay "31s", want a time from 1ms to 30s`:         {"kind": "sai-delay", "delay": "31s"},
		`delay "3s", want a time from 1ms to 2s`:           {"kind": "redis-slow", "delay": "3s"},
		`delay is missing`:                                 {"kind": "sai-delay"},
		`db "LOGLEVEL_DB", want one of [CONFIG_DB`:         {"kind": "redis-empty", "db": "LOGLEVEL_DB"},
		`db is missing`:                                    {"kind": "redis-empty"},
		`step "0s", want a time up to 24h0m0s, as +2s`:     {"kind": "clock-step", "step": "0s"},
		`step is missing`:                                  {"kind": "clock-step"},
		`of "mars", want chip or host`:                     {"kind": "clock-step", "step": "1s", "of": "mars"},
		`of has 129 bytes, want at most 128`:               {"kind": "notifications-lose", "of": strings.Repeat("x", 129)},
		`field "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"`: {"kind": "redis-full", strings.Repeat("x", 5000): ""},
	} {
		if f, err := Parse(row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, %v, want %s", row, f, err, want)
		}
	}
}

// Any request or row gives an error, or a fault within its limits whose row is the same fault.
func FuzzRow(f *testing.F) {
	for _, text := range []string{
		`["kind","sai-fail","op","create","type","acl-entry","count","2"]`, `["kind","sai-delay","delay","1s","for","1m"]`,
		`["kind","redis-empty","db","all"]`, `["kind","clock-step","step","-1.5h","of","host"]`,
		`["kind","redis-full","from","2026-01-01T00:00:00Z","until","2026-01-01T00:01:00Z","hits","3","over","cleared"]`,
		`["kind"]`, `{}`, ``, `["kind","sai-fail","status","SAI_STATUS_INVALID_ATTRIBUTE_9"]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseInjected("syncd", "1", text); err == nil && (n.From.IsZero() || n.Hits < 0) {
			t.Errorf("%q: %+v", text, n)
		}
		pairs, err := swss.DecodeFields(text)
		if err != nil {
			return
		}
		row := swss.FieldValues{}
		for _, p := range pairs {
			row[p.Field] = p.Value
		}
		fault, err := Parse(row)
		if err != nil {
			return
		}
		if again, err := Parse(fault.Row()); err != nil || again != fault {
			t.Errorf("%v: %+v, again %+v, %v", row, fault, again, err)
		}
		if fault.For < 0 || fault.For > MostFor || fault.For == 0 && fault.Kind != RedisEmpty {
			t.Errorf("%v: not bounded in time: %+v", row, fault)
		}
	})
}
