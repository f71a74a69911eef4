package ifa

import (
	"context"
	"strings"
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/tamorch"
)

// ids are those of a switch.
type ids struct {
	now     schema.TAMSwitchInUse
	changes orch.Topic[struct{}]
}

func (x *ids) InUse() schema.TAMSwitchInUse { return x.now }

func (x *ids) IDChanges() *orch.Topic[struct{}] { return &x.changes }

type bench struct {
	*orchtest.Bench
	ids *ids
	sw  sai.OID
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, func(api sai.API) sai.API { return api })
}

func newBenchOn(t *testing.T, on func(sai.API) sai.API) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1}), ids: &ids{}}
	b.sw, _ = b.CreateSwitch()
	_, err := New(b.Ctx, Config{
		Config: tamorch.Config{SAI: on(b.Rec), Daemon: b.Daemon, Redis: b.Redis, Switch: b.sw}, Identity: b.ids,
		Whole: &tamorch.SwitchTAM{SAI: b.Rec, Switch: b.sw},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Rec.Reset()
	return b
}

func (b *bench) device(fields ...string) {
	b.T.Helper()
	b.Set(schema.AppTAMDevice, schema.TAMDeviceKey, fields...)
	b.Step()
}

// wantTransit wants the status to begin so, and the switch to be a transit of a device id; 0: none.
func (b *bench) wantTransit(status string, device uint64) {
	b.T.Helper()
	if got := b.Status(schema.StateTAMDevice + "|" + schema.TAMDeviceKey); !strings.HasPrefix(got, status) {
		b.T.Errorf("status %q, want %q", got, status)
	}
	objects := b.Rec.LiveOf(sai.ObjectTypeTAMInt)
	bound, _ := b.Attr(sai.Obj(sai.ObjectTypeSwitch, b.sw), sai.SwitchAttrTAMObjectID).(sai.OIDs)
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

// The transit follows its row and the switch's id.
func TestTransit(t *testing.T) {
	b := newBench(t)
	b.device("ifa", "true")
	b.wantTransit("pending: the switch has no switch-id", 0)
	b.ids.now = schema.TAMSwitchInUse{SwitchID: 7, HasSwitchID: true}
	b.ids.changes.Publish(b.Ctx, struct{}{})
	b.Step()
	b.wantTransit("active", 7)
	b.device("ifa", "true", "device-id", "9")
	b.wantTransit("active", 9)
	b.device("ifa", "true", "device-id", "1048576")
	b.wantTransit(`failed: device-id "1048576": want at most 1048575`, 0)
	b.device("ifa", "true", "device-id", "1048575")
	b.wantTransit("active", 1048575)
	b.device("ifa", "false")
	b.wantTransit("active", 0)
	b.device("ifa", "true")
	b.wantTransit("active", 7)
	b.Del(schema.AppTAMDevice, schema.TAMDeviceKey)
	b.Step()
	b.wantTransit("", 0)
}

// Whichever call fails, nothing is left behind, and the row that comes again is in force.
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

// older is a chip that has no IFA.
type older struct{ sai.API }

func (o older) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	if id == sai.TAMIntAttrType {
		return []sai.Enum{sai.TAMIntTypeIfa1Tailstamp}, nil
	}
	return o.API.EnumCapability(ctx, id)
}

// A chip without IFA is told nothing, and the row says why.
func TestUnsupported(t *testing.T) {
	b := newBenchOn(t, func(api sai.API) sai.API { return older{api} })
	b.device("ifa", "true", "device-id", "5")
	b.wantTransit("failed: ifa: the switch does not implement SAI_TAM_INT_TYPE_IFA2", 0)
	b.device("ifa", "false")
	b.wantTransit("active", 0)
}
