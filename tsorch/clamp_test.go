package tsorch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

const synsOfWeb = "dst-ip=10.0.0.1/32,src-port=80,protocol=6"

// clampSession writes a session with a clamp on a rule, as tammgrd writes it.
func (b *bench) clampSession(name, rule, records, filter string) {
	b.Set(schema.AppTAMTailStamp, name, "acl-table-name", "TAM", "acl-rule-name", rule, "clamp-mss", records,
		"clamp-filter", filter)
}

func clampCall(label string, records int, filter string) string {
	return fmt.Sprintf(
		`{"attributes":[{"clamp":{"sai_metadata":{"sai_attr_flags":"SAI_ATTR_FLAGS_CREATE_AND_SET",`+
			`"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_JSON"},`+
			`"value":{"label":%q,"records":%d,"filter":%q}}}]}`, label, records, filter)
}

// clampEntries returns the ENTRYs of the existing clamps, in order.
func (b *bench) clampEntries() (all []string) {
	for _, k := range b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable) {
		v, _ := sai.Find(b.Fake.Attrs(k), sai.GenericProgrammableAttrEntry)
		all = append(all, string(v.(sai.Bytes)))
	}
	slices.Sort(all)
	return all
}

// clampBench makes a switch that can clamp, with a flow group.
func clampBench(t testing.TB) *bench {
	b := newBench(t, saitest.Options{Extensions: []string{tailstamp.ObjectClamp, tailstamp.ObjectSYNs}})
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.Step()
	b.Rec.Reset()
	return b
}

// calls returns the calls on extension objects, and whether there were any other calls.
func (b *bench) calls() (all []string) {
	others := false
	for _, c := range b.Rec.Lines() {
		if parts := strings.SplitN(c, "|", 3); strings.Contains(c, "GENERIC_PROGRAMMABLE") {
			all = append(all, parts[0]+"|"+parts[1])
		} else if !others {
			all, others = append(all, "others"), true
		}
	}
	b.Rec.Reset()
	return all
}

func (b *bench) wantClamps(calls []string, entries ...string) {
	b.T.Helper()
	if got := b.calls(); !slices.Equal(got, calls) {
		b.T.Errorf("calls %q, want %q", got, calls)
	}
	if got := b.clampEntries(); !slices.Equal(got, entries) {
		b.T.Errorf("clamps\n%q, want\n%q", got, entries)
	}
}

// A clamp is created after everything else that a session needs. It is changed in place when its row changes, and
// removed first.
func TestClampFollowsItsRow(t *testing.T) {
	b := clampBench(t)
	const clamp = "SAI_OBJECT_TYPE_GENERIC_PROGRAMMABLE:oid:0x660000000"
	b.clampSession("s1", "web", "2", synsOfWeb)
	b.Step()
	b.wantSession("s1", "active")
	b.wantClamps([]string{"others", "c|" + clamp + "0"}, clampCall("s1", 2, synsOfWeb))
	b.clampSession("s1", "web", "3", synsOfWeb)
	b.Step()
	b.wantClamps([]string{"s|" + clamp + "0"}, clampCall("s1", 3, synsOfWeb))
	b.session("s1", "web") // session without a clamp
	b.Step()
	b.wantSession("s1", "active")
	b.wantClamps([]string{"r|" + clamp + "0"})
	b.clampSession("s1", "web", "1", synsOfWeb)
	b.session("s2", "web")
	b.Step()
	b.wantClamps([]string{"c|" + clamp + "1"}, clampCall("s1", 1, synsOfWeb))
	b.Del(schema.AppTAMTailStamp, "s2")
	b.Step()
	b.Del(schema.AppTAMTailStamp, "s1")
	b.Step()
	b.wantClamps([]string{"r|" + clamp + "1", "others"})
	featuretest.Empty(b.Bench, b.ts.Feature)
}

// Whichever call fails, the calls before it are undone, the status contains the reason, and the next attempt succeeds.
// A lack of capacity is a reason to wait.
func TestEveryFailureWithAClampIsUndone(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusInsufficientResources} {
		for n := 1; ; n++ {
			b := clampBench(t)
			before := b.Content()
			b.Rec.FailAt(n, status)
			b.clampSession("s1", "web", "2", synsOfWeb)
			b.Step()
			if b.Status(schema.StateTAMTailStamp+"|s1") == "active" {
				if n < 11 {
					t.Errorf("only %d calls", n-1)
				}
				break
			}
			compare(t, fmt.Sprintf("%s at call %d: ASIC", status, n), b.Content(), before)
			b.wantSession("s1", status.String())
			featuretest.Whole(b.Bench, b.ts.Feature)
			b.Rec.FailAt(0, 0)
			b.clampSession("s1", "web", "2", synsOfWeb)
			b.Step()
			b.wantSession("s1", "active")
		}
	}
}

