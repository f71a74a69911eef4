package device_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// queuesOf returns the queues by their virtual ids: the port of each, its index, and its scheduler in the chip.
func queuesOf(t *testing.T, s *device.Sim) map[string]string {
	t.Helper()
	asic, all := s.Redis.DB(swss.ASICDB).Client(), map[string]string{}
	vids := asic.HGetAll(t.Context(), "RIDTOVID").Val()
	for vid, rid := range asic.HGetAll(t.Context(), protocol.KeyVIDToRID).Val() {
		v, _ := sai.ParseOID(vid)
		if kind, ok := protocol.VIDType(v); !ok || kind != sai.ObjectTypeQueue {
			continue
		}
		r, _ := sai.ParseOID(rid)
		got, err := s.Chip.Get(t.Context(), sai.Obj(sai.ObjectTypeQueue, r), []sai.Attr{
			sai.Want(sai.QueueAttrPort, 0), sai.Want(sai.QueueAttrIndex, 0), sai.Want(sai.QueueAttrSchedulerProfileID, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		port, scheduler := got[0].Value.(sai.OID), got[2].Value.(sai.OID)
		all[vid] = fmt.Sprintf("%s queue %v scheduled by %s", vids[port.String()], got[1].Value, vids[scheduler.String()])
	}
	return all
}

// Objects that were created with a port still belong to it after a restart of syncd, with their settings. The order in
// which the new chip creates ports does not matter. Ports without references are created first.
func TestReplayedPortsKeepTheirQueues(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Profile: profile.Default(), Config: devicetest.FullSwitch(t, 0)})
	devicetest.RunUntilIdle(t, s)
	before := queuesOf(t, s)
	devicetest.NoError(t, s.RestartSyncd(t.Context()))
	if diff := cmp.Diff(before, queuesOf(t, s)); diff != "" {
		t.Errorf("queues before (-) and after (+) the restart of syncd:\n%s", diff)
	}
}
