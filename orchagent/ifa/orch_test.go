package ifa

import (
	"context"
	"strings"
	"testing"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	"tamtam/orchagent/dropmonitor"
	"tamtam/orchagent/orchagenttest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// sender makes a report and a collector for each session, without routes.
type sender struct {
	api     sai.API
	changes orch.Topic[struct{}]
	err     error // error that Reachable returns
}

func (x *sender) SendTo(context.Context, map[string][]string) {}
func (x *sender) CollectorChanges() *orch.Topic[struct{}]     { return &x.changes }
func (x *sender) Reachable([]string) (note string, err error) { return "", x.err }

func (x *sender) Open(ctx context.Context, _ string, _ []string, _ uint32) (*dropmonitor.Sender, error) {
	report, err := x.api.Create(ctx, sai.ObjectTypeTAMReport, []sai.Attr{
		{ID: sai.TAMReportAttrType, Value: sai.TAMReportTypeIPFIX}})
	return &dropmonitor.Sender{Report: report, Collectors: sai.OIDs{}}, err
}

func (x *sender) Follow(context.Context, string, *dropmonitor.Sender) bool { return x.err == nil }

func (x *sender) Close(ctx context.Context, s *dropmonitor.Sender) error {
	if s.Report == sai.NullOID {
		return nil
	}
	err := x.api.Remove(ctx, sai.Obj(sai.ObjectTypeTAMReport, s.Report))
	if err == nil {
		s.Report = sai.NullOID
	}
	return err
}

func (x *sender) Sent(context.Context, *dropmonitor.Sender) (map[string]uint64, error) {
	return nil, nil
}

// A bench is an orchagent with ports, ACLs and IFA, on a fake ASIC.
type bench struct {
	*orchtest.Bench
	world  *orchagenttest.World
	sender *sender
	orch   *Orch
	whole  sai.Key // the switch
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, func(api sai.API) sai.API { return api })
}

func newBenchOn(t *testing.T, on func(sai.API) sai.API) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 1}), world: &orchagenttest.World{}}
	a := orchagenttest.Start(b.Bench)
	b.sender = &sender{api: b.Rec}
	cfg := a.Config
	cfg.SAI, b.whole = on(b.Rec), sai.Obj(sai.ObjectTypeSwitch, cfg.Switch)
	b.orch = orchagenttest.Make(a, New, Config{
		Config: cfg, Identity: b.world, Whole: &feature.SwitchTAM{SAI: b.Rec, Switch: cfg.Switch}, Rules: a.ACL,
		Reports: b.sender, Paths: new(orch.Topic[struct{}]), Ports: a.Ports.Changes(),
	})
	orchagenttest.WritePorts(b.Bench, 1)
	b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
	orchagenttest.WriteTAMTable(b.Bench)
	b.Set(schema.AppACLRule, "TAM:web", "PRIORITY", "100", "L4_DST_PORT", "80")
	a.Apply(b.orch)
	b.Rec.Reset()
	return b
}

func (b *bench) device(fields ...string) {
	b.T.Helper()
	b.Set(schema.AppTAMDevice, schema.TAMDeviceKey, fields...)
	b.Step()
}

// wantTransit checks how the status begins, and that the switch is a transit with that device id, or no transit if it
// is 0.
func (b *bench) wantTransit(status string, device uint64) {
	b.T.Helper()
	if got := b.Status(schema.StateTAMDevice + "|" + schema.TAMDeviceKey); !strings.HasPrefix(got, status) {
		b.T.Errorf("status %q, want %q", got, status)
	}
	objects := b.Rec.LiveOf(sai.ObjectTypeTAMInt)
	bound, _ := b.Attr(b.whole, sai.SwitchAttrTAMObjectID).(sai.OIDs)
	if device == 0 {
		if len(objects)+len(b.Rec.LiveOf(sai.ObjectTypeTAM))+len(bound) > 0 {
			b.T.Errorf("%v stay, bound %v", objects, bound)
		}
		return
	}
	if len(objects) != 1 || len(bound) != 1 || b.Attr(objects[0], sai.TAMIntAttrDeviceID) != sai.Uint(device) {
		b.T.Errorf("objects %v, bound %v, want one of device %d", objects, bound, device)
	}
}

// Whichever call fails, nothing is left behind, and the row is in force once it is written again.
func TestEveryFailureIsUndone(t *testing.T) {
	for n := 1; n <= 3; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.device("ifa", "true", "device-id", "5")
		b.wantTransit("failed: transit of IFA", 0)
		b.Rec.FailAt(0, 0)
		b.device("ifa", "true", "device-id", "5")
		b.wantTransit("active", 5)
	}
}

// older is a chip without IFA.
type older struct{ sai.API }

func (o older) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	if id == sai.TAMIntAttrType {
		return []sai.Enum{sai.TAMIntTypeIfa1Tailstamp}, nil
	}
	return o.API.EnumCapability(ctx, id)
}

// A chip without IFA receives no calls, and the status contains the reason.
func TestUnsupported(t *testing.T) {
	b := newBenchOn(t, func(api sai.API) sai.API { return older{api} })
	b.device("ifa", "true", "device-id", "5")
	b.wantTransit("failed: ifa: the switch does not implement SAI_TAM_INT_TYPE_IFA2", 0)
	b.device("ifa", "false")
	b.wantTransit("active", 0)
}

// session makes a session of the flow group web.
func (b *bench) session(role string, fields ...string) {
	b.T.Helper()
	b.Set(schema.AppTAMIFA, "s", append([]string{"role", role, "acl-table-name", "TAM", "acl-rule-names", "web"},
		fields...)...)
	b.Step()
}

// wantSession checks how the status of the session begins, and how many objects of some types exist.
func (b *bench) wantSession(status string, ints, samplers, reports, entries int) {
	b.T.Helper()
	if got := b.Status(schema.StateTAMIFA + "|s"); !strings.HasPrefix(got, status) || status == "" && got != "" {
		b.T.Errorf("status %q, want %q", got, status)
	}
	for t, want := range map[sai.ObjectType]int{
		sai.ObjectTypeTAMInt: ints, sai.ObjectTypeSamplepacket: samplers, sai.ObjectTypeTAMReport: reports,
		sai.ObjectTypeACLEntry: entries,
	} {
		if got := b.Rec.LiveOf(t); len(got) != want {
			b.T.Errorf("%d objects of %s, want %d", len(got), t, want)
		}
	}
}

// If a call fails while a session is created, nothing of the session is left behind, and it is in force once calls
// succeed. If a call fails while it is removed, it is removed a little later.
func TestEveryFailureOfASessionIsUndone(t *testing.T) {
	for n := 1; n <= 8; n++ {
		b := newBench(t)
		b.device("device-id", "9")
		b.Rec.FailAt(n, sai.StatusFailure)
		b.session("terminator", "collector", "c", "sampling-rate", "8")
		b.Rec.FailAt(0, 0)
		if got := b.Status(schema.StateTAMIFA + "|s"); !strings.HasPrefix(got, "active") {
			b.wantSession("failed", 0, 0, 0, 0)
		}
		b.session("terminator", "collector", "c", "sampling-rate", "8")
		b.wantSession("active", 1, 1, 1, 1)
		b.Rec.Reset()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Del(schema.AppTAMIFA, "s")
		b.Step()
		b.Rec.FailAt(0, 0)
		b.Pass(2 * feature.TryAgain)
		b.wantSession("", 0, 0, 0, 0)
	}
}
