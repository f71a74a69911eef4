package tsorch

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// windows answers register reads of counters. Word w of a label is the length of the label times 10^w.
type windows struct {
	featuretest.Extensions[struct{}]
	asked, most int // number of reads, and largest number of labels in one read
}

func newWindows(api sai.API) *windows {
	w := &windows{}
	w.API, w.Objects, w.Read = api, map[sai.OID]*featuretest.Extension[struct{}]{}, w.say
	w.Accept = func(*featuretest.Extension[struct{}], feature.Values) error { w.asked++; return nil }
	return w
}

func (w *windows) say(x *featuretest.Extension[struct{}]) (sai.Bytes, error) {
	labels, err := feature.Value[[]string](x.Entry, tailstamp.AttrLabels)
	if err != nil {
		return nil, err
	}
	w.most = max(w.most, len(labels))
	var words []int
	for _, l := range labels {
		for i, n := 0, len(l); i < tailstamp.CounterWords; i, n = i+1, 10*n {
			words = append(words, n)
		}
	}
	return featuretest.Entry(map[string]any{tailstamp.AttrLabels: labels, tailstamp.AttrCounters: words})
}

// newCounterBench makes a bench with the session s1 on the flow group web, and syncd's counts of its ACL counter.
func newCounterBench(t *testing.T, opts saitest.Options) (*bench, *windows) {
	var w *windows
	b := newBenchOn(t, opts, func(next sai.API) sai.API {
		w = newWindows(next)
		return w
	})
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.session("s1", "web")
	b.Step()
	b.count("web", "11", "2222")
	return b, w
}

// count writes an ACL counter as syncd does.
func (b *bench) count(rule, packets, octets string) {
	b.T.Helper()
	oid := b.Row(swss.CountersDB, schema.CountersACLRuleMap, "")["TAM:"+rule]
	if oid == "" {
		b.T.Fatalf("no counter of %s", rule)
	}
	err := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersTable).Set(b.Ctx, oid, swss.FieldValues{
		"SAI_ACL_COUNTER_ATTR_PACKETS": packets, "SAI_ACL_COUNTER_ATTR_BYTES": octets,
	})
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *bench) wantCounters(session string, want swss.FieldValues) {
	b.T.Helper()
	if got := b.Row(swss.CountersDB, schema.CountersTailStamp, session); !maps.Equal(got, want) {
		b.T.Errorf("counters of %s = %v, want %v", session, got, want)
	}
}

// The row of a session contains the values of the register read, which are all from one instant, not syncd's earlier
// values of the ACL counter. The timer writes it at the interval of the ACL counters.
func TestCounters(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectCounters}})
	want := swss.FieldValues{
		"MATCHED_PACKETS": "600000", "MATCHED_BYTES": "6000000", "STAMPED_PACKETS": "6", "NOT_STAMPED_NOT_TCP_UDP": "60",
		"NOT_STAMPED_NOT_ETHERNET_II": "600", "NOT_STAMPED_CUT": "6000", "NOT_STAMPED_MTU": "60000",
	}
	b.wantCounters("s1", swss.FieldValues{})
	b.Now = b.Now.Add(b.acl.PollInterval())
	b.Step()
	b.wantCounters("s1", want)
	if live := b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable); len(live) > 0 {
		t.Errorf("windows stay: %v", live)
	}
	b.session("s2", "web") // session that shares the flow group, and so its counts
	b.Step()
	if err := b.ts.PollCounters(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.wantCounters("s2", want)
	b.Del(schema.AppTAMTailStamp, "s1")
	b.Step()
	b.wantCounters("s1", swss.FieldValues{})
}

// If another client deletes or changes rows, the daemon writes them again. Rows that another client created are
// deleted.
func TestChangedRowsReturn(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectCounters}})
	b.session("s2", "web")
	b.Step()
	if err := b.ts.PollCounters(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want := b.Row(swss.CountersDB, schema.CountersTailStamp, "s1")
	table := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersTailStamp)
	err := errors.Join(
		table.Del(b.Ctx, "s1"), table.Set(b.Ctx, "s2", swss.FieldValues{"STAMPED_PACKETS": "5", "X": "1"}),
		table.Set(b.Ctx, "s3", swss.FieldValues{"STAMPED_PACKETS": "5"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.Now = b.Now.Add(time.Second)
		if err := b.Daemon.Compare(b.Ctx, b.Now); err != nil {
			t.Fatal(err)
		}
	}
	b.wantCounters("s1", want)
	b.wantCounters("s2", want)
	b.wantCounters("s3", swss.FieldValues{})
}

// The result of a register read is valid even if its object cannot be removed. The removal is tried again a second
// later.
func TestWindowStays(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectCounters}})
	b.Rec.FailAt(2, sai.StatusFailure) // the removal of the object fails
	if err := b.ts.PollCounters(b.Ctx); err != nil {
		t.Error(err)
	}
	if got := b.Row(swss.CountersDB, schema.CountersTailStamp, "s1")["STAMPED_PACKETS"]; got != "6" {
		t.Errorf("stamped %q", got)
	}
	b.Now = b.Now.Add(time.Second)
	b.Step()
	if live := b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable); len(live) > 0 {
		t.Errorf("windows stay: %v", live)
	}
}