// Whichever call of a change or a removal fails, the orch still has a record of every object. Once calls succeed,
// everything is removed. The clamp is removed even without another event.
func TestEveryFailureOfChangesOfClamps(t *testing.T) {
	for n := 1; ; n++ {
		b := clampBench(t)
		b.clampSession("s1", "web", "2", synsOfWeb)
		b.Step()
		b.Rec.Reset()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.clampSession("s1", "web", "3", synsOfWeb)
		b.Step()
		b.session("s1", "web")
		b.Step()
		b.clampSession("s1", "web", "4", synsOfWeb)
		b.Step()
		b.Del(schema.AppTAMTailStamp, "s1")
		b.Step()
		featuretest.Whole(b.Bench, b.ts.Feature)
		done := b.Rec.Changes() < n
		b.Rec.FailAt(0, 0)
		b.Now = b.Now.Add(feature.TryAgain)
		b.Step()
		if got := b.clampEntries(); len(got) > 0 {
			t.Errorf("call %d failed, and a second later there are %q", n, got)
		}
		b.session("s1", "web") // objects that all sessions share are removed when the next session is removed
		b.Step()
		b.Del(schema.AppTAMTailStamp, "s1")
		b.Step()
		b.Del(schema.AppACLRule, "TAM:web")
		b.Step()
		for _, k := range b.Fake.Created() {
			if k.Type != sai.ObjectTypeHostif {
				t.Errorf("call %d failed, and %s stays", n, k)
			}
		}
		featuretest.Empty(b.Bench, b.ts.Feature)
		if done {
			break
		}
	}
}

// A session whose clamp cannot be made and whose entry cannot be removed is tried again a second later.
func TestClampThatCannotBeUndone(t *testing.T) {
	refuses := false
	b := newBenchOn(t, saitest.Options{Extensions: []string{tailstamp.ObjectClamp}}, func(api sai.API) sai.API {
		return &sai.Gate{API: api, Refuse: func(_ context.Context, op sai.Op, t sai.ObjectType) error {
			if refuses && (t == sai.ObjectTypeGenericProgrammable || t == sai.ObjectTypeACLEntry && op == sai.OpRemove) {
				return sai.StatusFailure
			}
			return nil
		}}
	})
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	refuses = true
	b.clampSession("s1", "web", "2", synsOfWeb)
	b.Step()
	b.wantSession("s1", "failed: create the clamp of the maximum segment size")
	b.wantSession("s1", "and undoing the steps before it failed")
	featuretest.Whole(b.Bench, b.ts.Feature)
	refuses = false
	b.Now = b.Now.Add(feature.TryAgain)
	b.Step()
	b.wantSession("s1", "active")
	if got := b.clampEntries(); len(got) != 1 {
		t.Errorf("clamps %q", got)
	}
}

// The row of a session that clamps contains the counts of SYN segments. Other rows do not.
func TestClampCounters(t *testing.T) {
	var w *featuretest.Extensions[int]
	b := newBenchOn(t, saitest.Options{Extensions: []string{tailstamp.ObjectClamp, tailstamp.ObjectSYNs}},
		func(api sai.API) sai.API {
			w = &featuretest.Extensions[int]{API: api, Objects: map[sai.OID]*featuretest.Extension[int]{}}
			return w
		})
	w.Read = func(x *featuretest.Extension[int]) (sai.Bytes, error) {
		labels, err := feature.Value[[]string](x.Entry, tailstamp.AttrLabels)
		if err != nil {
			return nil, err
		}
		var words []int
		for range labels {
			words = append(words, 10, 1, 2, 3, 4, 5, 6)
		}
		return featuretest.Entry(map[string]any{tailstamp.AttrCounters: words})
	}
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.clampSession("s1", "web", "2", synsOfWeb)
	b.session("s2", "web")
	b.Step()
	b.count("web", "11", "2222")
	poll := func() {
		t.Helper()
		if err := b.ts.PollCounters(b.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	poll()
	want := swss.FieldValues{"MATCHED_PACKETS": "11", "MATCHED_BYTES": "2222", "SYNS": "10", "SYNS_CLAMPED": "1",
		"SYNS_SMALL":       "2",
		"SYNS_WITHOUT_MSS": "3", "SYNS_MALFORMED": "4", "SYNS_CUT": "5", "SYNS_NO_ROOM": "6"}
	b.wantCounters("s1", want)
	b.wantCounters("s2", swss.FieldValues{"MATCHED_PACKETS": "11", "MATCHED_BYTES": "2222"})
	b.session("s1", "web")
	b.Step()
	poll()
	b.wantCounters("s1", swss.FieldValues{"MATCHED_PACKETS": "11", "MATCHED_BYTES": "2222"})
}
