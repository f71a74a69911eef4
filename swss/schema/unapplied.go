package schema

import (
	"maps"
	"slices"
	"strings"
)

// StateUnapplied is the table of STATE_DB that lists the parts of CONFIG_DB that no daemon applies, although the row
// is accepted. Its keys are those of CONFIG_DB preceded by the table, or only the table. Its fields are the kinds
// below; the values are the reasons.
const StateUnapplied = "TAMTAM_UNAPPLIED"

// Kinds of [Unapplied], in the order in which they are listed.
const (
	UnappliedInvalid        = "invalid"         // the row has no status row, and is not valid
	UnappliedUnknown        = "unknown"         // the name is unknown to SONiC and to tamtam
	UnappliedNotImplemented = "not-implemented" // SONiC has the table or the key, but this switch does not implement it
	UnappliedNoEffect       = "no-effect"       // SONiC has the field, but it changes nothing in this switch
)

// UnappliedKinds lists the kinds.
func UnappliedKinds() []string {
	return []string{UnappliedInvalid, UnappliedUnknown, UnappliedNotImplemented, UnappliedNoEffect}
}

// UnappliedTexts returns the parts of a row of [StateUnapplied] as KIND: REASON.
func UnappliedTexts(row map[string]string) (texts []string) {
	for _, kind := range UnappliedKinds() {
		if row[kind] != "" {
			texts = append(texts, kind+": "+row[kind])
		}
	}
	return texts
}

// unappliedTable returns the table's entry.
func unappliedTable() Table {
	return Table{State: StateUnapplied, Key: "table, or table|key",
		Words: "What CONFIG_DB contains and no daemon applies, although the row is accepted.",
		Fields: []Field{
			{Name: UnappliedInvalid, Form: "text", Words: "Why a row that has no status is not valid."},
			{Name: UnappliedUnknown, Form: "text", Words: "Names that neither SONiC nor tamtam has, with the nearest."},
			{Name: UnappliedNotImplemented, Form: "text", Words: "Tables and keys that SONiC has and this switch does not."},
			{Name: UnappliedNoEffect, Form: "text", Words: "Fields of SONiC that have no effect in this switch."},
		}}
}

// An Unapplied is a part of CONFIG_DB that no daemon applies.
type Unapplied struct {
	Kind   string
	Field  string // name of the field; "" if the whole row or table is not applied
	Reason string // in words, with the name of the field, key or table
}

// UnappliedTable reports why no row of a table of CONFIG_DB is applied. It returns false if the switch implements the
// table.
func UnappliedTable(table string) (Unapplied, bool) {
	names := configTables()
	if _, found := slices.BinarySearch(names, table); found {
		return Unapplied{}, false
	}
	if _, found := slices.BinarySearch(sonicTables, table); found {
		return Unapplied{Kind: UnappliedNotImplemented, Reason: "the table " + table + " is not implemented"}, true
	}
	return Unapplied{Kind: UnappliedUnknown,
		Reason: "there is no table " + plain(table) + suggest(table, slices.Concat(names, sonicTables))}, true
}

