package mgmt

import (
	"github.com/openconfig/gnmi/proto/gnmi_ext"
)

// extensionChecks are those of gNMI's extensions.
func extensionChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"X1": func(b *bed) {}, "X2": func(b *bed) {}, "X3": func(b *bed) {}, "X4": func(b *bed) {},
	}
}

// ofMaster is the extension of a client of a role.
func ofMaster(role string, high, low uint64) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
		Role: &gnmi_ext.Role{Id: role}, ElectionId: &gnmi_ext.Uint128{High: high, Low: low},
	}}}}
}
