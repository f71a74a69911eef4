package chaos

import (
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// If the containers' Redis is killed after a configuration was loaded, it still has the whole configuration. While the
// disk is busy with earlier writes, Redis answers before it has written, for two seconds at most. The test waits that
// long.
func TestComposeSurvivesKill(t *testing.T) {
	t.Parallel()
	server := swsstest.StartServer(t, device.RedisArgs()...)
	r := server.Open()
	config := devicetest.TwoPorts()
	devicetest.NoError(t, config.Load(t.Context(), r))
	written := func() bool {
		info, err := r.DB(swss.ConfigDB).Client().Info(t.Context(), "persistence").Result()
		return err != nil || strings.Contains(info, "aof_buffer_length:0\r\n")
	}
	for !written() {
	}
	server.Kill()
	server.Start()
	r = server.Open()
	for table, rows := range config {
		for key, want := range rows {
			got, _, err := swss.NewTable(r.DB(swss.ConfigDB), table).Get(t.Context(), key)
			if err != nil || len(got) != len(want) {
				t.Errorf("%s|%s is %v, %v; want %v", table, key, got, err, want)
			}
		}
	}
}