// configTables returns the names of the tables of CONFIG_DB that the switch implements, sorted.
func configTables() (names []string) {
	for _, t := range tables() {
		if t.Config != "" {
			names = append(names, t.Config)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnappliedParts returns the parts of a row of CONFIG_DB that no daemon applies, although the row is accepted. It
// returns nothing for a table that is not implemented, see [UnappliedTable], and nothing for a row whose status row
// already reports the error.
func UnappliedParts(table, key string, fields map[string]string) (parts []Unapplied) {
	t, found := entryOf(table, key)
	if !found {
		return nil
	}
	if why, missing := t.unappliedKey(key); missing {
		return []Unapplied{why}
	}
	r := t.examined(key, fields)
	if err := r.err(); err != nil {
		if t.State == "" {
			parts = append(parts, Unapplied{Kind: UnappliedInvalid, Reason: Reason(err)})
		}
		r.known = append(r.known, t.FieldNames()...) // an invalid key ends the parsing early
	}
	if t.Open {
		parts = append(parts, r.notAsked()...)
	}
	slices.Sort(r.idle)
	for _, f := range slices.Compact(r.idle) {
		parts = append(parts, Unapplied{UnappliedNoEffect, f, f + " has no effect in this switch"})
	}
	return parts
}

// RefusedKey returns the error of a row whose key no daemon reads, such as that of a group of counters which the switch
// does not have. It returns nil for other rows.
func RefusedKey(table, key string) error {
	t, _ := entryOf(table, key)
	why, missing := t.unappliedKey(key)
	if !missing {
		return nil
	}
	r := newReader(table, key, nil, true)
	r.bad("", key, t.Key+": "+why.Reason)
	return r.err()
}

// unappliedKey reports why no daemon reads rows of a key.
func (t Table) unappliedKey(key string) (why Unapplied, missing bool) {
	switch {
	case slices.Contains(t.keys.sonic, key):
		return Unapplied{Kind: UnappliedNotImplemented, Reason: "the key " + key + " is not implemented"}, true
	case t.keys.read == nil || slices.Contains(t.keys.read, key):
		return why, false
	}
	return Unapplied{Kind: UnappliedUnknown,
		Reason: "there is no key " + plain(key) + suggest(key, slices.Concat(t.keys.read, t.keys.sonic))}, true
}

// entryOf returns the entry of [Tables] for a row of CONFIG_DB. For interfaces the last entry is that of addresses.
func entryOf(table, key string) (entry Table, found bool) {
	for _, t := range tables() {
		if t.Config != table || table == "" {
			continue
		}
		entry, found = t, true
		if !IsAddressKey(key) {
			break
		}
	}
	return entry, found
}

// examined parses a row like Parse, and returns the reader with the fields read. Without a layout, these are the
// listed fields.
func (t Table) examined(key string, fields map[string]string) *reader {
	if t.examine != nil {
		return t.examine(key, fields)
	}
	r := newReader(t.Config, key, fields, false)
	r.ignore(t.Idle...)
	r.known = append(r.known, t.FieldNames()...)
	if t.Parse != nil && len(r.errs) == 0 {
		if _, err := t.Parse(key, fields); err != nil {
			r.errs = append(r.errs, err)
		}
	}
	return r
}

// notAsked returns the fields that were not read. Fields with text for people do not count.
func (r *reader) notAsked() (parts []Unapplied) {
	names := slices.Compact(slices.Sorted(slices.Values(r.known)))
	for _, f := range slices.Sorted(maps.Keys(r.fields)) {
		if _, found := slices.BinarySearch(names, f); found || IsDescription(f) {
			continue
		}
		parts = append(parts, Unapplied{UnappliedUnknown, f, "there is no field " + plain(f) + suggest(f, names)})
		if len(parts) == maxErrors {
			break
		}
	}
	return parts
}

// flexKeys returns the keys of FLEX_COUNTER_TABLE for which the switch has counters.
func flexKeys() []string {
	return strings.Fields(`
		ACL BUFFER_POOL_WATERMARK DEBUG_COUNTER DEBUG_MONITOR_COUNTER PG_DROP PG_WATERMARK POLICER PORT QUEUE
		QUEUE_WATERMARK RIF SWITCH`)
}

// featureKeys returns the keys of FEATURE that this switch reads, in addition to those of rows of COPP_TRAP.
func featureKeys() []string { return strings.Fields("bgp dhcp_relay lacp lldp macsec sflow teamd") }

// Fields and keys of SONiC that tamtam accepts without effect, by table: those of the YANG modules of
// sonic-buildimage (src/sonic-yang-models), and those that SONiC's managers, orchs and tools read besides, as of
// August 2026. A value after "=" is the switch's fixed behaviour, so it is in force.
var (
	sonicMetadata = strings.Fields(`
		anchor_route_source asic_id asic_name bgp_adv_lo_prefix_as_128 bgp_asn bgp_router_id buffer_model
		chassis_hostname cloudtype cluster create_only_config_db_buffers default_bgp_status default_pfcwd_status
		deployment_id dhcp_server docker_routing_config_mode downstream_subrole dpu_auto_recovery
		frr_mgmt_framework_config has_sonic_dhcpv4_relay location_type max_cores mgmt_type namespace_id nexthop_group
		orch_northbond_dash_zmq_enabled peer_switch rack_mgmt_map region resource_type ring_thread_enabled slice_type
		storage_device sub_role subtype supporting_bulk_counter_groups suppress-fib-pending switch_id switch_type
		synchronous_mode syslog_counter syslog_with_osversion t2_group_asns timezone type
		use_template_render_for_restore yang_config_validation zebra_nexthop`)
	sonicPort = strings.Fields(`
		adv_interface_types adv_speeds asic_port_name autoneg=off core_id core_port_id custom_serdes_attrs
		dhcp_rate_limit dom_polling fast_linkup fec=none idriver interface_type ipredriver laser_freq learn_mode
		link_training=off macsec media_type mode mux_cable num_voq pfc_asym=off preemphasis pt_interface_id
		pt_timestamp_template role subport tpid=0x8100 tx_power unreliable_los valid_speeds`)
	sonicPortChannel = strings.Fields("learn_mode members mode tpid=0x8100")
	sonicVLAN        = strings.Fields("alias dhcp_servers dhcpv6_servers host_ifname mac members")
	sonicSwitch      = strings.Fields(`
		ecmp_hash_offset lag_hash_offset ordered_ecmp fdb_broadcast_miss_packet_action fdb_multicast_miss_packet_action
		fdb_unicast_miss_packet_action vxlan_port vxlan_router_mac vxlan_sport vxlan_mask`)
	sonicInterface = strings.Fields(`
		admin_status=up grat_arp=disabled mpls=disable nat_zone=0 proxy_arp=disabled static_anycast_gateway=false`)
	sonicSubInterface = sonicInterface[1:] // sub-ports have admin_status
	sonicAddress      = strings.Fields("forced_mgmt_routes gwaddr scope=global secondary=false")
	sonicRoute        = strings.Fields("advertise=false bfd=false track")
	sonicFlex         = strings.Fields("BULK_CHUNK_SIZE BULK_CHUNK_SIZE_PER_PREFIX FLEX_COUNTER_DELAY_STATUS=false")
	sonicFeature      = strings.Fields(`
		auto_restart check_up_status delayed has_global_scope has_per_asic_scope has_per_dpu_scope has_timer
		high_mem_alert set_owner support_syslog_rate_limit`)
	sonicFlexKeys = strings.Fields(`
		DASH_METER ENI FLOW_CNT_ROUTE FLOW_CNT_TRAP HA_SET ICMP_SESSION
		MACSEC_FLOW MACSEC_SA MACSEC_SA_ATTR PFCWD PORT_BUFFER_DROP PORT_PHY_ATTR
		PORT_PHY_SERDES_ATTR PORT_RATES RIF_RATES SRV6 TUNNEL WRED_ECN_PORT WRED_ECN_QUEUE`)
	sonicFeatureKeys = strings.Fields(`
		acms bmp dash-ha database dhcp_server dpu eventd frr_bmp gbsyncd gnmi iccpd lldpd mgmt-framework mux nat
		otel p4rt pde pmon radv redfish restapi router-advertiser snmp stp swss syncd sysmgr system-health telemetry
		watchdog wol`)
	sonicCRMResources = strings.Fields(`
		dash_eni dash_eni_ether_address_map dash_ipv4_acl_group dash_ipv4_acl_rule dash_ipv4_inbound_routing
		dash_ipv4_outbound_ca_to_pa dash_ipv4_outbound_routing dash_ipv4_pa_validation dash_ipv6_acl_group
		dash_ipv6_acl_rule dash_ipv6_inbound_routing dash_ipv6_outbound_ca_to_pa dash_ipv6_outbound_routing
		dash_ipv6_pa_validation dash_vnet dnat_entry extension_table ipmc_entry mpls_inseg mpls_nexthop snat_entry
		srv6_my_sid_entry srv6_nexthop twamp_entry`)
)

// sonicCRM returns the fields of resources that tamtam does not count.
func sonicCRM() (fields []string) {
	for _, res := range sonicCRMResources {
		fields = append(fields, res+"_threshold_type", res+"_low_threshold", res+"_high_threshold")
	}
	return fields
}

// sonicTables lists the tables that SONiC has in CONFIG_DB and that tamtam does not implement, sorted: those of the
// YANG modules, of schema.h in sonic-swss-common, of frrcfgd, and of the tools.
var sonicTables = slices.Sorted(slices.Values(strings.Fields(`
	AAA ASIC_SENSORS AS_PATH_SET AUTO_TECHSUPPORT AUTO_TECHSUPPORT_FEATURE BANNER_MESSAGE BFD_PEER BFD_PEER_MULTI_HOP
	BFD_PEER_SINGLE_HOP BGP_AGGREGATE_ADDRESS BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL BGP_GLOBALS
	BGP_GLOBALS_AF BGP_GLOBALS_AF_AGGREGATE_ADDR BGP_GLOBALS_AF_NETWORK BGP_GLOBALS_EVPN_RT BGP_GLOBALS_EVPN_VNI
	BGP_GLOBALS_EVPN_VNI_RT BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR BGP_MONITORS BGP_NEIGHBOR BGP_NEIGHBOR_AF
	BGP_PEER_GROUP BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS BGP_VOQ_CHASSIS_NEIGHBOR BMP
	CABLE_LENGTH CHASSIS_MODULE COMMUNITY_SET
	CONSOLE_PORT CONSOLE_SWITCH DASH_ACL_GROUP DASH_ACL_IN DASH_ACL_OUT DASH_ACL_RULE DASH_APPLIANCE DASH_ENI
	DASH_HA_GLOBAL_CONFIG DASH_QOS DASH_ROUTE_TABLE DASH_ROUTING_TYPE DASH_VNET DASH_VNET_MAPPING_TABLE
	DEFAULT_LOSSLESS_BUFFER_PARAMETER DEVICE_NEIGHBOR DEVICE_NEIGHBOR_METADATA DHCPV4_RELAY
	DHCP_RELAY DHCP_SERVER DHCP_SERVER_IPV4 DHCP_SERVER_IPV4_CUSTOMIZED_OPTIONS DHCP_SERVER_IPV4_PORT
	DHCP_SERVER_IPV4_RANGE DNS_NAMESERVER DNS_OPTIONS DPU DPUS DPU_TABLE DSCP_TO_FC_MAP DTEL DTEL_EVENT
	DTEL_INT_SESSION DTEL_QUEUE_REPORT DTEL_REPORT_SESSION EVPN_ETHERNET_SEGMENT EVPN_MH_GLOBAL EXP_TO_FC_MAP
	EXTENDED_COMMUNITY_SET FABRIC_MONITOR FABRIC_PORT FG_NHG FG_NHG_MEMBER FG_NHG_PREFIX FIPS
	FLOW_COUNTER_ROUTE_PATTERN GEARBOX GNMI GNMI_CLIENT_CERT GRPCCLIENT HEARTBEAT
	HOSTAPD_GLOBAL_CONFIG_TABLE IGMP_INTERFACE IGMP_INTERFACE_QUERY IP_SLA KDUMP
	KUBERNETES_MASTER LDAP LDAP_SERVER LEAK_CONTROL_POLICY LEAK_PROFILE LLDP LLDP_PORT LOGGER LOGGING
	LOSSLESS_TRAFFIC_PATTERN MACSEC_PROFILE MAC_MOVE_GUARD MCLAG_DOMAIN MCLAG_INTERFACE
	MCLAG_UNIQUE_IP MEMORY_STATISTICS MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG MID_PLANE_BRIDGE MPLS_TC_TO_TC_MAP
	MUX_CABLE MUX_LINKMGR NAT_BINDINGS NAT_GLOBAL NAT_POOL NEIGHBOR_SET NEXTHOP_SET NTP NTP_KEY NTP_SERVER
	NVGRE_TUNNEL NVGRE_TUNNEL_MAP OSPFV2_INTERFACE OSPFV2_ROUTER OSPFV2_ROUTER_AREA OSPFV2_ROUTER_AREA_NETWORK
	OSPFV2_ROUTER_AREA_POLICY_ADDRESS_RANGE OSPFV2_ROUTER_AREA_VIRTUAL_LINK OSPFV2_ROUTER_DISTRIBUTE_ROUTE
	OSPFV2_ROUTER_PASSIVE_INTERFACE PAC_GLOBAL_CONFIG_TABLE PAC_PORT_CONFIG_TABLE PASSW_HARDENING
	PASS_THROUGH_ROUTE_TABLE PBH_HASH PBH_HASH_FIELD PBH_RULE PBH_TABLE PEER_SWITCH
	PFC_WD PIM_GLOBALS PIM_INTERFACE POLICER PORT_STORM_CONTROL PREFIX PREFIX_LIST PREFIX_SET RADIUS RADIUS_SERVER
	RATES REMOTE_DPU RESTAPI ROUTE_MAP ROUTE_MAP_SET ROUTE_REDISTRIBUTE SAG SEND_TO_INGRESS_PORT SERIAL_CONSOLE SNMP
	SNMP_AGENT_ADDRESS_CONFIG SNMP_COMMUNITY SNMP_TRAP_CONFIG SNMP_USER SRV6_MY_LOCATORS SRV6_MY_SIDS SRV6_MY_SOURCE
	SSH_SERVER STATIC_NAPT STATIC_NAT STORMOND_CONFIG STP STP_MST STP_MST_INST STP_MST_PORT STP_PORT STP_VLAN
	STP_VLAN_PORT SUBNET_DECAP SUPPRESS_ASIC_SDK_HEALTH_EVENT SUPPRESS_VLAN_NEIGH SWITCH_FAST_LINKUP
	SYSLOG_CONFIG SYSLOG_CONFIG_FEATURE SYSTEM_DEFAULTS SYSTEM_PORT TACPLUS TACPLUS_SERVER TAG_SET
	TC_TO_DOT1P_MAP TELEMETRY TWAMP_SESSION VDPU VERSIONS VLAN_STACKING
	VLAN_TRANSLATION VNET VNET_ROUTE VNET_ROUTE_TUNNEL VOQ_INBAND_INTERFACE VRRP VRRP6
	VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP WARM_RESTART XCVRD_LOG ZTP
`)))
