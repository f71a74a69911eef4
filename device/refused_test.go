package device_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// oneOfEach returns a switch that can have one session of each feature; all features are inactive. The variant
// chooses the role in IFA, and the collector and flow group of the drop monitor.
func oneOfEach(variant uint64) device.ConfigDB {
	c := devicetest.AllFeatures()
	for _, row := range c[schema.CfgTAMFeature] {
		row["status"] = "INACTIVE"
	}
	delete(c[schema.CfgTAMFlyMonTask], "a")
	delete(c, schema.CfgTAMFlyMonQuery)
	drops := []swss.FieldValues{{"collector@": "d"}, {"collector@": "h"},
		{"collector@": "d", "flow_group": "FG1"}}[variant%3]
	hops := []swss.FieldValues{
		{"role": schema.IFATransit}, {"role": schema.IFAInitiator, "flow_group": "FG2", "sampler": "third"},
		{"role": schema.IFATerminator, "flow_group": "FG2", "collector@": "d"},
	}[variant%3]
	drops["type"], drops["report_type"], hops["type"] = "drop-monitor", "ipfix", schema.SessionIFA
	rule := swss.FieldValues{"src_ip_prefix": "10.1.1.0/24", "dst_ip_prefix": "20.2.2.0/24", "ip_protocol": "17"}
	return devicetest.Merge(c, device.ConfigDB{
		schema.CfgTAMDevice:  {schema.TAMDeviceKey: {"device-id": "7"}},
		schema.CfgTAMSampler: {"third": {"sampling-rate": "3"}},
		schema.CfgTAMDestination: {
			"d": {"dst_ip": "10.8.0.2", "dst_port": "4740"}, "h": {"dst_ip": "10.8.0.3", "dst_port": "4740", "vrf": "mgmt"},
		},
		schema.CfgTAMGroup: {
			"FG1": {"aging_interval": "1000", "ports@": "Ethernet0"}, "FG1|RULE1": rule, "FG2|RULE1": rule,
			"FG2": {"aging_interval": "1000"},
		},
		schema.CfgTAMSession: {"drops": drops, "hops": hops},
	})
}

// A createGate rejects the creation of objects of a type, and counts the objects that are created and stay.
type createGate struct {
	refused sai.ObjectType // rejected type; zero means that no type is rejected
	status  sai.Status
	stay    map[sai.ObjectType]int
}

func (g *createGate) sai(next sai.API) sai.API {
	return &sai.Gate{API: next, Refuse: func(_ context.Context, op sai.Op, t sai.ObjectType) error {
		switch {
		case op == sai.OpRemove:
			g.stay[t]--
		case op == sai.OpCreate && t == g.refused:
			return &sai.CallError{Op: "create", Type: t, Status: g.status}
		case op == sai.OpCreate:
			g.stay[t]++
		}
		return nil
	}}
}

// made lists the types of the objects that stay.
func (g *createGate) made() (types []sai.ObjectType) {
	for _, t := range slices.Sorted(maps.Keys(g.stay)) {
		if g.stay[t] > 0 {
			types = append(types, t)
		}
	}
	return types
}

// The response to activating a feature names the object that the switch rejects, for any object and any kind of
// rejection. When the switch creates the object later, the feature is active.
func TestActivationIsAnsweredWithRefusal(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 3, Short: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0xac71))
		statuses := []sai.Status{
			sai.StatusNotSupported, sai.StatusNotImplemented, sai.StatusFailure, sai.StatusInvalidParameter,
			sai.StatusAttrNotSupported0, sai.StatusInvalidAttrValue0, sai.StatusInsufficientResources,
		}
		gate := &createGate{stay: map[sai.ObjectType]int{}}
		s := devicetest.NewSim(t, device.SimConfig{Config: oneOfEach(seed), Common: daemons.Common{Backend: gate.sai}})
		devicetest.RunUntilIdle(t, s)
		turn := func(feature, status string) swss.FieldValues {
			t.Helper()
			foundRow{swss.ConfigDB, schema.CfgTAMFeature + "|" + feature, swss.FieldValues{"status": status}}.write(t, s)
			devicetest.RunUntilIdle(t, s)
			row := devicetest.Row(t, s.Redis, swss.StateDB, schema.StateTAMFeature, feature)
			return row
		}
		for _, feature := range schema.Features() {
			clear(gate.stay)
			gate.refused = 0
			if row := turn(feature, "ACTIVE"); row[schema.FieldOpStatus] != schema.FeatureActive ||
				row[schema.FieldReason] != "" {
				t.Fatalf("feature %s is %v", feature, row)
			}
			types := gate.made()
			for _, gate.refused = range types {
				turn(feature, "INACTIVE")
				gate.status = statuses[rnd.IntN(len(statuses))]
				row := turn(feature, "ACTIVE")
				if row[schema.FieldOpStatus] == schema.FeatureActive ||
					!strings.Contains(row[schema.FieldReason], gate.status.String()) {
					t.Errorf("%s of %s refused: feature %s is %v", gate.status, gate.refused, feature, row)
				}
			}
			if len(types) == 0 {
				t.Errorf("feature %s has created nothing", feature)
			}
			turn(feature, "INACTIVE")
		}
	})
}
