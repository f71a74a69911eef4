package device_test

import (
	"runtime"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A row that is far too large is not read, in any table. Its status reports that, and it costs no memory. Once the row
// is smaller, it is applied.
func TestRowsTooLarge(t *testing.T) {
	server := swsstest.StartServer(t)
	config := devicetest.TwoPorts()
	s := devicetest.NewSim(t, device.SimConfig{Config: config, Redis: server.Open()})
	devicetest.RunUntilIdle(t, s)
	db := s.Redis.DB(swss.ConfigDB)
	huge := strings.Repeat("x", 10<<20)
	rows := map[string]string{
		schema.CfgTAMTailStamp: "s", schema.CfgTAMFlowGroup: "all", schema.CfgACLRule: "TAM|all", schema.CfgPort: "Ethernet1",
		schema.CfgVLAN: "Vlan10", schema.CfgTAMFeature: schema.FeatureTailStamping,
	}
	for table, key := range rows {
		devicetest.NoError(t, swss.NewTable(db, table).Set(t.Context(), key, swss.FieldValues{"nonsense": huge}))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	devicetest.RunUntilIdle(t, s)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d rows of 10 MB cost %d MB in a moment", len(rows), n>>20)
	}
	for table, key := range rows {
		state := schema.TableOf(table).State
		row, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), state).Get(t.Context(), key)
		if err != nil || !strings.Contains(row["reason"], "bytes: want at most 65536") {
			t.Errorf("%s|%s is %v, %v", state, key, row, err)
		}
	}
	for table, key := range rows {
		devicetest.NoError(t, swss.NewTable(db, table).HDel(t.Context(), key, "nonsense"))
	}
	devicetest.RunUntilIdle(t, s)
	if row, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMTailStamp).Get(t.Context(),
		"s"); row["status"] != schema.StatusActive {
		t.Errorf("the session without nonsense is %v, %v", row, err)
	}
}
