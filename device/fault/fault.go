package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/swss"
)

// A Kind is a kind of fault, as written in rows.
type Kind string

// The kinds of faults.
const (
	SAIFail             Kind = "sai-fail"
	SAIDelay            Kind = "sai-delay"
	NotificationsLose   Kind = "notifications-lose"
	NotificationsDouble Kind = "notifications-double"
	RedisPause          Kind = "redis-pause"
	RedisSlow           Kind = "redis-slow"
	RedisFull           Kind = "redis-full"
	RedisEmpty          Kind = "redis-empty"
	ClockStep           Kind = "clock-step"
)

// The clocks that can be set.
const (
	ChipClock = "chip" // the chip's time of day, used for marks and stamps
	HostClock = "host" // the kernel's clock, as the chip reads it to rate its own
)

// AllDBs, given as a database, means all databases that tamtam works on.
const AllDBs swss.DBName = "all"

// databases lists the databases that can be emptied.
var databases = []swss.DBName{
	swss.ConfigDB, swss.ApplDB, swss.ASICDB, swss.StateDB, swss.CountersDB, swss.FlexCounterDB,
}

// Limits of faults. The limit for a pause of Redis is short, since nothing can end a pause early.
const (
	MostFor   = time.Hour
	MostPause = time.Minute
	MostDelay = 30 * time.Second // maximum delay of a SAI call, since orchagent waits only for a minute
	MostSlow  = 2 * time.Second
	MostStep  = 24 * time.Hour
	most      = 1_000_000 // limit for counts
)

// UsualFor is the default duration of a fault.
const UsualFor = time.Minute

// A Fault is a request for a fault. Each kind uses some of the fields.
type Fault struct {
	Kind   Kind
	For    time.Duration  // the fault ends after this time
	Count  int            // number of affected calls or messages after which the fault ends; 0 means no limit
	Every  int            // it affects every n-th call or message only; 0 means each
	Op     sai.Op         // the affected calls; 0 means all
	Type   sai.ObjectType // the affected object types; 0 means all
	Status sai.Status     // the status that affected calls return
	Delay  time.Duration  // delay of a SAI call, or longest delay of a Redis command
	Of     string         // notifications, see [Rules.Notified] and [Rules.Delivered], "" means all; or the clock
	DB     swss.DBName    // a database or AllDBs
	Step   time.Duration  // time by which a clock is set forward, or back if negative
}

// Fields of a fault's row.
const (
	fieldKind   = "kind"
	fieldFor    = "for"
	fieldCount  = "count"
	fieldEvery  = "every"
	fieldOp     = "op"
	fieldType   = "type"
	fieldStatus = "status"
	fieldDelay  = "delay"
	fieldOf     = "of"
	fieldDB     = "db"
	fieldStep   = "step"
)

// fields lists the fields of each kind.
var fields = map[Kind][]string{
	SAIFail:             {fieldFor, fieldCount, fieldEvery, fieldOp, fieldType, fieldStatus},
	SAIDelay:            {fieldFor, fieldCount, fieldEvery, fieldOp, fieldType, fieldDelay},
	NotificationsLose:   {fieldFor, fieldCount, fieldEvery, fieldOf},
	NotificationsDouble: {fieldFor, fieldCount, fieldEvery, fieldOf},
	RedisPause:          {fieldFor},
	RedisSlow:           {fieldFor, fieldDelay},
	RedisFull:           {fieldFor},
	RedisEmpty:          {fieldDB},
	ClockStep:           {fieldFor, fieldStep, fieldOf},
}

