package device_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/mgmt"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// CONFIG_DB_INITIALIZED, for which each of SONiC's utilities waits, is set once, after the last row of the start
// configuration. This holds for every form of configuration, also without rows. No daemon sets it.
func TestInitializedBehindTheLastRow(t *testing.T) {
	for name, start := range map[string]device.Startup{
		"rows": {Rows: device.ConfigDB{
			"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000"}}, "VLAN": {"Vlan10": {"vlanid": "10"}},
		}},
		"OpenConfig": {OpenConfig: []byte(`{"openconfig-interfaces:interfaces": {"interface":
			[{"name": "Ethernet0", "config": {"name": "Ethernet0", "description": "to spine"}}]}}`)},
		"empty": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, server := t.TempDir(), swsstest.StartServer(t)
			r := server.Open()
			db := r.DB(swss.ConfigDB)
			if err := db.SetInitialized(t.Context(), true); err != nil { // left by an earlier run
				t.Fatal(err)
			}
			client := redis.NewClient(&redis.Options{Addr: r.Addr()})
			events := client.PSubscribe(t.Context(), "__keyspace@4__:*")
			t.Cleanup(func() { events.Close(); client.Close() })
			if _, err := events.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ready, done := make(chan bool, 1), make(chan error, 1)
			go func() {
				done <- device.Up(ctx, device.UpConfig{
					ChipConfig: daemons.ChipConfig{Profile: profile.Small()}, Redis: r.Addr(), Startup: start,
					Mgmt:  mgmt.Config{Dir: dir, Addr: "127.0.0.1:0", Socket: filepath.Join(dir, "mgmt.sock"), Insecure: true},
					Ready: func(string, string, string) { ready <- true },
				})
			}()
			select {
			case <-ready:
			case err := <-done:
				t.Fatal("the switch ended", err)
			}
			if got := db.Client().Get(t.Context(), swss.KeyInitialized).Val(); got != "1" {
				t.Errorf("%s is %q once the switch is up", swss.KeyInitialized, got)
			}
			if empty, err := db.Empty(t.Context()); err != nil || empty != (name == "empty") {
				t.Errorf("CONFIG_DB is empty: %v, %v, keys %v", empty, err, db.Client().Keys(t.Context(), "*").Val())
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			devicetest.NoError(t, db.Client().Publish(t.Context(), "__keyspace@4__:end", "end").Err())
			var order []string
			for m := range events.Channel() {
				_, key, _ := strings.Cut(m.Channel, ":")
				if key == "end" {
					break
				}
				if key == swss.KeyInitialized {
					order = append(order, m.Payload)
				} else if key != swss.KeyMark && (len(order) == 0 || order[len(order)-1] != "rows") {
					order = append(order, "rows")
				}
			}
			if got, want := strings.Join(order, " "), map[string]string{
				"rows": "rows del set", "OpenConfig": "del rows set", "empty": "del set",
			}[name]; got != want {
				t.Errorf("written in this order: %s; want %s", got, want)
			}
		})
	}
}
