package device

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/device/fault"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A feature that is activated is answered with what the switch refuses to create, whichever object of it that is and
// however it is refused; when the switch makes it after all, the feature is active.
func TestActivationIsAnsweredWithRefusal(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 6}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0xac71))
		types := []sai.ObjectType{sai.ObjectTypeTAMInt, sai.ObjectTypeACLEntry, sai.ObjectTypeACLCounter}
		statuses := []sai.Status{
			sai.StatusNotSupported, sai.StatusNotImplemented, sai.StatusFailure, sai.StatusInvalidParameter,
			sai.StatusAttrNotSupported0, sai.StatusInvalidAttrValue0, sai.StatusInsufficientResources,
		}
		refused := fault.Fault{
			Kind: fault.SAIFail, Op: sai.OpCreate, Type: types[rnd.IntN(len(types))],
			Status: statuses[rnd.IntN(len(statuses))], For: fault.MostFor,
		}
		faults := fault.NewRules(time.Now)
		config := both(twoPorts(), ConfigDB{schema.CfgTAMFeature: {schema.FeatureTailStamping: {"status": "INACTIVE"}}})
		s := testSim(t, SimConfig{Config: config, Common: Common{Backend: faults.SAI}})
		settle(t, s)
		addFault(t, faults, refused)
		status := func(what, want string) {
			t.Helper()
			state := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMFeature)
			row, _, err := state.Get(t.Context(), schema.FeatureTailStamping)
			if err != nil {
				t.Fatal(err)
			}
			first := "the first is s: "
			if want == "" {
				first = ""
			}
			is, reason := row[schema.FieldOpStatus], row[schema.FieldReason]
			if (is == schema.FeatureActive) != (want == "") || !strings.Contains(reason, want) ||
				!strings.Contains(reason, first) {
				t.Errorf("%s, %s of %s: the feature is %v", what, refused.Status, refused.Type, row)
			}
		}
		turn := func(status string) {
			t.Helper()
			foundRow{swss.ConfigDB, "TAM_FEATURES_TABLE|TAILSTAMPING", swss.FieldValues{"status": status}}.write(t, s)
			settle(t, s)
		}
		turn("ACTIVE")
		status("refused", refused.Status.String())
		turn("INACTIVE")
		faults.Clear()
		turn("ACTIVE")
		status("accepted", "")
	})
}
