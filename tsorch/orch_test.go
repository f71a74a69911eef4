package tsorch

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

var web = []string{"SRC_IP", "10.0.0.1", "L4_DST_PORT", "80"}

// activeBench makes a bench with one session that is bound.
func activeBench(t testing.TB) *bench {
	b := newBench(t, saitest.Options{})
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.session("s1", "web")
	b.Step()
	b.Rec.Reset()
	return b
}

// Whichever call fails, the calls before it are undone, the status contains the reason, and the next attempt succeeds.
func TestEveryFailureIsUndone(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t, saitest.Options{})
			b.activate()
			b.tamTable()
			b.rule("web", append(web, "L4_SRC_PORT_RANGE", "1000-2000")...)
			b.Step()
			before := b.Content()
			b.Rec.FailAt(n, status)
			b.session("s1", "web")
			b.Step()
			if b.Status(schema.StateTAMTailStamp+"|s1") == "active" {
				if n < 10 {
					t.Errorf("only %d calls", n-1)
				}
				break
			}
			compare(t, fmt.Sprintf("%s at call %d: ASIC", status, n), b.Content(), before)
			featureName := "UNSUPPORTED: 1 of 1 sessions are refused by the switch, the first is s1: "
			if status == sai.StatusTableFull {
				b.wantSession("s1", "pending: ")
				featureName = "INSUFFICIENT_RESOURCES: 1 of 1 sessions do not fit into the switch, the first is s1: "
			} else {
				b.wantSession("s1", "failed: ")
			}
			b.wantSession("s1", status.String())
			b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, featureName)
			b.Rec.FailAt(0, 0)
			b.session("s1", "web")
			b.Step()
			b.wantSession("s1", "active")
			b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, "ACTIVE")
		}
	}
}

// Whichever call of a change or a removal fails, the orch still has a record of every object. Once calls succeed,
// everything is removed.
func TestEveryFailureOfChangesAndRemovals(t *testing.T) {
	for n := 1; ; n++ {
		b := activeBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.rule("web", "SRC_IP", "10.0.0.2", "L4_DST_PORT_RANGE", "1-2")
		b.Step()
		b.Del(schema.AppTAMTailStamp, "s1")
		b.Step()
		done := b.Rec.Changes() < n
		b.Rec.FailAt(0, 0)
		b.session("s1", "web")
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

func TestUnsupported(t *testing.T) {
	b := newBench(t, saitest.Options{Unsupported: []sai.AttrID{sai.ACLEntryAttrActionTAMIntObject}})
	row := b.Row(swss.StateDB, schema.StateSwitchCap, "switch")
	if row["tam-tailstamping-capable"] != "false" || !strings.Contains(row["tam-tailstamping-reason"],
		"SAI_ACL_ENTRY_ATTR_ACTION_TAM_INT_OBJECT") {
		t.Errorf("SWITCH_CAPABILITY|switch = %v", row)
	}
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.session("s1", "web")
	b.Step()
	b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: the switch does not implement")
	b.wantSession("s1", "failed: the switch does not implement")
	b.WantCalls()
}
