package swss_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

const sonicConfig = `{
  "INSTANCES": {
    "redis": {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "/var/run/redis/redis.sock",
     "persistence_for_warm_boot": "yes"}
  },
  "DATABASES": {
    "APPL_DB": {"id": 0, "separator": ":", "instance": "redis"},
    "CONFIG_DB": {"id": 14, "separator": "|", "instance": "redis"}
  },
  "VERSION": "1.0"
}`

func TestDefaultDatabases(t *testing.T) {
	r := swsstest.Start(t)
	for _, tt := range []struct {
		name swss.DBName
		id   int
		sep  string
	}{
		{swss.ApplDB, 0, ":"}, {swss.ASICDB, 1, ":"}, {swss.CountersDB, 2, ":"}, {swss.LogLevelDB, 3, ":"},
		{swss.ConfigDB, 4, "|"}, {swss.FlexCounterDB, 5, ":"}, {swss.PFCWatchdogDB, 5, ":"}, {swss.StateDB, 6, "|"},
		{swss.ChassisAppDB, 12, "|"}, {swss.ApplStateDB, 14, ":"}, {swss.DPUApplDB, 15, ":"}, {swss.DPUApplStateDB, 16, "|"},
		{swss.DPUStateDB, 17, "|"}, {swss.DPUCountersDB, 18, ":"}, {swss.EventDB, 19, "|"}, {swss.BMPStateDB, 20, "|"},
	} {
		db := r.DB(tt.name)
		if db.ID() != tt.id || db.Separator() != tt.sep || db.Name() != tt.name {
			t.Errorf("%s is %d %q", tt.name, db.ID(), db.Separator())
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if !r.DefaultSeparators() {
		t.Error("the default databases have other separators")
	}
	cfg := need(swss.DefaultConfig(""))(t)
	state := cfg.Databases[swss.StateDB]
	state.Separator = ":"
	cfg.Databases[swss.StateDB] = state
	if swss.Look(cfg).DefaultSeparators() {
		t.Error("another separator of STATE_DB is taken for the default one")
	}
}

func TestLoadConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "database_config.json")
	noError(t, os.WriteFile(path, []byte(sonicConfig), 0o600))
	cfg := need(swss.LoadConfig(path))(t)
	if db := cfg.Databases[swss.ConfigDB]; db.ID != 14 || cfg.Databases[swss.StateDB].ID != 6 {
		t.Errorf("%+v", cfg.Databases)
	}
	if _, err := swss.LoadConfig(path + "x"); err == nil {
		t.Error("a missing file was read")
	}
	for text, want := range map[string]string{
		"":   "unexpected end",
		"{}": "INSTANCES is empty",
		strings.ReplaceAll(sonicConfig, `"instance": "redis"}`,
			`"instance": "other"}`): `"other" is not in INSTANCES`,
		strings.ReplaceAll(sonicConfig, `"id": 14`,
			`"id": -1`): "want an id >= 0",
		strings.ReplaceAll(sonicConfig, `"|"`,
			`""`): "separator",
		strings.ReplaceAll(sonicConfig, `"port": 6379, "unix_socket_path": "/var/run/redis/redis.sock"`,
			`"port": 70000`): "port 70000",
	} {
		if _, err := swss.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(sonicConfig))
	f.Add([]byte(`{"INSTANCES":{"redis":{"port":1}},"DATABASES":{"X":{"id":3,"separator":":"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := swss.ParseConfig(text)
		if err == nil && (len(cfg.Instances) == 0 || len(cfg.Databases) == 0) {
			t.Errorf("accepted without servers or databases: %+v", cfg)
		}
	})
}
