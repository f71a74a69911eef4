package device_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/sai/saitest"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// BenchmarkRestartOfOrchagent measures a restart of orchagent that changes nothing, with 10,000 flow groups, each
// with a session of tail-stamping. Redis, syncd and the chip are in the same process.
func BenchmarkRestartOfOrchagent(b *testing.B) {
	const groups = 10_000
	rows := map[string]swss.FieldValues{
		"DEVICE_METADATA|localhost":       devicetest.Metadata["localhost"],
		"PORT|Ethernet0":                  {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"},
		"TAM_SWITCH_TABLE|global":         {"switch-id": "2020", "enterprise-id": "1"},
		"TAM_FEATURES_TABLE|TAILSTAMPING": {"status": "ACTIVE"},
	}
	for i := range groups {
		rows[fmt.Sprintf("TAM_FLOWGROUP_TABLE|F%d", i)] = swss.FieldValues{"id": fmt.Sprint(i + 1)}
		rows[fmt.Sprintf("ACL_RULE|TAM|F%d", i)] = swss.FieldValues{
			"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), "IP_TYPE": "IPV4ANY",
		}
		rows[fmt.Sprintf("TAM_TAILSTAMPING_TABLE|S%d", i)] = swss.FieldValues{"flowgroup": fmt.Sprintf("F%d", i)}
	}
	var inChip *saitest.Recorder
	s, err := device.NewSim(b.Context(), device.SimConfig{Profile: profile.Default(),
		Common: devicetest.RecordTo(&inChip)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for key, row := range rows {
		s.Redis.DB(swss.ConfigDB).Client().HSet(b.Context(), key, row)
	}
	devicetest.NoError(b, s.RunUntilIdle(b.Context()))
	if n := len(inChip.Live()); n < 2*groups {
		b.Fatalf("%d objects, want an entry and a counter for each session", n)
	}
	inChip.Reset()
	used := cpuTime(b)
	for b.Loop() {
		devicetest.NoError(b, s.RestartOrchagent(b.Context()))
		devicetest.NoError(b, s.RunUntilIdle(b.Context()))
	}
	b.ReportMetric((cpuTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(len(devicetest.Changes(inChip.Lines()))), "changes")
	b.ReportMetric(float64(b.Elapsed()/time.Millisecond)/float64(b.N), "ms/restart")
}

// cpuTime returns the processor time that this process has used on all cores.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	devicetest.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
