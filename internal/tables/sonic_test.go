package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/swss/schema"
)

const sonicFile = "../../yang/sonic/sonic-tamtam.yang"

// The YANG module for SONiC's tools matches package schema.
func TestSonicModule(t *testing.T) {
	var made strings.Builder
	sonicModule(&made, schema.Tables())
	got, err := os.ReadFile(sonicFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != made.String() {
		t.Error("yang/sonic/sonic-tamtam.yang is not what package schema says: run go generate ./yang")
	}
}

// yanglint accepts the TAM tables of the example configurations, and refuses a row that the switch refuses.
func TestSonicModuleWithYanglint(t *testing.T) {
	lint, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("yanglint is not installed; it is in Debian's libyang2-tools")
	}
	check := func(config map[string]map[string]map[string]any) (string, error) {
		file := filepath.Join(t.TempDir(), "data.json")
		if err := os.WriteFile(file, sonicData(t, config), 0o644); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(lint, "-t", "config", sonicFile, file).CombinedOutput()
		return string(said), err
	}
	for _, file := range []string{"../../docker/config_db.json", "../../cmd/tamtam/demo/config_db.json"} {
		if said, err := check(configOf(t, file)); err != nil {
			t.Errorf("%s: %v: %s", file, err, said)
		}
	}
	for _, bad := range []string{
		`{"TAM_SWITCH_TABLE": {"global": {"switch-id": "0"}}}`,
		`{"TAM_FEATURES_TABLE": {"TAIL": {"status": "ACTIVE"}}}`,
		`{"TAM_FEATURES_TABLE": {"IFA": {"status": "ON"}}}`,
		`{"TAM_TAILSTAMPING_TABLE": {"web": {"flowgroup": "web"}}}`,
		`{"TAM_FLOW_GROUP": {"g|r": {"src_ip_prefix": "::/0", "dst_ip_prefix": "::/0"}}}`,
		`{"TAM_COLLECTORS_TABLE": {"c": {"port": "1"}}}`,
	} {
		var config map[string]map[string]map[string]any
		if err := json.Unmarshal([]byte(bad), &config); err != nil {
			t.Fatal(err)
		}
		if _, err := check(config); err == nil {
			t.Errorf("yanglint accepts %s", bad)
		}
	}
}

func configOf(t *testing.T, file string) (config map[string]map[string]map[string]any) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// sonicData returns the TAM tables of a configuration as data of the module, as SONiC's sonic_yang does.
func sonicData(t *testing.T, config map[string]map[string]map[string]any) []byte {
	tables := map[string]any{}
	for name, rows := range config {
		if !isTAM(name) {
			continue
		}
		content := map[string]any{}
		for _, kind := range rowsByKey(schema.Tables(), name) {
			var entries []map[string]any
			for key, fields := range rows {
				parts := strings.Split(key, "|")
				leaves := map[string]any{}
				for _, l := range kind.leaves {
					if v, ok := fields[l.Name]; ok {
						leaves[l.Name] = v
						if strings.HasPrefix(l.of, "type uint") && l.choices == nil {
							leaves[l.Name] = json.Number(v.(string))
						}
					}
				}
				switch {
				case kind.row != "":
					content[kind.row] = leaves
				case len(parts) == len(kind.keys):
					for i, k := range kind.keys {
						leaves[k] = parts[i]
					}
					entries = append(entries, leaves)
				}
			}
			if entries != nil {
				content[kind.list()] = entries
			}
		}
		tables[name] = content
	}
	text, err := json.Marshal(map[string]any{"sonic-tamtam:sonic-tamtam": tables})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
