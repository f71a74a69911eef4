package device_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// If a row is too large for daemons to read, nothing of the configuration is loaded, and the error names the row.
func TestLoadTooLarge(t *testing.T) {
	racetest.Stepped(t)
	r := swsstest.Start(t)
	db := r.DB(swss.ConfigDB)
	rates := func(n int) map[string]swss.FieldValues {
		rows := map[string]swss.FieldValues{}
		for i := range n {
			rows[fmt.Sprint("s", i)] = swss.FieldValues{"sampling-rate": "1"}
		}
		return rows
	}
	if err := (device.ConfigDB{schema.CfgTAMSampler: {"there": {"sampling-rate": "1"},
		"s0": {"sampling-rate": "1"}}}).Load(
		t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		c          device.ConfigDB
	}{
		{"a large row", "VLAN|Vlan10: the row has 65537 bytes: want at most 65536",
			device.ConfigDB{schema.CfgVLAN: {"Vlan10": {"x": strings.Repeat("y", swss.MaxRow)}}}},
		{"a long key", "(323 bytes): the key has 300 bytes: want at most 255",
			device.ConfigDB{schema.CfgTAMTailStamp: {strings.Repeat("n", 300): {"flowgroup": "f"}}}},
		{"many rows", "TAM_SAMPLINGRATE_TABLE: 65537 rows: want at most 65536, more are not taken",
			device.ConfigDB{schema.CfgTAMSampler: rates(schema.MaxRows + 1)}},
		{"many rows, with those that are there", "TAM_SAMPLINGRATE_TABLE: 65537 rows: want at most 65536, more are not taken",
			device.ConfigDB{schema.CfgTAMSampler: rates(schema.MaxRows)}},
	} {
		tt.c[schema.CfgTAMCollector] = map[string]swss.FieldValues{"good": {"dst-ip": "10.0.0.1"}}
		err := tt.c.Load(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.300v, want %.300q", tt.name, err, tt.want)
		}
		if n := db.Client().Exists(t.Context(), "TAM_COLLECTORS_TABLE|good").Val(); n != 0 {
			t.Errorf("%s: another row was loaded", tt.name)
		}
	}
	if err := (device.ConfigDB{schema.CfgTAMSampler: rates(schema.MaxRows - 1)}).Load(t.Context(), r); err != nil {
		t.Errorf("as many as are taken: %v", err)
	}
}
