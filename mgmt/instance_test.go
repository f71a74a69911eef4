package mgmt

import "testing"

// The one network instance has the VLANs, the MAC addresses and the static routes.
func TestNetworkInstance(t *testing.T) {
	const ni = "/network-instances/network-instance[name=default]"
	static := func(prefix string) string {
		return ni + "/protocols/protocol[identifier=STATIC][name=static]/static-routes/static[prefix=" + prefix + "]"
	}
	shows(t, map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost":         "hostname=leaf1",
		"CONFIG_DB VLAN|Vlan10":                       "vlanid=10",
		"CONFIG_DB VLAN|Vlan20":                       "vlanid=20 admin_status=down",
		"APPL_DB VLAN_TABLE:Vlan10":                   "admin_status=up",
		"STATE_DB FDB_TABLE|Vlan10:02:00:00:00:00:01": "port=Ethernet0 type=dynamic",
		"CONFIG_DB STATIC_ROUTE|10.9.0.0/16":          "nexthop=10.0.0.2,10.0.0.3,0.0.0.0 ifname=,Vlan10,Ethernet4 distance=0,5,0",
		"CONFIG_DB STATIC_ROUTE|::/0":                 "blackhole=true",
	}, map[string]string{
		ni + "/state": `{"openconfig-network-instance:name":"default","openconfig-network-instance:type":"openconfig-network-instance-types:DEFAULT_INSTANCE"}`,
		ni + "/vlans": `{"openconfig-network-instance:vlan":[
			{"vlan-id":10,"config":{"vlan-id":10,"name":"Vlan10","status":"ACTIVE"},"state":{"vlan-id":10,"name":"Vlan10","status":"ACTIVE"}},
			{"vlan-id":20,"config":{"vlan-id":20,"name":"Vlan20","status":"SUSPENDED"},"state":{"vlan-id":20}}]}`,
		ni + "/fdb/mac-table/entries/entry[mac-address=02:00:00:00:00:01][vlan=10]": `{"openconfig-network-instance:mac-address":"02:00:00:00:00:01",
			"openconfig-network-instance:vlan":10,"openconfig-network-instance:config":{"mac-address":"02:00:00:00:00:01","vlan":10},
			"openconfig-network-instance:state":{"mac-address":"02:00:00:00:00:01","vlan":10,"entry-type":"DYNAMIC"},
			"openconfig-network-instance:interface":{"interface-ref":{"state":{"interface":"Ethernet0"}}}}`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=1]": `{"openconfig-network-instance:index":"1",
			"openconfig-network-instance:config":{"index":"1","next-hop":"10.0.0.3","metric":5},
			"openconfig-network-instance:state":{"index":"1","next-hop":"10.0.0.3","metric":5},
			"openconfig-network-instance:interface-ref":{"config":{"interface":"Vlan10"},"state":{"interface":"Vlan10"}}}`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=2]/config/next-hop": `"openconfig-local-routing:LOCAL_LINK"`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=3]":                 "",
		static("::/0") + "/next-hops/next-hop[index=0]/state":                  `{"openconfig-network-instance:index":"0","openconfig-network-instance:next-hop":"openconfig-local-routing:DROP","openconfig-network-instance:metric":0}`,
		"/network-instances/network-instance[name=other]":                      "",
	})
}
