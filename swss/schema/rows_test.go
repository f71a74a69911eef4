package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tamtam/tam/flymon"
)

type row interface{ Fields() map[string]string }

// rowTypes holds the parser of each kind of row, for tests of all kinds.
var rowTypes = map[string]func(key string, f map[string]string) (row, error){
	"metadata":     func(k string, f map[string]string) (row, error) { return ParseDeviceMetadata(k, f) },
	"port":         func(k string, f map[string]string) (row, error) { return ParsePort(k, f) },
	"portchannel":  func(k string, f map[string]string) (row, error) { return ParsePortChannel(k, f) },
	"member":       func(k string, f map[string]string) (row, error) { return ParsePortChannelMember(k, f) },
	"vlan":         func(k string, f map[string]string) (row, error) { return ParseVLAN(k, f) },
	"vlan member":  func(k string, f map[string]string) (row, error) { return ParseVLANMember(k, f) },
	"breakout":     func(k string, f map[string]string) (row, error) { return ParseBreakout(k, f) },
	"interface":    func(k string, f map[string]string) (row, error) { return ParseInterface(InterfaceTable(k), k, f) },
	"sub-port":     func(k string, f map[string]string) (row, error) { return parse[SubInterface](k, f) },
	"intf table":   func(k string, f map[string]string) (row, error) { return ParseInterface(AppInterface, k, f) },
	"address":      func(k string, f map[string]string) (row, error) { return ParseInterfaceAddress(AppInterface, k, f) },
	"vrf":          func(k string, f map[string]string) (row, error) { return ParseVRF(k, f) },
	"static route": func(k string, f map[string]string) (row, error) { return ParseStaticRoute(k, f) },
	"route":        func(k string, f map[string]string) (row, error) { return ParseRoute(k, f) },
	"neighbour":    func(k string, f map[string]string) (row, error) { return ParseNeighbor(k, f) },
	"fdb":          func(k string, f map[string]string) (row, error) { return ParseFDB(k, f) },
	"switch row":   func(k string, f map[string]string) (row, error) { return ParseSwitch(k, f) },
	"trimming":     func(k string, f map[string]string) (row, error) { return ParseSwitchTrimming(k, f) },
	"dscp of tc":   func(k string, f map[string]string) (row, error) { return ParseQoSMap(CfgTCToDSCP, k, f) },
	"profiles": func(k string, f map[string]string) (row, error) {
		return ParseBufferProfiles(CfgBufferIngress, k, f)
	},
	"switch hash":  func(k string, f map[string]string) (row, error) { return ParseSwitchHash(k, f) },
	"tunnel":       func(k string, f map[string]string) (row, error) { return ParseTunnel(k, f) },
	"tunnel decap": func(k string, f map[string]string) (row, error) { return ParseTunnelDecap(k, f) },
	"tunnel end":   func(k string, f map[string]string) (row, error) { return ParseTunnelTerm(k, f) },
	"acl type":     func(k string, f map[string]string) (row, error) { return ParseACLTableType(k, f) },
	"acl table":    func(k string, f map[string]string) (row, error) { return ParseACLTable(k, f) },
	"tam rule":     func(k string, f map[string]string) (row, error) { return ParseACLRule(builtin("TAM"), k, f) },
	"l3 rule":      func(k string, f map[string]string) (row, error) { return ParseACLRule(builtin("L3"), k, f) },
	"l3v6 rule":    func(k string, f map[string]string) (row, error) { return ParseACLRule(builtin("L3V6"), k, f) },
	"mirror rule":  func(k string, f map[string]string) (row, error) { return ParseACLRule(builtin("MIRROR"), k, f) },
	"dtel rule": func(k string, f map[string]string) (row, error) {
		return ParseACLRule(builtin("DTEL_FLOW_WATCHLIST"), k, f)
	},
	"result":        func(k string, f map[string]string) (row, error) { return ParseAltMarkResult(k, f) },
	"switch":        func(k string, f map[string]string) (row, error) { return ParseTAMSwitch(k, f) },
	"switch in use": func(k string, f map[string]string) (row, error) { return ParseTAMSwitchInUse(k, f) },
	"collector":     func(k string, f map[string]string) (row, error) { return ParseCollector(k, f) },
	"feature":       func(k string, f map[string]string) (row, error) { return ParseFeature(k, f) },
	"sampler":       func(k string, f map[string]string) (row, error) { return ParseSampler(k, f) },
	"flow group":    func(k string, f map[string]string) (row, error) { return ParseFlowGroup(k, f) },
	"session":       func(k string, f map[string]string) (row, error) { return ParseTailStampSession(k, f) },
	"flow":          func(k string, f map[string]string) (row, error) { return ParseTailStampFlow(k, f) },
	"am session":    func(k string, f map[string]string) (row, error) { return ParseAltMarkSession(k, f) },
	"am flow":       func(k string, f map[string]string) (row, error) { return ParseAltMarkFlow(k, f) },
	"am counters":   func(k string, f map[string]string) (row, error) { return ParseAltMarkCounters(k, f) },
	"task":          func(k string, f map[string]string) (row, error) { return ParseFlyMonTask(k, f) },
	"task flow":     func(k string, f map[string]string) (row, error) { return ParseFlyMonFlow(k, f) },
	"query":         func(k string, f map[string]string) (row, error) { return ParseFlyMonQuery(k, f) },
	"rec session":   func(k string, f map[string]string) (row, error) { return ParseRecordSession(k, f) },
	"rec flow":      func(k string, f map[string]string) (row, error) { return ParseRecordFlow(k, f) },
	"rec counters":  func(k string, f map[string]string) (row, error) { return ParseCounters(CountersRecord, k, f) },
	"task result":   func(k string, f map[string]string) (row, error) { return ParseFlyMonResult(k, f) },
	"flex counter":  func(k string, f map[string]string) (row, error) { return ParseFlexCounter(k, f) },
	"dscp map":      func(k string, f map[string]string) (row, error) { return ParseQoSMap(CfgDSCPToTC, k, f) },
	"dot1p map":     func(k string, f map[string]string) (row, error) { return ParseQoSMap(CfgDot1pToTC, k, f) },
	"queue map":     func(k string, f map[string]string) (row, error) { return ParseQoSMap(CfgTCToQueue, k, f) },
	"port maps":     func(k string, f map[string]string) (row, error) { return ParsePortQoS(k, f) },
	"scheduler":     func(k string, f map[string]string) (row, error) { return ParseScheduler(k, f) },
	"queue":         func(k string, f map[string]string) (row, error) { return ParseQueue(k, f) },
	"wred":          func(k string, f map[string]string) (row, error) { return ParseWRED(k, f) },
	"pool":          func(k string, f map[string]string) (row, error) { return ParseBufferPool(k, f) },
	"profile":       func(k string, f map[string]string) (row, error) { return ParseBufferProfile(k, f) },
	"buffer queue":  func(k string, f map[string]string) (row, error) { return ParseBufferQueue(k, f) },
	"copp group":    func(k string, f map[string]string) (row, error) { return ParseCOPPGroup(k, f) },
	"copp trap":     func(k string, f map[string]string) (row, error) { return ParseCOPPTrap(k, f) },
	"mirror":        func(k string, f map[string]string) (row, error) { return ParseMirrorSession(k, f) },
	"crm":           func(k string, f map[string]string) (row, error) { return ParseCRM(k, f) },
}

func builtin(name string) ACLTableType {
	t, _ := BuiltinACLType(name)
	return t
}

// fieldsOf parses "a=b c=d". An underscore stands for an empty value.
func fieldsOf(s string) map[string]string {
	f := map[string]string{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		f[k] = strings.TrimSuffix(v, "_")
	}
	return f
}

// A rowTest is a valid row, with its formatted fields.
type rowTest struct {
	kind, key, in string
	want          string // fields formatted; "=" means as in
}

