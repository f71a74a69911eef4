package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"tamtam/mgmt/configfile"
)

// A Startup is the configuration with which a switch starts, in one of three forms.
type Startup struct {
	Rows       ConfigDB // rows of a config_db.json
	OpenConfig []byte   // JSON as in a gNMI Set at the root (RFC 7951), or nil
	Script     []byte   // lines of the shell, or nil
	Left       []string // names at the top of a config_db.json that are not tables and are left out
}

// ReadStartup reads a startup configuration; its form is detected by its content.
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

// ParseStartup parses a startup configuration. JSON is a config_db.json if a name at its top is that of a table, in
// capitals; SONiC's files also contain others, such as onie_machine. It is OpenConfig if the names are those of
// nodes, such as openconfig-interfaces:interfaces. Other text is a script.
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
