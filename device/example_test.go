package device_test

import (
	"context"
	"fmt"

	"tamtam/device"
	"tamtam/saisim/profile"
)

// A switch in simulated time passes rows of CONFIG_DB through all of its daemons down to the chip. It reports why
// rows are not in effect.
func Example() {
	ctx := context.Background()
	config, err := device.ParseConfigDB([]byte(`{
		"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:00:01", "hostname": "leaf1"}},
		"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"}},
		"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "ACTIVE"}},
		"TAM_SWITCH_TABLE": {"global": {"switch-id": "7"}},
		"TAM_FLOWGROUP_TABLE": {"web": {"id": "1"}},
		"ACL_RULE": {"TAM|web": {"PRIORITY": "100", "L4_DST_PORT": "80"}},
		"TAM_TAILSTAMPING_TABLE": {"good": {"flowgroup": "web"}, "early": {"flowgroup": "mail"}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := device.NewSim(ctx, device.SimConfig{Config: config, Profile: profile.Default()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	if err := s.RunUntilIdle(ctx); err != nil {
		fmt.Println(err)
		return
	}
	report, err := s.Report(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range device.SortedKeys(report.TailStamping) {
		fmt.Println(name, report.TailStamping[name].Status)
	}
	for _, p := range report.Problems {
		fmt.Println(p.Object, p.Status+":", p.Reason)
	}
	// Output:
	// early pending
	// good active
	// TAM_TAILSTAMPING_TABLE|early pending: flow group "mail" does not exist
}