var rowTests = []rowTest{
	{"metadata", "localhost", "mac=52:54:00:12:34:56 hostname=leaf1 type=LeafRouter",
		"mac=52:54:00:12:34:56 hostname=leaf1"},
	{"port", "Ethernet0", "lanes=1,2,3,4 speed=100000 alias=Eth1/1 index=0 mtu=1500 admin_status=up fec=rs tpid=0x8100",
		"lanes=1,2,3,4 speed=100000 alias=Eth1/1 index=0 mtu=1500 admin_status=up fec=rs"},
	{"port", "Ethernet4", "lanes=5 speed=25000", "lanes=5 speed=25000 mtu=9100 admin_status=down"},
	{"portchannel", "PortChannel1", "min_links=1", "admin_status=up mtu=9100"},
	{"portchannel", "PortChannel1",
		"min_links=2 static=TRUE fast_rate=true fallback=true lacp_key=7 system_mac=02:00:00:00:00:01",
		"admin_status=up mtu=9100 min_links=2 static=true fast_rate=true fallback=true lacp_key=7 " +
			"system_mac=02:00:00:00:00:01"},
	{"portchannel", "PortChannel1", "static=false fast_rate=false fallback=false lacp_key=auto",
		"admin_status=up mtu=9100"},
	{"member", "PortChannel1|Ethernet0", "NULL=NULL", "status=enabled"},
	{"member", ConfigKey("PortChannel1:Ethernet0"), "status=enabled", "="},
	{"member", "PortChannel1|Eth1:1", "NULL=NULL", "status=enabled"},
	{"vlan", "Vlan10", "vlanid=10", "vlanid=10 admin_status=up mtu=9100"},
	{"vlan member", "Vlan10|PortChannel1", "tagging_mode=tagged", "="},
	{"breakout", "Ethernet0", "brkout_mode=2x25G(2)+1x50G[40G](2)", "="},
	{"interface", "Ethernet0", "NULL=NULL", ""},
	{"vrf", "Vrf-red_1", "NULL=NULL fallback=false vni=0", ""},
	{"interface", "Ethernet0", "vrf_name=Vrf1", "="},
	{"static route", "Vrf1|10.1.0.0/16", "nexthop=10.0.0.2,10.0.0.3 nexthop-vrf=default,Vrf1",
		"nexthop=10.0.0.2,10.0.0.3 nexthop-vrf=default,"},
	{"interface", "Vlan100", "mac_addr=02:00:00:00:00:09 mtu=1500 vrf_name=default proxy_arp=enabled",
		"mac_addr=02:00:00:00:00:09 mtu=1500"},
	{"interface", "PortChannel1", "ipv6_use_link_local_only=enable loopback_action=drop", "="},
	{"interface", "Loopback0", "NULL=NULL", ""},
	{"address", "Vlan100|10.0.0.1/24", "NULL=NULL", "scope=global family=IPv4"},
	{"address", ConfigKey("Vlan100:2001:DB8::1/64"), "NULL=NULL", "scope=global family=IPv6"},
	{"address", "Ethernet0|10.0.0.0/31", "NULL=NULL", "scope=global family=IPv4"},
	{"address", "Loopback0|fe80::1/64", "NULL=NULL", "scope=local family=IPv6"},
	{"static route", "10.1.0.0/16",
		"nexthop=10.0.0.2,10.0.0.3 ifname=Vlan100,Ethernet4 distance=1,2 blackhole=false,false",
		"nexthop=10.0.0.2,10.0.0.3 ifname=Vlan100,Ethernet4 distance=1,2"},
	{"static route", "default|0.0.0.0/0", "nexthop=10.0.0.2", "="},
	{"static route", "::/0", "nexthop=::,2001:db8::2 ifname=Vlan100,", "nexthop=,2001:db8::2 ifname=Vlan100,"},
	{"static route", "10.1.0.0/16", "blackhole=true nexthop=0.0.0.0 distance=0", "blackhole=true"},
	{"static route", "default|10.1.0.0/16", "nexthop= ifname=null blackhole=true distance=0 nexthop-vrf=",
		"blackhole=true"},
	{"static route", "10.1.0.0/16", "nexthop=10.0.0.1, ifname=,null", "nexthop=10.0.0.1, blackhole=false,true"},
	{"static route", "10.1.0.0/16", "blackhole=true,false distance=250,0 nexthop=,10.0.0.1", "="},
	{"route", "10.1.0.0/16", "nexthop=10.0.0.3,10.0.0.2 ifname=Vlan100,Vlan100 protocol=bgp mpls_nh=na,na",
		"nexthop=10.0.0.2,10.0.0.3 ifname=Vlan100,Vlan100 protocol=bgp"},
	{"route", "10.0.0.9", "nexthop=0.0.0.0 ifname=Vlan100", "="},
	{"route", "2001:db8::/32", "nexthop=fe80::1,fe80::1 ifname=Ethernet4,Ethernet12 weight=1,3", "="},
	{"route", "0.0.0.0/0", "blackhole=true protocol=static", "="},
	{"route", "10.5.0.0/16", "nexthop=10.0.0.2,fe80::2 ifname=Ethernet4,Ethernet8", "="},
	{"neighbour", "Vlan100|10.0.0.2", "neigh=02:00:00:00:00:02 family=IPv4", "="},
	{"neighbour", ConfigKey("Ethernet0:fe80::2"), "neigh=02-00-00-00-00-02", "neigh=02:00:00:00:00:02 family=IPv6"},
	{"fdb", "Vlan100|02-00-00-00-00-02", "port=Ethernet0", "port=Ethernet0 type=static"},
	{"fdb", ConfigKey("Vlan100:02:00:00:00:00:02"), "port=PortChannel1 type=dynamic", "="},
	{"switch row", "switch", "ecmp_hash_seed=7 TAM_INT_TYPE_IFA1_TAILSTAMP_CAPABLE=true",
		"fdb_aging_time=600 ecmp_hash_seed=7 lag_hash_seed=0"},
	{"switch hash", "GLOBAL", "ecmp_hash@=SRC_IP,dst_ip,SRC_IP lag_hash_algorithm=crc_xor",
		"ecmp_hash=DST_IP,SRC_IP lag_hash=DST_IP,DST_MAC,ETHERTYPE,IP_PROTOCOL,L4_DST_PORT,L4_SRC_PORT,SRC_IP,SRC_MAC " +
			"ecmp_hash_algorithm=CRC lag_hash_algorithm=CRC_XOR"},
	{"tunnel", "t", "tunnel_type=ipinip dst_ip=10.1.0.32 src_ip=10.1.0.33 ecn_mode=copy_from_outer " +
		"encap_ecn_mode=standard",
		"tunnel_type=IPINIP dscp_mode=uniform ttl_mode=uniform ecn_mode=copy_from_outer dst_ip=10.1.0.32 " +
			"src_ip=10.1.0.33"},
	{"tunnel decap", "IPINIP_V6_TUNNEL", "tunnel_type=IPINIP dscp_mode=pipe ecn_mode=copy_from_outer ttl_mode=pipe", "="},
	{"tunnel end", ConfigKey("IPINIP_TUNNEL:10.1.0.32"), "term_type=P2MP", "="},
	{"tunnel end", ConfigKey("IPINIP_V6_TUNNEL:fc00:1::32/128"), "", "term_type=P2MP"},
	{"tunnel end", "t|10.1.0.32", "term_type=P2P src_ip=10.1.0.33/32 subnet_type=vlan", "term_type=P2P src_ip=10.1.0.33"},
	{"dscp map", "AZURE", "46=5 0=0 8=0x1", "0=0 8=1 46=5"},
	{"dot1p map", "AZURE", "7=7 0=1", "="},
	{"queue map", "AZURE", "5=3", "="},
	{"port maps", "Ethernet4,Ethernet0", "dscp_to_tc_map=[DSCP_TO_TC_MAP|AZURE] tc_to_queue_map=AZURE pfc_enable=4,3,4",
		"dscp_to_tc_map=AZURE tc_to_queue_map=AZURE pfc_enable=3,4"},
	{"port maps", "Ethernet0", "tc_to_pg_map=g pfc_to_pg_map=g pfc_to_queue_map=q scheduler=s pfcwd_sw_enable=3",
		"tc_to_pg_map=g pfc_to_pg_map=g pfc_to_queue_map=q scheduler=s"},
	{"scheduler", "s0", "meter_type=packets pir=9 pbs=8 cir=7 cbs=6",
		"type=WRR weight=1 meter_type=packets pir=9 pbs=8 cir=7 cbs=6"},
	{"scheduler", "s0", "type=dwrr weight=14 meter_type=bytes pir=0", "type=DWRR weight=14"},
	{"queue", "Ethernet0,Ethernet4|0-2,5", "scheduler=[SCHEDULER|s0] wred_profile=w", "scheduler=s0 wred_profile=w"},
	{"wred", "w",
		"ecn=ecn_all green_min_threshold=1000 green_max_threshold=2000 green_drop_probability=5 wred_red_enable=true " +
			"red_min_threshold=9",
		"ecn=ecn_all wred_green_enable=false green_min_threshold=1000 green_max_threshold=2000 green_drop_probability=5"},
	{"pool", "p", "type=egress mode=static size=1000 percentage=9", "type=egress mode=static size=1000"},
	{"pool", "p", "type=ingress mode=static size=1000 xoff=9", "="},
	{"profile", "f", "pool=p static_th=9 xoff=8 xon=7 xon_offset=6",
		"pool=p size=0 static_th=9 xoff=8 xon=7 xon_offset=6"},
	{"profile", "f", "pool=[BUFFER_POOL|p] size=0 dynamic_th=-3", "pool=p size=0 dynamic_th=-3"},
	{"profile", "f", "pool=p static_th=9000", "pool=p size=0 static_th=9000"},
	{"buffer queue", "Ethernet0|3-4", "profile=f", "="},
	{"copp group", "g", "trap_action=copy trap_priority=4 queue=4 genetlink_name=psample trap_ids=bgp,arp_req",
		"trap_action=copy trap_priority=4 queue=4 trap_ids=arp_req,bgp"},
	{"copp group", "g", "trap_action=trap queue=4 meter_type=packets mode=sr_tcm cir=600 cbs=600 red_action=drop",
		"trap_action=trap trap_priority=0 queue=4 meter_type=packets mode=sr_tcm cir=600 cbs=600 red_action=drop"},
	{"copp group", "g",
		"meter_type=bytes mode=tr_tcm color=blind cir=0 cbs=0 pir=0 pbs=1500 green_action=copy yellow_action=forward " +
			"red_action=deny",
		"trap_action=trap trap_priority=0 queue=0 meter_type=bytes mode=tr_tcm color=blind cir=0 cbs=0 pir=0 pbs=1500 " +
			"green_action=copy yellow_action=forward red_action=deny"},
	{"copp group", "g", "meter_type=packets mode=sr_tcm cir=1 cbs=2 pir=3 pbs=4",
		"trap_action=trap trap_priority=0 queue=0 meter_type=packets mode=sr_tcm cir=1 cbs=2 pbs=4"},
	{"copp group", "g", "meter_type=packets mode=storm cir=1 cbs=2 pir=3 pbs=4",
		"trap_action=trap trap_priority=0 queue=0 meter_type=packets mode=storm cir=1 cbs=2"},
	{"copp trap", "arp", "trap_ids=arp_resp,arp_req trap_group=g always_enabled=true",
		"trap_ids=arp_req,arp_resp trap_group=g always_enabled=true"},
	{"mirror", "m", "src_ip=10.0.0.1 dst_ip=10.0.0.2 dscp=8 gre_type=0x88be",
		"type=ERSPAN src_ip=10.0.0.1 dst_ip=10.0.0.2 dscp=8 ttl=255 gre_type=35006 queue=0"},
	{"mirror", "m", "type=SPAN dst_port=Ethernet8 src_port=PortChannel1,Ethernet0 direction=rx",
		"type=SPAN dst_port=Ethernet8 src_port=Ethernet0,PortChannel1 direction=RX queue=0"},
	{"acl type", "T", "MATCHES=dst_ip,SRC_IP ACTIONS=PACKET_ACTION,COUNTER BIND_POINTS@=PORTCHANNEL,PORT",
		"MATCHES=SRC_IP,DST_IP ACTIONS=PACKET_ACTION,COUNTER BIND_POINTS=PORT,PORTCHANNEL"},
	{"acl table", "T", "type=L3 ports@=Ethernet12,Ethernet4 policy_desc=x",
		"TYPE=L3 PORTS=Ethernet4,Ethernet12 POLICY_DESC=x STAGE=INGRESS"},
	{"switch", "global", "switch-id=2020 enterprise-id=0x10", "switch-id=2020 enterprise-id=16"},
	{"switch", "global", "keep-packets=ALL", "keep-packets=all"}, {"switch", "global", "keep-packets=drops", ""},
	{"switch", "global", "NULL=NULL", ""},
	{"switch in use", "global", "op-switch-id=0", "="},
	{"switch in use", "global", "op-switch-id=7 switch-id=7 op-enterprise-id=8 enterprise-id=8 keep-packets=all", "="},
	{"collector", "c1", "ipaddress=10.0.0.1 port=9070", "ipaddress=10.0.0.1 ipaddress-type=ipv4 port=9070 protocol=UDP"},
	{"collector", "c1", "ipaddress=2001:DB8::1 ipaddress-type=IPv6 port=1 protocol=tcp",
		"ipaddress=2001:db8::1 ipaddress-type=ipv6 port=1 protocol=TCP"},
	{"feature", "TAILSTAMPING", "status=active", "status=ACTIVE"},
	{"feature", "FLYMON", "NULL=NULL", "status=INACTIVE"},
	{"sampler", "s", "sampling-rate=16777216", "="},
	{"flow group", "F1", "id=7", "id=7 table-name=TAM"},
	{"session", "sla1", "flowgroup=slaflows", "="},
	{"session", "sla1", "flowgroup=slaflows clamp-mss=0x8", "flowgroup=slaflows clamp-mss=8"},
	{"flow", "F1", "acl-table-name=T1 acl-rule-name=R1", "="},
	{"flow", "F1", "acl-table-name=T1 acl-rule-name=R1 clamp-mss=2 clamp-filter=src-port=80", "="},
	{"flow", "F1", "acl-table-name=T1 acl-rule-name=R1 clamp-mss=2 clamp-filter=any",
		"acl-table-name=T1 acl-rule-name=R1 clamp-mss=2"},
	{"am session", "web", "flowgroup=web role=initiator method=muxed interval=0 mark=dscp0",
		"flowgroup=web role=initiator method=muxed interval=0 mark=dscp0 clear=false slot-sync=true mean-delay=false " +
			"foreign-marks=count clock-trust=checked clock-error=15625000 delay-min=0 delay-max=125000000"},
	{"am session", "web",
		"flowgroup=web role=terminator method=double interval=-10 mark=ipv6-altmark-l mark2=ipv6-altmark-d clear=true " +
			"slot-sync=true mean-delay=false foreign-marks=count clock-trust=declared clock-error=100 delay-min=5000 " +
			"delay-max=60000", "="},
	{"am session", "web",
		"flowgroup=web role=transit method=step interval=0 mark=dscp0 clear=false slot-sync=true mean-delay=true " +
			"foreign-marks=count clock-trust=checked clock-error=100 delay-min=5000 delay-max=60000", "="},
	{"am flow", "web",
		"acl-table-name=TAM acl-rule-name=web role=transit method=pulse interval=8 mark=ipv4-reserved clear=false " +
			"slot-sync=true mean-delay=false foreign-marks=count clock-trust=checked clock-error=0 delay-min=0 delay-max=1",
		"="},
	{"am counters", "web", "ENGINE=chip TIMING=one_clock_cycle GUARD=140625000", "="},
	{"am counters", "web",
		"ENGINE=chip TIMING=x GUARD=1 PERIOD=425000000 COLOUR=0 PACKETS=7 BYTES=448 CAPTURES=1 " +
			"TIMESTAMP=1700000000.500000001 DIGEST=3735928559 OUT_OF_WINDOW=0 FOREIGN_MARKS=3 READ_AT=1700000001.500000000 " +
			"FLAGS=late-read,clock-step", "="},
	{"am counters", "web",
		"ENGINE=chip TIMING=x GUARD=1 PERIOD=425000000 COLOUR=0 PACKETS=7 BYTES=448 CAPTURES=0 OUT_OF_WINDOW=0 " +
			"READ_AT=1700000001.500000000 FLAGS= FOREIGN_MARKS=0 " +
			"CLOCK=declared_by_the_operator KERNEL_CLOCK=01234567-89ab-cdef-0000-000000000002 KERNEL_CLOCK_OFFSET=-3 " +
			"KERNEL_CLOCK_ERROR=5", "="},
	{"am counters", "web",
		"ENGINE=chip TIMING=x GUARD=1 PERIOD=425000000 COLOUR=0 PACKETS=7 BYTES=448 CAPTURES=0 OUT_OF_WINDOW=0 " +
			"READ_AT=1700000001.500000000 FLAGS= FOREIGN_MARKS=0 " +
			"ARRIVALS=7 ARRIVAL_SUM=-170141183460469231731687303715884105728", "="},
	{"result", "p:a:b",
		"PERIOD=5 START=5.000000000 STATUS=ok REVISED=false SENT=7 RECEIVED=7 SENT_BYTES=700 RECEIVED_BYTES=700 LOST=0 " +
			"WINDOW_DELAYS=0 MEAN_DELAY=3 DELAY_SUM=22", "="},
	{"result", "p:a:b",
		"PERIOD=5 START=5.000000000 STATUS=ok REVISED=false SENT=7 RECEIVED=6 SENT_BYTES=700 RECEIVED_BYTES=600 LOST=1 " +
			"WINDOW_DELAYS=0 MEAN_DELAY_UNKNOWN=1_of_7_packets_were_lost", "="},
	{"result", "p:a:b", "PERIOD=5 START=5.000000000 STATUS=missing REASONS=b:_no_report REVISED=false WINDOW_DELAYS=0",
		"="},
	{"result", "p:a:b",
		"PERIOD=5 START=5.000000000 STATUS=ok REVISED=true SENT=7 RECEIVED=9 SENT_BYTES=700 RECEIVED_BYTES=900 LOST=-2 " +
			"DELAY=5 RAW_DELAY=5 JITTER=-1 WINDOW_DELAYS=2 WINDOW_MIN_DELAY=5 WINDOW_MEAN_DELAY=6 WINDOW_MAX_DELAY=6", "="},
	{"task", "t1", "key=src-ip attribute=frequency",
		"filter=any key=src-ip attribute=frequency algorithm=auto memory=49152 allocation=accurate epoch=1000 threshold=0 " +
			"change-threshold=0 readout=banked translation=tcam share=1 pinned=false plan=false"},
	{"task flow", "t1",
		"flowgroup=web filter=dst-port=80 key=src-ip attribute=frequency algorithm=cms memory=3072 allocation=efficient " +
			"epoch=100 threshold=9 change-threshold=0 readout=live " +
			"translation=shift share=1/4 pinned=false plan=true", "="},
	{"task", "t1",
		"flowgroup=web key=ip-pair attribute=max(queue-length) algorithm=sumax-max memory=3072 rows=2 allocation=efficient " +
			"epoch=100 threshold=9 change-threshold=0 readout=live translation=shift share=1/4 pinned=false plan=true", "="},
	{"task", "t1", "filter=dst-port=443,src-ip=10.0.0.1 attribute=distinct(src-ip,dst-ip) epoch=0",
		"filter=src-ip=10.0.0.1/32,dst-port=443 key=none attribute=distinct(ip-pair) algorithm=auto memory=49152 " +
			"allocation=accurate epoch=0 threshold=0 change-threshold=0 readout=banked translation=tcam share=1 pinned=false " +
			"plan=false"},
	{"query", "q1", "task=t1 flow=10.0.0.1,443", "="},
	{"rec session", "s1", "flowgroup=web collector=c",
		"flowgroup=web collector=c phv=16+16 mode=exec algorithm=greedy probabilities=uniform encapsulation=udp " +
			"truncate=128 identities=false"},
	{"rec session", "s1",
		"flowgroup=web collector=c sampler=s phv=8+32 mode=exec+hit algorithm=greedy-restarts " +
			"must-record=chip.fdb,chip.acl,chip.fdb probabilities=counted encapsulation=erspan truncate=0 " +
			"source-ip=::ffff:10.0.0.9 identities=TRUE",
		"flowgroup=web collector=c sampler=s phv=8+32 mode=exec+hit algorithm=greedy-restarts " +
			"must-record=chip.acl,chip.fdb probabilities=counted encapsulation=erspan truncate=0 source-ip=10.0.0.9 " +
			"identities=true"},
	{"rec flow", "s1",
		"acl-table-name=TAM acl-rule-name=web collector=[2001:db8::9]:4739 collector-name=c sampling-rate=4294967295 " +
			"sampler-name=s phv=32+32 mode=exec algorithm=bnb probabilities=uniform encapsulation=udp truncate=64 " +
			"identities=true", "="},
	{"rec counters", "s1", "MATCHED=18446744073709551615 NOT_SAMPLED=2 RECORDED=3 LOST=0", "="},
	{"task result", "t1",
		`EPOCH=7 START=7000000000 END=8000000000 FLAGS=first,dirty LOAD=0.25 FULL=0 FLOWS_FROM=digests DIGESTS_LOST=7 ` +
			`FLOWS_CUT=2 CHANGES_CUT=3 cardinality={"estimate":10,"lower":9,"upper":11,"confidence":0.95,"exact":10}`, "="},
	{"flex counter", "ACL", "FLEX_COUNTER_STATUS=enable POLL_INTERVAL=1000", "="},
	{"crm", "Config",
		"polling_interval=10 acl_entry_threshold_type=used acl_entry_low_threshold=100 acl_entry_high_threshold=200 " +
			"snat_entry_high_threshold=9",
		"polling_interval=10 acl_entry_threshold_type=used acl_entry_low_threshold=100 acl_entry_high_threshold=200"},
}