// Kinds returns the kinds of faults, sorted.
func Kinds() (all []Kind) {
	for kind := range fields {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

// longest is the longest value of a field that is parsed.
const longest = 128

// Parse reads the row of a fault. An error contains the field, its value, and what would be valid.
func Parse(row swss.FieldValues) (Fault, error) {
	f := Fault{Kind: Kind(row[fieldKind])}
	known, ok := fields[f.Kind]
	if !ok {
		return Fault{}, fmt.Errorf("fault: kind %.40q, want one of %v", row[fieldKind], Kinds())
	}
	for name, value := range row {
		if name == fieldKind {
			continue
		}
		if !slices.Contains(known, name) {
			return Fault{}, fmt.Errorf("fault %s: field %.40q, want %s", f.Kind, name, strings.Join(known, ", "))
		}
		if len(value) > longest {
			return Fault{}, fmt.Errorf("fault %s: %s has %d bytes, want at most %d", f.Kind, name, len(value), longest)
		}
		if want := f.set(name, value); want != "" {
			return Fault{}, fmt.Errorf("fault %s: %s %q, want %s", f.Kind, name, value, want)
		}
	}
	return f, f.Complete()
}

// set parses a field. If the value is invalid, it returns what would be valid.
func (f *Fault) set(name, value string) (want string) {
	ok := true
	switch name {
	case fieldFor:
		f.For, ok = duration(value, time.Millisecond, f.mostFor())
		want = fmt.Sprintf("a time from 1ms to %v", f.mostFor())
	case fieldCount:
		f.Count, ok = number(value)
		want = fmt.Sprintf("1 to %d", most)
	case fieldEvery:
		f.Every, ok = number(value)
		want = fmt.Sprintf("1 to %d", most)
	case fieldOp:
		f.Op, ok = ParseOp(value)
		want = "one of " + strings.Join(Ops(), ", ")
	case fieldType:
		f.Type, ok = ParseType(value)
		want = "an object type of SAI, such as acl-entry"
	case fieldStatus:
		f.Status, ok = ParseStatus(value)
		want = "a status of SAI that is an error, such as TABLE_FULL"
	case fieldDelay:
		longest := MostDelay
		if f.Kind == RedisSlow {
			longest = MostSlow
		}
		f.Delay, ok = duration(value, time.Millisecond, longest)
		want = fmt.Sprintf("a time from 1ms to %v", longest)
	case fieldOf:
		f.Of, ok = value, f.Kind != ClockStep || value == ChipClock || value == HostClock
		want = ChipClock + " or " + HostClock
	case fieldDB:
		f.DB = swss.DBName(value)
		ok = f.DB == AllDBs || slices.Contains(databases, f.DB)
		want = fmt.Sprintf("one of %v, or %s", databases, AllDBs)
	case fieldStep:
		f.Step, ok = duration(value, -MostStep, MostStep)
		ok = ok && f.Step != 0
		want = fmt.Sprintf("a time up to %v, as +2s or -2s", MostStep)
	}
	if ok {
		return ""
	}
	return want
}

func (f *Fault) mostFor() time.Duration {
	if f.Kind == RedisPause {
		return MostPause
	}
	return MostFor
}

// Complete sets defaults, or returns an error for missing fields. A fault must be complete before it is injected.
func (f *Fault) Complete() error {
	has := func(field string) bool { return slices.Contains(fields[f.Kind], field) }
	lacks := func(field, want string) error {
		return fmt.Errorf("fault %s: %s is missing, want %s", f.Kind, field, want)
	}
	if has(fieldFor) && f.For == 0 {
		f.For = UsualFor
	}
	switch {
	case has(fieldStatus) && f.Status == 0:
		f.Status = sai.StatusFailure
	case has(fieldDelay) && f.Delay == 0:
		return lacks(fieldDelay, "a time")
	case has(fieldDB) && f.DB == "":
		return lacks(fieldDB, fmt.Sprintf("one of %v, or %s", databases, AllDBs))
	case has(fieldStep) && f.Step == 0:
		return lacks(fieldStep, "a time, as +2s or -2s")
	case f.Kind == ClockStep && f.Of == "":
		f.Of = ChipClock
	}
	return nil
}

// Row returns the fault as a row, which [Parse] reads.
func (f Fault) Row() swss.FieldValues {
	row := swss.FieldValues{fieldKind: string(f.Kind)}
	put := func(name, value string, there bool) {
		if there {
			row[name] = value
		}
	}
	put(fieldFor, f.For.String(), f.For != 0)
	put(fieldCount, strconv.Itoa(f.Count), f.Count != 0)
	put(fieldEvery, strconv.Itoa(f.Every), f.Every != 0)
	put(fieldOp, opWord(f.Op), f.Op != 0)
	put(fieldType, f.Type.String(), f.Type != 0)
	put(fieldStatus, f.Status.String(), f.Status != 0)
	put(fieldDelay, f.Delay.String(), f.Delay != 0)
	put(fieldOf, f.Of, f.Of != "")
	put(fieldDB, string(f.DB), f.DB != "")
	put(fieldStep, f.Step.String(), f.Step != 0)
	return row
}

func duration(text string, least, most time.Duration) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= least && d <= most
}

func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most
}

// Counts reports whether the fault affects calls or messages, which can be counted.
func (f Fault) Counts() bool { return slices.Contains(fields[f.Kind], fieldCount) }

// String describes the fault.
func (f Fault) String() string {
	text := f.does()
	if f.Every > 1 {
		text += fmt.Sprintf(", every %d", f.Every)
	}
	return text
}

func (f Fault) does() string {
	calls := "SAI calls"
	if f.Op != 0 {
		calls = "SAI " + opWord(f.Op)
	}
	if f.Type != 0 {
		calls += " of " + f.Type.String()
	}
	notifications := "notifications"
	if f.Of != "" {
		notifications += " " + strconv.Quote(f.Of)
	}
	switch f.Kind {
	case SAIFail:
		return calls + ": " + f.Status.String()
	case SAIDelay:
		return fmt.Sprintf("%s: %v late", calls, f.Delay)
	case NotificationsLose:
		return notifications + " are lost"
	case NotificationsDouble:
		return notifications + " come twice"
	case RedisPause:
		return "Redis is paused"
	case RedisSlow:
		return fmt.Sprintf("Redis answers up to %v late", f.Delay)
	case RedisFull:
		return "Redis is full"
	case RedisEmpty:
		if f.DB == AllDBs {
			return "all databases were emptied"
		}
		return string(f.DB) + " was emptied"
	case ClockStep:
		return fmt.Sprintf("the clock of the %s is set by %s", f.Of, signed(f.Step))
	}
	return string(f.Kind)
}

// signed returns a time with its sign.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
