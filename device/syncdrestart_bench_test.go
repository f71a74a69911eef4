package device_test

import (
	"fmt"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// BenchmarkRestartOfSyncd measures a restart of syncd with 20,000 routes: until the new chip forwards (replay), and
// until orchagent has adopted all of it (adopt). Redis, syncd and the chip are in the same process.
func BenchmarkRestartOfSyncd(b *testing.B) {
	const routes = 20_000
	s, err := device.NewSim(b.Context(), device.SimConfig{Profile: profile.Default(), Config: device.ConfigDB{
		schema.CfgDeviceMetadata: devicetest.Metadata,
		schema.CfgPort:           {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"}},
		schema.CfgInterface:      {"Ethernet0": {"NULL": "NULL"}, "Ethernet0|10.1.0.1/24": {"NULL": "NULL"}},
		schema.CfgNeigh:          {"Ethernet0|10.1.0.2": {"neigh": "02:00:00:00:00:02"}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	p := swss.NewProducerState(s.Redis.DB(swss.ApplDB), schema.AppRoute)
	for i := range routes {
		row := swss.Pairs(swss.FieldValues{"nexthop": "10.1.0.2", "ifname": "Ethernet0", "protocol": "bgp"})
		devicetest.NoError(b, p.Set(b.Context(), fmt.Sprintf("20.0.%d.%d", i/256, i%256), row))
	}
	devicetest.NoError(b, s.RunUntilIdle(b.Context()))
	if n, err := s.Redis.DB(swss.ASICDB).AllKeys(b.Context()); err != nil || len(n) < routes {
		b.Fatalf("%d objects, %v", len(n), err)
	}
	var replay, adopt [2]time.Duration // elapsed time, and processor time
	measure := func(sum *[2]time.Duration, do func() error) {
		began, used := time.Now(), cpuTime(b)
		devicetest.NoError(b, do())
		sum[0] += time.Since(began)
		sum[1] += cpuTime(b) - used
	}
	for b.Loop() {
		measure(&replay, func() error { return s.RestartSyncd(b.Context()) })
		measure(&adopt, func() error {
			if err := s.RestartOrchagent(b.Context()); err != nil {
				return err
			}
			return s.RunUntilIdle(b.Context())
		})
	}
	for name, sum := range map[string][2]time.Duration{"replay": replay, "adopt": adopt} {
		b.ReportMetric(float64(sum[0].Milliseconds())/float64(b.N), "ms-"+name)
		b.ReportMetric(float64(sum[1].Milliseconds())/float64(b.N), "cpu-ms-"+name)
	}
}
