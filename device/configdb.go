package device

import (
	"context"
	"slices"

	"tamtam/mgmt/configfile"
	"tamtam/swss"
)

// A ConfigDB is the content of a config_db.json: table, key, field, value.
type ConfigDB = configfile.Rows

// ReadConfigDB reads a config_db.json; see [configfile.Read].
func ReadConfigDB(path string) (ConfigDB, error) { return configfile.Read(path) }

// ParseConfigDB parses the text of a config_db.json; see [ReadConfigDB].
func ParseConfigDB(text []byte) (ConfigDB, error) { return configfile.Parse(text) }

// SaveConfigDB reads CONFIG_DB and returns it as the text of a config_db.json.
func SaveConfigDB(ctx context.Context, r *swss.Redis) ([]byte, error) { return configfile.Save(ctx, r) }

// SortedKeys returns the sorted keys of a map.
func SortedKeys[M ~map[string]V, V any](m M) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
