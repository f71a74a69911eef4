package device_test

import (
	"maps"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// From SONiC's row to frames: a hash of addresses alone keeps all flows of two hosts at one next hop, whatever their
// ports. A restart of orchagent keeps it, also one during which the row went away. Without the row, flows spread again.
func TestSwitchHash(t *testing.T) {
	r := newRouted(t)
	row := func() swss.FieldValues { return r.state(schema.AppSwitchHash, schema.SwitchHashKey) }
	one := func(what string) {
		t.Helper()
		if n := r.spread("10.8.0.1"); len(n) != 1 || row()[schema.FieldStatus] != schema.StatusActive {
			t.Errorf("%s: 200 flows leave by %v, the row is %v", what, n, row())
		}
	}
	many := func(what string) {
		t.Helper()
		if n := r.spread("10.8.0.1"); n[2] < 60 || n[3] < 60 || n[2]+n[3] != 200 {
			t.Errorf("%s: 200 flows leave by %v", what, n)
		}
	}
	const key = "SWITCH_HASH|GLOBAL"
	addresses := swss.FieldValues{"ecmp_hash@": "SRC_IP,DST_IP", "ecmp_hash_algorithm": "CRC_CCITT"}
	many("without a row")
	r.config(key, addresses)
	one("by addresses")
	devicetest.NoError(t, r.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, r.Sim)
	one("after a restart")
	r.config(key, swss.FieldValues{"ecmp_hash@": "SRC_IP,VLAN_ID"})
	many("with a field that the chip does not have")
	if got := row(); got[schema.FieldStatus] != schema.StatusFailed || !strings.HasPrefix(got[schema.FieldReason],
		`ecmp_hash "VLAN_ID": the ASIC does not support it, want `) {
		t.Errorf("the row is %v", got)
	}
	r.config(key, addresses)
	one("by addresses again")
	r.config(key, nil)
	many("when the row is gone")
	r.config(key, addresses)
	devicetest.NoError(t, r.Redis.DB(swss.ConfigDB).Client().Del(t.Context(), key).Err())
	devicetest.NoError(t, r.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, r.Sim)
	many("when the row went away during a restart")
	r.config(key, swss.FieldValues{"ecmp_hash_algorithm": "RANDOM"})
	if got := row()[schema.FieldReason]; got != `ecmp_hash_algorithm "RANDOM": the ASIC does not support it, want CRC, `+
		"XOR, CRC_32LO, CRC_32HI, CRC_CCITT, CRC_XOR" {
		t.Errorf("an algorithm that the chip does not have: %s", got)
	}
}

// A user configures and sees the hashes with SONiC's commands.
func TestSwitchHashCommands(t *testing.T) {
	r := newRouted(t)
	_, shell, out := devicetest.StartNorthbound(t, r.Sim)
	do := func(line string) string {
		t.Helper()
		out.Reset()
		devicetest.NoError(t, shell.Exec(t.Context(), line))
		devicetest.RunUntilIdle(t, r.Sim)
		return out.String()
	}
	do("config switch-hash global ecmp-hash SRC_IP DST_IP")
	do("config switch-hash global lag-hash-algorithm CRC_XOR")
	want := swss.FieldValues{"ecmp_hash": "SRC_IP,DST_IP", "lag_hash_algorithm": "CRC_XOR"}
	if got := devicetest.Row(t, r.Redis, swss.ConfigDB, schema.CfgSwitchHash, "GLOBAL"); !maps.Equal(got, want) {
		t.Errorf("CONFIG_DB has %v", got)
	}
	shown := strings.Join(strings.Fields(do("show switch-hash global")), " ")
	if !strings.Contains(shown, "ECMP SRC_IP CRC DST_IP LAG DST_IP CRC_XOR DST_MAC ETHERTYPE") {
		t.Errorf("show switch-hash global: %s", shown)
	}
	if shown := do("show switch-hash capabilities"); !strings.Contains(shown, "CRC_CCITT") ||
		!strings.Contains(shown, "L4_SRC_PORT") || strings.Contains(shown, "RANDOM") {
		t.Errorf("show switch-hash capabilities: %s", shown)
	}
	for line, want := range map[string]string{
		"config switch-hash global ecmp-hash":               "Ecmp-hash has no value",
		"config switch-hash global seed 1":                  `"seed 1" is not understood: want ecmp-hash`,
		"config switch-hash global ecmp-hash SRC_IP DST":    `ecmp_hash "DST": want DST_IP, DST_MAC`,
		"config switch-hash global lag-hash-algorithm A B":  "2 algorithms: want one",
		"config switch-hash global ecmp-hash-algorithm MD5": `ecmp_hash_algorithm "MD5": want CRC, `,
	} {
		if err := shell.Exec(t.Context(), line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
