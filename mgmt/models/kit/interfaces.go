package kit

import (
	"strings"

	"tamtam/swss/schema"
)

// ServedInterface returns the name of an interface, empty for a sub-port, which OpenConfig's interfaces do not have.
func ServedInterface(name string) string {
	if schema.InterfaceTable(name) == schema.CfgVLANSubInterface {
		return ""
	}
	return name
}

// Subinterface returns the subinterface of an interface that routes, empty if it has none.
func Subinterface(name string) string {
	if ServedInterface(name) == "" || strings.HasPrefix(name, "Vlan") {
		return ""
	}
	return "0"
}