func TestRows(t *testing.T) {
	for _, tt := range rowTests {
		t.Run(tt.kind+" "+tt.key, func(t *testing.T) {
			got, err := rowTypes[tt.kind](tt.key, fieldsOf(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "=" {
				want = tt.in
			}
			if d := cmp.Diff(fieldsOf(want), got.Fields()); d != "" {
				t.Error(d)
			}
			again, err := rowTypes[tt.kind](tt.key, got.Fields())
			if err != nil || !cmp.Equal(got, again, ignoreAddrs) {
				t.Errorf("parsed again: %+v, %v; want %+v", again, err, got)
			}
		})
	}
}

func TestInvalidRows(t *testing.T) {
	tests := []struct {
		kind, key, in string
		want          string // reasons, joined as in a status row
	}{
		{"mirror", "m", "src_ip=10.0.0.1 dst_ip=10.0.0.2 gre_type=0x800",
			`gre_type "0x0800": want a type that does not stand for an IPv4 packet, such as 0x88be, 0x22eb, 0x6558 or 0x8949`},
		{"metadata", "localhost", "mac=01:00:00:00:00:01",
			`mac "01:00:00:00:00:01": want a unicast MAC address such as 52:54:00:12:34:56`},
		{"port", "Loopback0", "lanes=1 speed=1000", `key "Loopback0": want EthernetN`},
		{"port", "Ethernet0", "lanes=1,1 speed=fast mtu=9217",
			`lanes "1,1": want the port's hardware lanes, such as 0,1,2,3, none twice; speed "fast": want a number in ` +
				`1..1600000; mtu "9217": want a number in 68..9216`},
		{"port", "Ethernet0", "_=_",
			`lanes is missing: want the port's hardware lanes, such as 0,1,2,3, none twice; speed is missing: want the speed ` +
				`in Mb/s`},
		{"port", "Ethernet0", "lanes=1 speed=_", `speed is empty: want a number in 1..1600000`},
		{"portchannel", "PortChannel1", "lacp_key=0", `lacp_key "0": want auto or a number in 1..65535`},
		{"portchannel", "PortChannel1", "lacp_key=-1", `lacp_key "-1": want auto or a number in 1..65535`},
		{"portchannel", "PortChannel1", "lacp_key=65536", `lacp_key "65536": want auto or a number in 1..65535`},
		{"portchannel", "PortChannel1", "lacp_key=0x10000", `lacp_key "0x10000": want auto or a number in 1..65535`},
		{"portchannel", "PortChannel1", "min_links=0", `min_links "0": want a number in 1..1024`},
		{"portchannel", "PortChannel1", "min_links=-1", `min_links "-1": want a number in 1..1024`},
		{"portchannel", "PortChannel1", "min_links=18446744073709551617",
			`min_links "18446744073709551617": want a number in 1..1024`},
		{"portchannel", "PortChannel1", "static=1", `static "1": want true or false`},
		{"portchannel", "PortChannel1", "fast_rate=slow", `fast_rate "slow": want true or false`},
		{"portchannel", "PortChannel1", "fallback=0", `fallback "0": want true or false`},
		{"portchannel", "PortChannel1", "system_mac=01:00:5e:00:00:01",
			`system_mac "01:00:5e:00:00:01": want a unicast MAC address such as 52:54:00:12:34:56`},
		{"portchannel", "PortChannel-1", "", `key "PortChannel-1": want PortChannelN, N in 0..9999`},
		{"member", "PortChannel1:Ethernet0", "_=_", `key "PortChannel1:Ethernet0": want PortChannelN|port`},
		{"vlan member", "Vlan10:Ethernet0", "_=_", `key "Vlan10:Ethernet0": want VlanN|port or VlanN|PortChannelN`},
		{"tam rule", "T:R", "", `key "T:R": want table|rule, each 1 to 255 visible ASCII characters without | : and ,`},
		{"tam rule", "T|R:S", "", `key "T|R:S": want table|rule, each 1 to 255 visible ASCII characters without | : and ,`},
		{"result", "p:a", "STATUS=fine LOST=1.5 START=5 PERIOD=5 WINDOW_DELAYS=0",
			`key "p:a": want path:from:to, each 1 to 255 visible ASCII characters without | : and ,; from and to may be up to ` +
				`256 of these with a + between them; ` +
				`START "5": want seconds since 1970, a point and nine digits; STATUS "fine": want ok, flagged or missing; LOST ` +
				`"1.5": want a whole number of 64 bits`},
		{"flex counter", "ACL", "POLL_INTERVAL=9", `POLL_INTERVAL "9": want a number in 10..3600000`},
		{"vlan", "Vlan4095", "_=_", `key "Vlan4095": want VlanN, N in 1..4094`},
		{"vlan", "Vlan10", "vlanid=11", `vlanid "11": want 10 as in the key`},
		{"vlan member", "Vlan10|Ethernet0", "tagging_mode=none",
			`tagging_mode "none": want tagged, untagged or priority_tagged`},
		{"breakout", "Ethernet0", "brkout_mode=4x25",
			`brkout_mode "4x25": want a mode such as 1x100G[40G], 4x25G or 2x25G(2)+1x50G(2)`},
		{"interface", "Eth0", "NULL=NULL",
			`key "Eth0": want EthernetN, VlanN, PortChannelN, LoopbackN or a sub-port such as EthernetN.M`},
		{"interface", "Ethernet0", "vrf_name=blue mac_addr=01:00:00:00:00:01",
			`mac_addr "01:00:00:00:00:01": want a unicast MAC address such as 52:54:00:12:34:56; vrf_name "blue": want ` +
				`default, or Vrf and 1 to 12 letters, digits, - or _`},
		{"vrf", "blue", "", `key "blue": want Vrf and 1 to 12 letters, digits, - or _`},
		{"vrf", "Vrf1", "fallback=true", `fallback "true": want false: a packet without a route in its VRF is dropped`},
		{"address", "Vlan100|10.0.0.0/24", "",
			`key "Vlan100|10.0.0.0/24": want the address of a host; 10.0.0.0 is that of the subnet`},
		{"address", "Vlan100|10.0.0.255/24", "",
			`key "Vlan100|10.0.0.255/24": want the address of a host; 10.0.0.255 is the subnet's broadcast address`},
		{"address", "Vlan100|10.0.0.1", "",
			`key "Vlan100|10.0.0.1": want an interface, | and an address with the length of its subnet, such as ` +
				`Vlan100|10.0.0.1/24`},
		{"address", "Vlan100|10.0.0.1/24", "family=IPv6", `family "IPv6": want IPv4 as in the key`},
		{"static route", "blue|10.0.0.0/8", "nexthop=10.1.1.1",
			`key "blue|10.0.0.0/8": want default or a VRF, | and a prefix, such as default|10.1.0.0/16`},
		{"static route", "Vrf1|10.0.0.0/8", "nexthop=10.1.1.1 nexthop-vrf=blue",
			`nexthop-vrf "blue": want default, or Vrf and 1 to 12 letters, digits, - or _`},
		{"static route", "10.0.0.0/8", "nexthop=10.1.1.1,10.1.1.2 ifname=Vlan1",
			`ifname "Vlan1": want a list of 2, as the others`},
		{"static route", "10.0.0.0/8", "nexthop=2001:db8::1 distance=256",
			`nexthop "2001:db8::1": want an IPv4 address, as the route's; distance "256": want a number in 0..255; nexthop ` +
				`"2001:db8::1": want an address, or an interface in ifname`},
		{"static route", "::/0", "nexthop=fe80::1", `ifname is missing: want the interface on which fe80::1 is`},
		{"static route", "10.0.0.0/8", "_=_", `nexthop is missing: want a next hop, or ifname or blackhole=true`},
		{"route", "blue:10.0.0.0/8", "blackhole=true",
			`key "blue:10.0.0.0/8": want a prefix such as 10.1.0.0/16, or Vrf1:10.1.0.0/16`},
		{"route", "2001:db8::/32", "nexthop=10.1.1.1 ifname=Vlan1",
			`nexthop "10.1.1.1": want an IPv6 address, as the route's`},
		{"route", "10.0.0.0/8", "nexthop=10.1.1.1",
			`ifname is missing: want an interface for each next hop, or blackhole=true`},
		{"neighbour", "Loopback0|10.0.0.1", "neigh=02:00:00:00:00:02",
			`key "Loopback0|10.0.0.1": want an interface, | and an address, such as Vlan100|10.0.0.2`},
		{"neighbour", "Vlan100|10.0.0.1", "family=IPv4",
			`neigh is missing: want the neighbour's MAC address: the switch does not ask for it`},
		{"neighbour", "Vlan100|10.0.0.1", "neigh=_",
			`neigh is missing: want the neighbour's MAC address: the switch does not ask for it`},
		{"copp group", "g", "cir=600",
			`meter_type is missing: want packets or bytes with cir; mode is missing: want sr_tcm, tr_tcm or storm with cir; ` +
				`cbs is missing: want a burst with cir`},
		{"copp group", "g", "meter_type=frames mode=sr_tcm cir=-1 cbs=many red_action=stop",
			`meter_type "frames": want packets or bytes; cir "-1": want a number in 0..18446744073709551615; cbs "many": want ` +
				`a number in 0..18446744073709551615; red_action "stop": want drop, forward, copy, copy_cancel, trap, log, deny ` +
				`or transit`},
		{"copp group", "g", "meter_type=bytes mode=tr_tcm cir=600 cbs=600",
			`pir is missing: want a rate with mode tr_tcm; pbs is missing: want a burst with mode tr_tcm`},
		{"copp group", "g", "meter_type=bytes mode=tr_tcm cir=600 cbs=600 pir=599 pbs=1",
			`pir "599": want at least cir, 600, as RFC 2698 has it`},
		{"pool", "p", "type=_ size=1", `type is missing: want egress, both or ingress`},
		{"acl type", "T", "MATCHES=, BIND_POINTS=,",
			`MATCHES is missing: want a comma separated list; BIND_POINTS is missing: want a comma separated list`},
		{"fdb", "Vlan100|ff:ff:ff:ff:ff:ff", "port=Ethernet0",
			`key "Vlan100|ff:ff:ff:ff:ff:ff": want a VLAN, | and a unicast MAC address, such as Vlan100|52:54:00:12:34:56`},
		{"fdb", "Vlan100|02:00:00:00:00:02", "type=static", `port is missing: want EthernetN or PortChannelN`},
		{"switch row", "switch", "fdb_aging_time=-1", `fdb_aging_time "-1": want a number in 0..1000000`},
		{"acl type", "L3", "MATCHES=SRC_IP BIND_POINTS=PORT",
			`key "L3": want a name that no built-in table type has, or TAM`},
		{"acl type", "TAM", "MATCHES=OUT_PORTS BIND_POINTS=PORT,PORTCHANNEL", `MATCHES "OUT_PORTS": want matches of flow ` +
			"groups: " + joined(builtinACLTypes[ACLTypeTAM].Matches.Fields())},
		{"acl type", "TAM", "MATCHES=SRC_IP BIND_POINTS=PORT", `BIND_POINTS "PORT": want PORT,PORTCHANNEL in the type TAM`},
		{"acl type", "TAM", "MATCHES=SRC_IP ACTIONS=PACKET_ACTION BIND_POINTS=PORT,PORTCHANNEL",
			`ACTIONS "PACKET_ACTION": want no actions in the type TAM: its rules only match`},
		{"acl type", "T", "MATCHES=SRC_IPP,SRC_MAC BIND_POINTS=VLAN",
			`MATCHES "SRC_IPP": want names of matches; the nearest is SRC_IP; MATCHES "SRC_MAC": want names of matches; the ` +
				`nearest is SRC_IP; BIND_POINTS "VLAN": want PORT or PORTCHANNEL`},
		{"acl table", "T", "TYPE=L3 SPEED=3",
			`SPEED "3": want a field of the table: POLICY_DESC, PORTS, SERVICES, STAGE or TYPE`},
		{"acl table", "T", "TYP=L3",
			`TYPE is missing: want an ACL table type such as L3 or TAM; TYP "L3": want a field of the table; the nearest is ` +
				`TYPE`},
		{"acl table", "T", "TYPE=L3 ports=Ethernet0 ports@=Ethernet4",
			`ports@ "Ethernet4": want the field once; ports is "Ethernet0"`},
		{"acl table", "T", "type=L3 TYPE=L3 stage=_ STAGE=egress",
			`stage is empty: want the field once; STAGE is "egress"`},
		{"acl table", "TAM", "TYPE=TAM STAGE=egress", `STAGE "EGRESS": want INGRESS in a table of type TAM`},
		{"switch", "global", "switch-id=4294967296 deviceid=3",
			`switch-id "4294967296": want a number in 1..4294967295; deviceid "3": want a field of the table: enterprise-id, ` +
				`keep-packets or switch-id`},
		{"switch", "global", "switch-id=0", `switch-id "0": want a number in 1..4294967295`},
		{"switch", "x", "switch-id=1", `key "x": want global`},
		{"collector", "c1", "ipaddress=224.0.0.1 port=0 protocol=SCTP",
			`ipaddress "224.0.0.1": want a unicast IPv4 or IPv6 address; port "0": want a number in 1..65535; protocol ` +
				`"SCTP": want UDP or TCP`},
		{"collector", "c1", "ipaddress=10.0.0.1 ipaddress-type=ipv6 port=1",
			`ipaddress-type "ipv6": want ipv4, as the address is`},
		{"collector", "c1", "ipaddress=255.255.255.255 port=1",
			`ipaddress "255.255.255.255": want a unicast IPv4 or IPv6 address`},
		{"collector", "a,b", "ipaddress=10.0.0.1 port=1",
			`key "a,b": want 1 to 255 visible ASCII characters without | : and ,`},
		{"feature", "INT", "status=ACTIVE", `key "INT": want ` + oneOf(Features())},
		{"feature", "TAILSTAMPING", "status=ON", `status "ON": want ACTIVE or INACTIVE`},
		{"sampler", "s", "rate=10",
			`sampling-rate is missing: want one in how many packets, 1..16777216; rate "10": want a field of the table: ` +
				`sampling-rate`},
		{"flow group", "F1", "id=0 table=T",
			`id "0": want a number in 1..4294967295; table "T": want a field of the table: id or table-name`},
		{"session", "s1", "flow-group=F1",
			`flowgroup is missing: want the name of a flow group; flow-group "F1": want a field of the table; the nearest is ` +
				`flowgroup`},
		{"am session", "s1", "role=sender method=muxed interval=9 mark=ecn0 flowgroup=F",
			`role "sender": want initiator, transit or terminator; interval "9": want n of 2^n seconds, -10 to 8; ` +
				`mark "ecn0": want another bit: both bits of ECN are in use by RFC 3168; dscp0, dscp1, dscp2, dscp3, dscp4, ` +
				`dscp5, ipv4-reserved, ipv6-altmark-l or ipv6-altmark-d`},
		{"am session", "s1", "flowgroup=F role=transit method=step mark=dscp6",
			`interval is missing: want n of 2^n seconds, -10 to 8; ` +
				`mark "dscp6": want dscp0, dscp1, dscp2, dscp3, dscp4, dscp5, ipv4-reserved, ipv6-altmark-l or ipv6-altmark-d`},
		{"am session", "s1", "flowgroup=F role=initiator method=muxed interval=0 mark=dscp0 delay-max=250000000",
			`interval of 1s is too short for muxed marking: A + Dmax = 15.625ms + 250ms = 265.625ms, want less than L/4 = ` +
				`250ms`},
		{"am session", "s1", "flowgroup=F role=initiator method=double interval=0 mark=dscp0 clear=true",
			`clear is true, but the role is initiator: only a terminator clears the mark; mark2 is not given: double marking ` +
				`needs a second bit, for the pulse`},
		{"am session", "s1",
			"flowgroup=F role=initiator method=step interval=0 mark=dscp0 foreign-marks=wash clock-trust=believed",
			`foreign-marks "wash": want count, clean or drop; clock-trust "believed": want checked or declared`},
		{"am session", "s1", "flowgroup=F role=transit method=step interval=0 mark=dscp0 foreign-marks=drop",
			`foreign-marks is drop, but the role is transit: only an initiator keeps other marks out`},
		{"flow", "s1", "acl-table-name=T", `acl-rule-name is missing: want the name of an ACL rule`},
		{"session", "s1", "flowgroup=F1 clamp-mss=9", `clamp-mss "9": want a number in 1..8`},
		{"session", "s1", "flowgroup=F1 clamp-mss=0", `clamp-mss "0": want a number in 1..8`},
		{"session", "s1", "flowgroup=F1 clamp-mss=-1", `clamp-mss "-1": want a number in 1..8`},
		{"session", "s1", "flowgroup=F1 clamp-mss=18446744073709551617",
			`clamp-mss "18446744073709551617": want a number in 1..8`},
		{"session", "s1", "flowgroup=F1 clamp-mss=yes", `clamp-mss "yes": want a number in 1..8`},
		{"flow", "s1", "acl-table-name=T acl-rule-name=R clamp-mss=2 clamp-filter=red",
			`clamp-filter "red": want ` + flymon.FilterWords},
		{"task", "t1", "flowgroup=F filter=any key=vlan attribute=frequency share=1/3 plan=yes epochs=1",
			`filter "any": want either filter or flowgroup; key "vlan": want "none", "5-tuple", "ip-pair", or fields with ` +
				`commas between: src-ip, dst-ip, src-port, dst-port, protocol, timestamp, each whole, with a prefix (src-ip/24) ` +
				`or with a mask (src-port&0xff00); ` +
				`share "1/3": want 1, 1/2, 1/4 ... 1/128; plan "yes": want true or false; epochs "1": want a field of the table; ` +
				`the nearest is epoch`},
		{"task", "t1", "attribute=frequency key=src-ip algorithm=hll readout=live epoch=0",
			`algorithm hll does not measure frequency with the key src-ip, want auto or one of [cms sumax-sum mrac tower ` +
				`counter-braids]; readout is live without an epoch, want an epoch to read at`},
		{"task", "t1", "attribute=existence(src-ip) key=src-ip",
			`key is src-ip, want none: existence(src-ip) is asked of its own key`},
		{"task", "t1", "attribute=frequency",
			`key is none, want the fields that identify a flow: frequency is measured for each flow`},
		{"task", "t1", "attribute=distinct(src-ip) key=dst-ip",
			`threshold is 0, want the number of distinct values that is too many: the coupons of BeauCoup depend on it`},
		{"query", "q1", "task=t1", `flow is missing: want the values of the task's key, with commas between`},
		{"rec session", "s1",
			"phv=16+15 mode=hit algorithm=brute probabilities=random encapsulation=gre truncate=63 source-ip=224.0.0.1 bits=9 " +
				"identities=2",
			`flowgroup is missing: want the name of a flow group; collector is missing: want the name of a collector; ` +
				`phv "16+15": want widths of 8, 16 or 32 joined by +, as in 16+16, 1024 bits at most; mode "hit": want exec, ` +
				`exec+hit or exec+action; ` +
				`algorithm "brute": want greedy, greedy-restarts or bnb; probabilities "random": want uniform or counted; ` +
				`encapsulation "gre": want udp or erspan; ` +
				`truncate "63": want 0 for whole frames, or 64 to 9216 bytes; source-ip "224.0.0.1": want a unicast IPv4 or IPv6 ` +
				`address; identities "2": want true or false; ` +
				`bits "9": want a field of the table`},
		{"rec session", "s1", "flowgroup=F collector=c mode=exec+hit algorithm=bnb",
			`algorithm "bnb": want greedy or greedy-restarts where mode is exec+hit`},
		{"rec session", "s1", "flowgroup=F collector=c mode=exec+action algorithm=bnb",
			`algorithm "bnb": want greedy or greedy-restarts where mode is exec+action`},
		{"rec flow", "s1", "collector=10.0.0.1:0 sampling-rate=0",
			`acl-table-name is missing: want the name of an ACL table; acl-rule-name is missing: want the name of an ACL ` +
				`rule; ` +
				`collector "10.0.0.1:0": want a unicast address and a port; sampling-rate "0": want a number in 1..4294967295`},
		{"rec flow", "s1", "acl-table-name=T acl-rule-name=r collector=[::ffff:10.0.0.1]:9",
			`collector "[::ffff:10.0.0.1]:9": want a unicast address and a port`},
		{"rec counters", "s1", "MATCHED=9 RECORDED=_", `NOT_SAMPLED is missing: want a number in 0..18446744073709551615; ` +
			`RECORDED is empty: want a number in 0..18446744073709551615; LOST is missing: want a number in ` +
			`0..18446744073709551615`},
		{"am counters", "s1", "GUARD=1 PERIOD=5 COLOUR=1 PACKETS=7 CAPTURES=1 CLOCK=declared",
			`BYTES is missing: want a number in 0..18446744073709551615; ` +
				`OUT_OF_WINDOW is missing: want a number in 0..18446744073709551615; FOREIGN_MARKS is missing: want a number in ` +
				`0..18446744073709551615; ` +
				`READ_AT is missing: want seconds since 1970, a point and nine digits; KERNEL_CLOCK_ERROR is missing: want a ` +
				`number in 0..9223372036854775807; ` +
				`KERNEL_CLOCK_OFFSET is missing: want a whole number of 64 bits; TIMESTAMP is missing: want seconds since 1970, ` +
				`a ` +
				`point and nine digits; ` +
				`DIGEST is missing: want a number in 0..4294967295`},
		{"task result", "t1", "EPOCH=7 START=1 END=2", `DIGESTS_LOST is missing: want a number in 0..18446744073709551615; ` +
			`FLOWS_CUT is missing: want a number in 0..18446744073709551615; LOAD is missing: want 0 to 1; FULL is missing: ` +
			`want 0 to 1`},
		{"switch hash", "global", "", `key "global": want GLOBAL`},
		{"switch hash", "GLOBAL", "ecmp_hash=SRC_IP,SRCIP lag_hash_algorithm=MD5",
			`ecmp_hash "SRCIP": want DST_IP, DST_MAC, ETHERTYPE, INNER_DST_IP, INNER_DST_MAC, INNER_ETHERTYPE, ` +
				`INNER_IP_PROTOCOL, INNER_L4_DST_PORT, INNER_L4_SRC_PORT, INNER_SRC_IP, INNER_SRC_MAC, IN_PORT, ` +
				`IPV6_FLOW_LABEL, IP_PROTOCOL, L4_DST_PORT, L4_SRC_PORT, SRC_IP, SRC_MAC or VLAN_ID; the nearest is SRC_IP; ` +
				`lag_hash_algorithm "MD5": want CRC, CRC_32HI, CRC_32LO, CRC_CCITT, CRC_XOR, RANDOM or XOR`},
		{"tunnel", "t", "tunnel_type=VXLAN src_ip=fc00::1 dst_ip=10.0.0.1 encap_ecn_mode=copy decap_tc_to_pg_map=m",
			`tunnel_type "VXLAN": want IPINIP; encap_ecn_mode "copy": want standard: nothing enters a tunnel; ` +
				`decap_tc_to_pg_map "m": want no such field: the traffic class follows from the outer header by the maps of the ` +
				`port; src_ip "fc00::1": want an address of the family of the destination 10.0.0.1`},
		{"tunnel", "t", "tunnel_type=IPINIP dst_ip=224.0.0.1", `dst_ip "224.0.0.1": want a unicast IPv4 or IPv6 address`},
		{"tunnel end", "t|192.168.0.0/21", "term_type=MP2MP src_ip=10.0.0.0/8 subnet_type=vlan",
			`term_type "MP2MP": want P2P or P2MP: the switch compares whole addresses, and has no ends for prefixes`},
		{"tunnel end", "t|192.168.0.0/21", "", `key "t|192.168.0.0/21": want tunnel|address, a whole address: a prefix is ` +
			`for MP2MP, which the switch does not have`},
		{"tunnel end", "t|10.0.0.1", "src_ip=10.0.0.2",
			`src_ip "10.0.0.2": want no such field: only the type P2P has a source`},
		{"tunnel end", "t|10.0.0.1", "term_type=P2P", `src_ip is missing: want a unicast IPv4 or IPv6 address`},
		{"tunnel end", "t|10.0.0.1", "term_type=P2P src_ip=fc00::1",
			`src_ip "fc00::1": want an address of the family of the destination 10.0.0.1`},
		{"crm", "Config", "acl_entry_low_threshold=90", `acl_entry_low_threshold "90": want at most the high threshold, 85`},
	}
	for _, tt := range tests {
		t.Run(tt.kind+" "+tt.key, func(t *testing.T) {
			_, err := rowTypes[tt.kind](tt.key, fieldsOf(tt.in))
			if got := Reason(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			var fe *FieldError
			if !errors.As(err, &fe) || !strings.Contains(fe.Error(), "|"+tt.key) {
				t.Errorf("%v is no FieldError that names the row", err)
			}
		})
	}
}

// Whatever a row contains, its error is short, printable, and produced quickly enough not to delay the rows of
// others.
func TestReasonOfHugeRows(t *testing.T) {
	many := func(word string) string {
		var b strings.Builder
		for i := range 20_000 {
			b.WriteString(word + strconv.Itoa(i) + ",")
		}
		return b.String()
	}
	huge := map[string]string{"\x00\xff\n\x1b[2J": "\xfe", "lanes": many("1"), "MATCHES": many("M"), "IN_PORTS": many("p"),
		"PORTS": many("p")}
	for i := range 20_000 {
		huge["f"+strconv.Itoa(i)] = strings.Repeat("v", i%100)
	}
	for _, f := range []string{"id", "TYPE", "PRIORITY", "SRC_IP", "alias", "switch-id", "mac", "brkout_mode",
		"BIND_POINTS", "status", "polling_interval"} {
		huge[f] = strings.Repeat("A", 1<<18)
	}
	for kind, parse := range rowTypes {
		for _, key := range []string{"\x00\xff|\n", strings.Repeat("k", 1<<16), "TAM|r", "Ethernet0"} {
			_, err := parse(key, huge)
			if err == nil {
				continue
			}
			for _, text := range []string{Reason(err), err.Error()} {
				control := strings.ContainsFunc(strings.ReplaceAll(text, "\n", " "), unicode.IsControl)
				if len(text) > 8192 || control || !utf8.ValidString(text) {
					t.Errorf("%s: %d bytes: %.200q", kind, len(text), text)
				}
			}
		}
	}
}

func TestReasonCountsErrors(t *testing.T) {
	f := map[string]string{}
	for i := range 20 {
		f[fmt.Sprintf("f%02d", i)] = "1"
	}
	_, err := ParseSampler("s", f)
	want := "sampling-rate is missing: want one in how many packets, 1..16777216; "
	for i := range 11 {
		want += fmt.Sprintf(`f%02d "1": want a field of the table: sampling-rate; `, i)
	}
	if got := Reason(err); got != want+"and 9 more" {
		t.Error(got)
	}
}

func TestStatusRow(t *testing.T) {
	since := time.Date(2024, 5, 6, 7, 8, 9, 10, time.UTC)
	s := Status{Status: FeatureUnsupported, Reason: "no TAM object", Since: since, By: ByTAMMgr}
	f := s.Fields(StateTAMFeature)
	want := map[string]string{"op-status": "UNSUPPORTED", "reason": "no TAM object",
		"since": "2024-05-06T07:08:09.00000001Z", "by": "tammgrd"}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	got, err := ParseStatus(StateTAMFeature, "TAILSTAMPING", f)
	if err != nil || got != s {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCompareNames(t *testing.T) {
	names := []string{"Ethernet10", "F", "Ethernet2", "Ethernet2a", "Ethernet02", "", "PortChannel1", "Ethernet", "F01",
		"F1", "F1b"}
	SortNames(names)
	want := []string{"", "Ethernet", "Ethernet02", "Ethernet2", "Ethernet2a", "Ethernet10", "F", "F01", "F1", "F1b",
		"PortChannel1"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func TestBuiltinACLTypes(t *testing.T) {
	for _, typ := range BuiltinACLTypes() {
		if got, ok := BuiltinACLType(typ.Name); !ok || !cmp.Equal(got, typ) {
			t.Errorf("%s: %v", typ.Name, ok)
		}
	}
}

// FuzzRows: no input makes a parser panic, every error names its row, and a parsed row is formatted to fields that
// parse to the same row.
func FuzzRows(f *testing.F) {
	kinds := slices.Sorted(maps.Keys(rowTypes))
	for i, s := range []string{
		"mac=52:54:00:12:34:56", "lanes=1,2 speed=1", "mtu=9100", "status=enabled", "vlanid=3", "tagging_mode=tagged",
		"brkout_mode=2x25G(2)+1x50G[40G](2)", "MATCHES=SRC_IP BIND_POINTS=PORT", "TYPE=L3 PORTS@=a,b",
		"SRC_IP=1.2.3.4 SRC_IP_MASK=255.0.255.0 TCP_FLAGS=0x2/0x12 IN_PORTS=Ethernet0 " +
			"SRC_MAC=02:00:00:00:00:01/ff:00:00:00:00:00",
		"DST_IPV6=2001::/16 L4_SRC_PORT_RANGE=1-2 PACKET_ACTION=REDIRECT:10.0.0.1@Ethernet0 PRIORITY=010",
		"switch-id=1", "ipaddress=::1 port=1 protocol=TCP", "status=ACTIVE", "sampling-rate=1",
		"flowgroup=F acl-table-name=T acl-rule-name=R role=initiator method=double interval=-3 mark=dscp0 mark2=dscp1",
		"PERIOD=1 TIMESTAMP=1.000000000 CAPTURES=1 FLAGS=first",
		"PERIOD=5 START=1.000000000 STATUS=ok LOST=-2 SENT=1 DELAY=-5 WINDOW_DELAYS=1", "id=1 table-name=T", "flowgroup=F",
		"flowgroup=F collector=c phv=8+16 must-record=b,a source-ip=10.0.0.1 truncate=64",
		"acl-table-name=T acl-rule-name=r collector=[2001:db8::1]:9 sampling-rate=3",
		"FLOW_OP=INT INT_SESSION=x FLOW_SAMPLE_PERCENT=3", "polling_interval=1",
		"nexthop=10.0.0.2,,:: ifname=Vlan10,Ethernet0,Vlan2 distance=1,2,3 weight=1,2,3", "blackhole=true",
		"neigh=02:00:00:00:00:01",
		"mac_addr=02:00:00:00:00:01 mtu=1500 family=IPv4", "port=Ethernet0 type=dynamic", "fdb_aging_time=0",
	} {
		for k := range kinds {
			f.Add(uint8(k), []string{"localhost", "Ethernet0", "PortChannel1|Ethernet0", "Vlan10", "Vlan10|Ethernet1", "T|R",
				"global",
				"Vlan10|10.0.0.1/24", "10.0.0.0/8", "2001:db8::/32", "Ethernet0|2001:db8::1", "Vlan10|02:00:00:00:00:01", "switch",
				"p:a:b"}[(i+k)%14], s)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, key, s string) {
		parse := rowTypes[kinds[int(kind)%len(kinds)]]
		got, err := parse(key, fieldsOf(s))
		if err != nil {
			if fe := (*FieldError)(nil); !errors.As(err, &fe) || Reason(err) == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := parse(key, got.Fields())
		if err != nil || !cmp.Equal(got, again, ignoreAddrs) {
			t.Fatalf("%v: %+v parses to %+v", err, got, again)
		}
	})
}

// A list with more elements than any switch has objects is refused in a short text, whatever the field.
func TestListsTooLong(t *testing.T) {
	long := strings.Repeat("Ethernet0,", 20_000) + "Ethernet0"
	for _, table := range Tables() {
		for _, f := range table.Fields {
			if table.Parse == nil {
				continue
			}
			_, err := table.Parse("k", map[string]string{f.Name: long})
			if err != nil && len(err.Error()) > 4096 {
				t.Errorf("%s %s: %d bytes of error", table.Config, f.Name, len(err.Error()))
			}
		}
	}
	const want = "at most 4096 elements, not 20001"
	tam, _ := BuiltinACLType(ACLTypeTAM)
	for name, err := range map[string]error{
		"ports of an ACL table": func() error {
			_, err := ParseACLTable("T", map[string]string{"type": "L3", "ports@": long})
			return err
		}(),
		"ports of an ACL rule": func() error {
			_, err := ParseACLRule(tam, "TAM|r", map[string]string{"IN_PORTS": long})
			return err
		}(),
		"next hops": func() error {
			_, err := ParseStaticRoute("10.0.0.0/8", map[string]string{"ifname": long})
			return err
		}(),
		"tables to record": func() error {
			_, err := ParseRecordSession("s", map[string]string{"must-record": long, "flowgroup": "g", "collector": "c"})
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// Rows and keys that are too large are refused as a whole, in one line and whatever else is wrong with them.
func TestTooLarge(t *testing.T) {
	_, err := ParseTailStampSession("s", TooLarge(1000, 10))
	if got, want := Reason(err), "the row has 1000 bytes: want at most 10"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, err = ParseTailStampSession("s", TooMany(3, 20))
	many := "the table has more than 3 rows, or more than 20 bytes: the first by name are taken"
	if got, want := Reason(err), many; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, err = ParseTailStampSession(strings.Repeat("s", 256), map[string]string{"flowgroup": "g"})
	if got, want := Reason(err), "the key has 256 bytes: want at most 255"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err = ParseTailStampSession(strings.Repeat("s", 255), map[string]string{"flowgroup": "g"}); err != nil {
		t.Error(err)
	}
}
