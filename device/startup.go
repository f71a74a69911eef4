package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"tamtam/mgmt/configfile"
)

// A Startup is what a switch is configured with when it starts, in one of three forms.
type Startup struct {
	Rows       ConfigDB // of a config_db.json
	OpenConfig []byte   // JSON as a gNMI Set takes it at the root (RFC 7951), or nil
	Script     []byte   // lines of the shell, or nil
	Left       []string // names at the top of a config_db.json that are no tables and are left out
}

// ReadStartup reads a startup configuration; its content says in which form it is.
func ReadStartup(path string) (Startup, error) {
	text, err := configfile.ReadText(path)
	if err != nil {
		return Startup{}, err
	}
	s, err := ParseStartup(text)
	if err != nil {
		return Startup{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ParseStartup is [ReadStartup] for text in memory. JSON is a config_db.json if a name at its top is that of a table,
// in capitals: SONiC's files have others beside them, such as onie_machine. It is OpenConfig if the names are those of
// nodes, such as openconfig-interfaces:interfaces; other text is a script.
func ParseStartup(text []byte) (Startup, error) {
	begin := strings.TrimLeftFunc(string(text[:min(len(text), 1<<10)]), unicode.IsSpace)
	switch {
	case strings.HasPrefix(begin, "["):
		return Startup{}, errors.New("a JSON list: want an object, {table: {key: {field: value}}} or OpenConfig's tree")
	case !strings.HasPrefix(begin, "{"):
		return Startup{Script: text}, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return Startup{}, configfile.JSONError(text, err)
	}
	var table, node string
	for _, name := range SortedKeys(top) {
		switch {
		case strings.Contains(name, ":"):
			node = name
		case !strings.ContainsFunc(name, unicode.IsLower):
			table = name
		}
	}
	switch {
	case table != "" && node != "":
		return Startup{}, fmt.Errorf("%q is a table of CONFIG_DB, and %q a node of OpenConfig: want one or the other",
			table, node)
	case table == "" && len(top) > 0:
		return Startup{OpenConfig: text}, errors.Join(configfile.Doubled(text)...)
	}
	rows, err := ParseConfigDB(text)
	return Startup{Rows: rows, Left: configfile.Scalars(text)}, err
}