// Without the register read, the row contains only the values of the ACL counter.
func TestCountersOfOtherSilicon(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{})
	if err := b.ts.PollCounters(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.wantCounters("s1", swss.FieldValues{"MATCHED_PACKETS": "11", "MATCHED_BYTES": "2222"})
}

// A counter that syncd has not written, or has written badly, has no value in the row: it is not 0, and not the last
// known value either.
func TestUnknownCounters(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{})
	poll := func(want swss.FieldValues) {
		t.Helper()
		if err := b.ts.PollCounters(b.Ctx); err != nil {
			t.Fatal(err)
		}
		b.wantCounters("s1", want)
	}
	poll(swss.FieldValues{"MATCHED_PACKETS": "11", "MATCHED_BYTES": "2222"})
	b.count("web", "12", "-")
	poll(swss.FieldValues{"MATCHED_PACKETS": "12"})
	oid := b.Row(swss.CountersDB, schema.CountersACLRuleMap, "")["TAM:web"]
	if err := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersTable).Del(b.Ctx, oid); err != nil {
		t.Fatal(err)
	}
	poll(swss.FieldValues{})
	b.count("web", "13", "3000")
	poll(swss.FieldValues{"MATCHED_PACKETS": "13", "MATCHED_BYTES": "3000"})
}

// While the ASIC does not return the counters, the row has those of the last reading, and the status of the session
// has the reason.
func TestCountersCannotBeRead(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectCounters}})
	poll := func(status string) {
		t.Helper()
		if err := b.ts.PollCounters(b.Ctx); err != nil {
			t.Fatal(err)
		}
		b.Step()
		if got := b.Status(schema.StateTAMTailStamp + "|s1"); !strings.HasPrefix(got, status) ||
			strings.Contains(got, "counters") != strings.Contains(status, "counters") {
			t.Errorf("status %q, want %q", got, status)
		}
		if got := b.Row(swss.CountersDB, schema.CountersTailStamp, "s1")["STAMPED_PACKETS"]; got != "6" {
			t.Errorf("stamped %q", got)
		}
	}
	poll("active")
	b.Rec.FailAt(1, sai.StatusFailure)
	poll("active: its counters are old, since they cannot be read: ")
	poll("active")
}

// A clear by an operator stays valid across a restart, for the same counted object. It does not apply to a session of
// another rule, or to a session that is deleted and created again.
func TestClearedOnceOnly(t *testing.T) {
	b, _ := newCounterBench(t, saitest.Options{})
	b.rule("other", "L4_DST_PORT", "1")
	db := b.Redis.DB(swss.CountersDB)
	key := schema.CountersTailStamp + db.Separator() + "s1"
	for _, tt := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"as it was", func() {}, true},
		{"restarted", func() { b.restart(); b.agent.Apply() }, true},
		{"of another rule", func() { b.session("s1", "other") }, false},
		{"deleted and made again", func() { b.Del(schema.AppTAMTailStamp, "s1"); b.Step(); b.session("s1", "other") }, false},
	} {
		if err := db.Client().HSet(b.Ctx, schema.CountersCleared, key, "{}").Err(); err != nil {
			t.Fatal(err)
		}
		tt.change()
		b.Step()
		if err := b.ts.PollCounters(b.Ctx); err != nil {
			t.Fatal(err)
		}
		if got := db.Client().HExists(b.Ctx, schema.CountersCleared, key).Val(); got != tt.want {
			t.Errorf("%s: it holds: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A register read has at most 128 labels.
func TestManyLabels(t *testing.T) {
	b, w := newCounterBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectCounters}})
	for i := range 300 {
		b.rule(fmt.Sprintf("flow%d", i), "L4_DST_PORT", fmt.Sprint(i+1))
		b.session(fmt.Sprintf("f%d", i), fmt.Sprintf("flow%d", i))
	}
	b.Step()
	if err := b.ts.PollCounters(b.Ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.Row(swss.CountersDB, schema.CountersTailStamp, "f299")["STAMPED_PACKETS"]; got != "10" { // session f299
		t.Errorf("stamped %s", got)
	}
	if w.most != tailstamp.MaxLabels || w.asked != 3 {
		t.Errorf("%d windows of up to %d labels", w.asked, w.most)
	}
}

func FuzzParseWindow(f *testing.F) {
	f.Add([]byte(`{"attributes":[{"labels":{"value":["a"]}},{"counters":{"value":[1,2,3,4,5,6,7,8]}}]}`), 1)
	f.Add([]byte(`{"attributes":[{"counters":{"value":[1]}}]}`), 1)
	f.Add([]byte(`{}`), 0)
	f.Add([]byte(`[`), 2)
	f.Fuzz(func(t *testing.T, text []byte, labels int) {
		values, err := feature.ParseEntry(text)
		if err != nil {
			return
		}
		words, err := counted(tailstamp.ObjectCounters, tailstamp.CounterWords).Parse(values, labels)
		if err == nil && len(words) != labels {
			t.Errorf("%d words for %d labels", len(words), labels)
		}
	})
}
