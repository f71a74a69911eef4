package schema

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// The name of a PortChannel has one to four digits, with or without leading zeros. Different names are different rows
// in each table, and have different LACP keys.
func TestPortChannelNames(t *testing.T) {
	for _, name := range []string{
		"PortChannel0001", "PortChannel01", "PortChannel0", "PortChannel9999", "PortChannel0000",
	} {
		wantPortChannel(t, name, true)
	}
	for _, name := range []string{
		"PortChannel", "PortChannel00001", "PortChannel10000", "PortChannel-1", "PortChannel1a", "portchannel1",
		"PortChannel 1",
	} {
		wantPortChannel(t, name, false)
	}
	keys := map[uint16]string{}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0x1a9))
		name := fmt.Sprintf("PortChannel%0*d", 1+rnd.IntN(4), rnd.IntN(10000))
		wantPortChannel(t, name, true)
		key := PortChannel{Name: name}.LACPKey()
		if other := keys[key]; other != "" && other != name {
			t.Errorf("%s and %s have the key %d", name, other, key)
		}
		keys[key] = name
	})
}

func wantPortChannel(t *testing.T, name string, valid bool) {
	t.Helper()
	for _, row := range []struct{ table, key, fields string }{
		{CfgPortChannel, name, "admin_status=up"},
		{CfgPortChannelMbr, name + "|Ethernet0", ""},
		{CfgPortChannelInterface, name, ""},
		{CfgPortChannelInterface, name + "|10.4.0.1/31", ""},
		{CfgFDB, "Vlan10|02:00:00:00:00:01", "port=" + name},
	} {
		fields := map[string]string{}
		if field, value, ok := strings.Cut(row.fields, "="); ok {
			fields[field] = value
		}
		if _, err := RowOf(row.table, row.key)(row.key, fields); err == nil != valid {
			t.Errorf("%s|%s %s: %v", row.table, row.key, row.fields, err)
		}
	}
}
