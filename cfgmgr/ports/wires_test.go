package ports

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// However memberships and wires change, the MTU of a row of APPL_DB is the smaller of two values. The first is the
// configured MTU, the second is the smallest MTU of the wires by which its frames may leave.
func TestRandomWires(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 381_000, Count: 40, Short: 12}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r := swsstest.Start(t)
		d := orch.NewDaemon("tammgrd", r, orch.Options{})
		defer d.Close()
		New(d, r)
		pick := func() int { return []int{0, 67, 68, 1400, 1500, 9000, 65_535, 70_000}[rnd.IntN(8)] }
		least := map[string]int{} // smallest MTU of the wires below a row, by the row's name; no entry means no limit
		configured := map[string]int{}
		put := func(db swss.DBName, table, key string, fields swss.FieldValues) {
			t.Helper()
			if err := swss.NewTable(r.DB(db), table).Set(t.Context(), key, fields); err != nil {
				t.Fatal(err)
			}
		}
		row := func(table, name string, fields swss.FieldValues) {
			if mtu := 1000 + rnd.IntN(8000); rnd.IntN(2) == 0 {
				fields["mtu"], configured[name] = strconv.Itoa(mtu), mtu
			} else {
				configured[name] = 9100
			}
			put(swss.ConfigDB, table, name, fields)
		}
		for i := range 2 {
			row("PORTCHANNEL", fmt.Sprint("PortChannel", i), swss.FieldValues{"admin_status": "up"})
			row("VLAN", fmt.Sprint("Vlan", i+10), swss.FieldValues{"vlanid": strconv.Itoa(i + 10)})
		}
		of := map[string]string{} // name of the PortChannel or VLAN above a name
		member := func(table, group, name string) {
			of[name] = group
			put(swss.ConfigDB, table, group+"|"+name, map[string]swss.FieldValues{
				"PORTCHANNEL_MEMBER": {"NULL": "NULL"}, "VLAN_MEMBER": {"tagging_mode": "tagged"},
			}[table])
		}
		ports := []string{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12", "Ethernet16"}
		for i, port := range ports {
			row("PORT", port, swss.FieldValues{"lanes": strconv.Itoa(4 * i), "speed": "1000"})
			switch rnd.IntN(3) {
			case 0:
				member("PORTCHANNEL_MEMBER", fmt.Sprint("PortChannel", rnd.IntN(2)), port)
			case 1:
				member("VLAN_MEMBER", fmt.Sprint("Vlan", 10+rnd.IntN(2)), port)
			}
		}
		member("VLAN_MEMBER", "Vlan11", "PortChannel1")
		wires := map[string]int{}
		for range 6 {
			port := ports[rnd.IntN(len(ports))]
			if wires[port] = pick(); wires[port] == 0 {
				if err := swss.NewTable(r.DB(swss.StateDB), "TAMTAM_WIRE").Del(t.Context(), port); err != nil {
					t.Fatal(err)
				}
			} else {
				put(swss.StateDB, "TAMTAM_WIRE", port, swss.FieldValues{"mtu": strconv.Itoa(wires[port])})
			}
			if _, err := d.Step(t.Context(), d.Now()); err != nil {
				t.Fatal(err)
			}
			clear(least)
			for port, mtu := range wires {
				for name := port; name != "" && mtu >= 68; name = of[name] {
					if is, limited := least[name]; !limited || mtu < is {
						least[name] = mtu
					}
				}
			}
			for name, want := range configured {
				table := map[byte]string{'E': "PORT_TABLE", 'P': "LAG_TABLE", 'V': "VLAN_TABLE"}[name[0]]
				limits := name
				if lag := of[name]; name[0] == 'E' && lag != "" && lag[0] == 'P' {
					limits, want = lag, configured[lag]
				}
				if most, limited := least[limits]; limited {
					want = min(want, most)
				}
				got, _, err := swss.NewTable(r.DB(swss.ApplDB), "_"+table).Get(t.Context(), name)
				if err != nil || got["mtu"] != strconv.Itoa(want) {
					t.Fatalf("wires %v: %s has mtu %q, %v, want %d", wires, name, got["mtu"], err, want)
				}
			}
		}
	})
}
