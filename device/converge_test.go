package device_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
)

// For any order of writes, and any restarts of daemons in between, the ASIC is the same as if the final configuration
// had been applied once.
func TestConfigurationConverges(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4}, converge)
}

func converge(t *testing.T, seed uint64) {
	ctx := t.Context()
	rnd := devicetest.RandomConfig{Rand: rand.New(rand.NewPCG(seed, 4))}
	var inChip, inChipOnce *saitest.Recorder
	s := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata},
		Common: devicetest.RecordTo(&inChip)})
	db := s.Redis.DB(swss.ConfigDB).Client()
	final := rnd.Ground()
	for key, row := range final {
		db.HSet(ctx, key, row)
	}
	for range 120 {
		key, row := rnd.Row()
		if rnd.IntN(4) == 0 {
			delete(final, key)
			db.Del(ctx, key)
		} else {
			final[key] = row
			db.Del(ctx, key)
			db.HSet(ctx, key, row)
		}
		devicetest.NoError(t, disturb(ctx, rnd, s))
	}
	devicetest.RunUntilIdle(t, s)
	if seed%4 == 1 { // this step needs as much time as all other steps together
		consistent(t, s)
	}
	once := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata},
		Common: devicetest.RecordTo(&inChipOnce)})
	for key, row := range final {
		once.Redis.DB(swss.ConfigDB).Client().HSet(ctx, key, row)
	}
	devicetest.RunUntilIdle(t, once)
	if got, want := devicetest.View(t, s), devicetest.View(t, once); got != want {
		t.Errorf("the sequence (-) and the final configuration alone (+) give different ASICs:\n%s\nfinal configuration: %v",
			cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")), final)
	}
	if diff := cmp.Diff(byType(inChip.Live()), byType(inChipOnce.Live())); diff != "" {
		t.Errorf("objects leaked (-) or are missing (+) in the chip:\n%s", diff)
	}
}

// byType counts objects by their type, without ports and the switch. Some ports are created with the chip, and the
// order of the changes determines which of them are removed and created again.
func byType(keys []sai.Key) map[string]int {
	n := map[string]int{}
	for _, k := range keys {
		if k.Type != sai.ObjectTypePort && k.Type != sai.ObjectTypeSwitch {
			n[k.Type.String()]++
		}
	}
	return n
}

// disturb sometimes lets the daemons work, and sometimes restarts one.
func disturb(ctx context.Context, rnd devicetest.RandomConfig, s *device.Sim) error {
	switch rnd.IntN(24) {
	case 0:
		return s.RestartManagers(ctx)
	case 1:
		return s.RestartOrchagent(ctx)
	case 2:
		return s.RestartSyncd(ctx)
	case 3, 4, 5, 6, 7, 8:
		return s.RunUntilIdle(ctx)
	}
	return nil
}

// A mirror session that sends to the port that it mirrors survives a restart of syncd, whatever the port's lanes.
// Session and port refer to each other. Which one is tried first is random, so the test repeats this.
func TestObjectsThatNameEachOtherComeBack(t *testing.T) {
	for range 8 {
		s := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{
			"DEVICE_METADATA":    devicetest.Metadata,
			"PORT":               {"Ethernet3": {"admin_status": "up", "lanes": "0,1", "speed": "10000"}},
			"PORTCHANNEL":        {"PortChannel1": {"admin_status": "up"}},
			"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet3": {"NULL": "NULL"}},
			"MIRROR_SESSION": {"M1": {"type": "SPAN", "dst_port": "Ethernet3", "src_port": "PortChannel1",
				"direction": "BOTH"}},
		}})
		devicetest.RunUntilIdle(t, s)
		before := devicetest.View(t, s)
		devicetest.NoError(t, s.RestartSyncd(t.Context()))
		devicetest.RunUntilIdle(t, s)
		if after := devicetest.View(t, s); after != before {
			t.Fatalf("before (-) and after (+) the restart:\n%s", cmp.Diff(strings.Split(before, "\n"),
				strings.Split(after, "\n")))
		}
		devicetest.NoError(t, s.Redis.DB(swss.ConfigDB).Client().Del(t.Context(), "PORT|Ethernet3").Err())
		devicetest.RunUntilIdle(t, s)
		if strings.Contains(devicetest.View(t, s), "PORT lane 0\n") {
			t.Fatal("the port stays")
		}
	}
}
