package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"tamtam/swss"
)

// A stockRow is a row as SONiC's managers write it to APPL_DB, or as an operator writes it to CONFIG_DB for orchagent
// itself.
type stockRow struct {
	db     swss.DBName
	table  string
	key    string
	fields swss.FieldValues
	needs  []string // the ids of the rows that must exist before this one
}

// id names a row, in both databases.
func (r *stockRow) id() string { return r.table + "|" + r.key }

// stockTables are the tables in the order in which their rows are written at a start.
var stockTables = []string{
	"PORT_TABLE", "BUFFER_POOL_TABLE", "BUFFER_PROFILE_TABLE", "BUFFER_PG_TABLE", "BUFFER_QUEUE_TABLE", "COPP_TABLE",
	"VRF_TABLE", "VLAN_TABLE", "LAG_TABLE", "VLAN_MEMBER_TABLE", "LAG_MEMBER_TABLE", "INTF_TABLE", "NEIGH_TABLE",
	"ROUTE_TABLE", "MIRROR_SESSION", "ACL_TABLE", "ACL_RULE", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "SCHEDULER",
	"WRED_PROFILE", "QUEUE", "PORT_QOS_MAP",
}

// stockPorts is the number of ports that the random rows use, of 32.
const stockPorts = 12

// stockRows is a random configuration of a switch with SONiC's orchagent, valid at each moment: a row goes only after
// all rows that need it.
type stockRows struct {
	*rand.Rand
	rows map[string]*stockRow
	cut  map[string]bool // the ports without a link
	// put and drop are called for each row that is written, or removed.
	put, drop func(*stockRow)
}

// words returns fields that are separated by spaces.
func words(text string) swss.FieldValues {
	f := swss.FieldValues{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		f[name] = value
	}
	return f
}

// appl sets a row of APPL_DB, config one of CONFIG_DB.
func (w *stockRows) appl(table, key, fields string, needs ...string) {
	w.set(&stockRow{swss.ApplDB, table, key, words(fields), needs})
}

func (w *stockRows) config(table, key, fields string, needs ...string) {
	w.set(&stockRow{swss.ConfigDB, table, key, words(fields), needs})
}

// set writes a row, whose fields take the place of all fields before.
func (w *stockRows) set(r *stockRow) {
	w.rows[r.id()] = r
	w.put(r)
}

// remove removes a row after those that need it.
func (w *stockRows) remove(id string) {
	for _, user := range w.users(id) {
		w.remove(user)
	}
	if r := w.rows[id]; r != nil {
		delete(w.rows, id)
		w.drop(r)
	}
}

// users returns the ids of the rows that need a row, in the reverse order of tables.
func (w *stockRows) users(id string) (ids []string) {
	for _, r := range w.sorted() {
		if slices.Contains(r.needs, id) {
			ids = append(ids, r.id())
		}
	}
	slices.Reverse(ids)
	return ids
}

// used reports whether a row of one of some tables needs a row.
func (w *stockRows) used(id string, tables ...string) bool {
	return slices.ContainsFunc(w.users(id), func(user string) bool {
		table, _, _ := strings.Cut(user, "|")
		return slices.Contains(tables, table)
	})
}

// sorted returns all rows in the order in which they may be written.
func (w *stockRows) sorted() []*stockRow {
	return slices.SortedFunc(maps.Values(w.rows), func(a, b *stockRow) int {
		if d := slices.Index(stockTables, a.table) - slices.Index(stockTables, b.table); d != 0 {
			return d
		}
		if d := strings.Count(a.key, ":") - strings.Count(b.key, ":"); d != 0 && a.table == "INTF_TABLE" {
			return d // the interface, then its addresses
		}
		return strings.Compare(a.key, b.key)
	})
}

// of returns the rows of a table, in order.
func (w *stockRows) of(table string) []*stockRow {
	return slices.DeleteFunc(w.sorted(), func(r *stockRow) bool { return r.table != table })
}

// pick returns one of some values, and false if there is none.
func pick[T any](r *rand.Rand, list []T) (one T, ok bool) {
	if len(list) == 0 {
		return one, false
	}
	return list[r.IntN(len(list))], true
}

func portName(i int) string { return fmt.Sprint("Ethernet", 4*i) }

// ground writes the rows that every switch has.
func (w *stockRows) ground() {
	for i := range 32 {
		w.appl("PORT_TABLE", portName(i), fmt.Sprintf(
			"alias=etp%d index=%d lanes=%d,%d,%d,%d speed=100000 mtu=9100 admin_status=up", i+1, i+1, 4*i, 4*i+1, 4*i+2, 4*i+3))
	}
	w.appl("BUFFER_POOL_TABLE", "ingress_lossless_pool", "size=12766208 type=ingress mode=dynamic")
	w.appl("BUFFER_POOL_TABLE", "egress_lossy_pool", "size=7326924 type=egress mode=dynamic")
	w.appl("BUFFER_PROFILE_TABLE", "egress_lossy_profile", "pool=egress_lossy_pool size=1518 dynamic_th=3",
		"BUFFER_POOL_TABLE|egress_lossy_pool")
	w.appl("BUFFER_PROFILE_TABLE", "ingress_lossy_profile", "pool=ingress_lossless_pool size=0 dynamic_th=3",
		"BUFFER_POOL_TABLE|ingress_lossless_pool")
	// startForeign has these two in CONFIG_DB, and orchagent waits for them
	w.appl("BUFFER_QUEUE_TABLE", "Ethernet8:0-2", "profile=egress_lossy_profile",
		"BUFFER_PROFILE_TABLE|egress_lossy_profile")
	w.appl("BUFFER_PG_TABLE", "Ethernet8:0", "profile=ingress_lossy_profile", "BUFFER_PROFILE_TABLE|ingress_lossy_profile")
	w.appl("COPP_TABLE", "queue4_group1", "queue=4 trap_action=trap trap_priority=4 trap_ids=bgp,bgpv6,lacp")
	w.appl("COPP_TABLE", "queue1_group1", "queue=1 meter_type=packets mode=sr_tcm cir=6000 cbs=6000 red_action=drop "+
		"trap_action=trap trap_priority=1 trap_ids=ip2me")
}

// free returns the ports that are in no VLAN and no LAG, are no router interface, and which no ACL table names.
func (w *stockRows) free() (ports []string) {
	for i := range stockPorts {
		if p := portName(i); !w.used("PORT_TABLE|"+p, "VLAN_MEMBER_TABLE", "LAG_MEMBER_TABLE", "INTF_TABLE", "ACL_TABLE") {
			ports = append(ports, p)
		}
	}
	return ports
}

// bases returns the ids of ports, LAGs and VLANs that may become a router interface.
func (w *stockRows) bases() (ids []string) {
	for _, p := range w.free() {
		ids = append(ids, "PORT_TABLE|"+p)
	}
	for _, table := range []string{"LAG_TABLE", "VLAN_TABLE"} {
		for _, r := range w.of(table) {
			if !w.used(r.id(), "INTF_TABLE") && (table == "VLAN_TABLE" || !w.used(r.id(), "VLAN_MEMBER_TABLE")) {
				ids = append(ids, r.id())
			}
		}
	}
	return ids
}

// addresses returns the rows of INTF_TABLE with an address.
func (w *stockRows) addresses() []*stockRow {
	return slices.DeleteFunc(w.of("INTF_TABLE"), func(r *stockRow) bool { return !strings.Contains(r.key, ":") })
}

// An endpoint is a neighbour: its interface, addresses, and the VRF of the interface.
type endpoint struct {
	id, intf, ip, mac, vrf string
}

func (w *stockRows) endpoints() (list []endpoint) {
	for _, r := range w.of("NEIGH_TABLE") {
		intf, ip, _ := strings.Cut(r.key, ":")
		list = append(list, endpoint{r.id(), intf, ip, r.fields["neigh"], w.vrf(intf)})
	}
	return list
}

// vrf returns the VRF of a router interface, "" for the default.
func (w *stockRows) vrf(intf string) string {
	if r := w.rows["INTF_TABLE|"+intf]; r != nil {
		return r.fields["vrf_name"]
	}
	return ""
}

// change makes a random change and returns what it is.
func (w *stockRows) change() string {
	for {
		if w.IntN(3) == 0 {
			if what := w.removal(); what != "" {
				return what
			}
		}
		if what := w.addition(); what != "" {
			return what
		}
	}
}

// removal removes a row that is not of the ground, with those that need it.
func (w *stockRows) removal() string {
	var ids []string
	for _, r := range w.sorted() {
		switch r.table {
		case "PORT_TABLE", "BUFFER_POOL_TABLE", "BUFFER_PROFILE_TABLE", "BUFFER_PG_TABLE", "BUFFER_QUEUE_TABLE", "COPP_TABLE":
		default:
			ids = append(ids, r.id())
		}
	}
	id, ok := pick(w.Rand, ids)
	if !ok {
		return ""
	}
	w.remove(id)
	return "remove " + id
}

// addition adds or changes a row; "" if the drawn one is impossible now.
func (w *stockRows) addition() string {
	switch w.IntN(17) {
	case 0:
		return w.addVLAN()
	case 1, 2:
		return w.addVLANMember()
	case 3:
		name := fmt.Sprint("PortChannel", 1+w.IntN(3))
		if w.rows["LAG_TABLE|"+name] != nil {
			return ""
		}
		w.appl("LAG_TABLE", name, "admin_status=up mtu=9100 oper_status=up")
		return "LAG " + name
	case 4, 5:
		return w.addLAGMember()
	case 6, 7:
		return w.addInterface()
	case 8, 9:
		return w.addNeighbor()
	case 10, 11:
		return w.addRoute()
	case 12:
		return w.changePort()
	case 13:
		return w.addACL()
	case 14:
		return w.addRule()
	case 15:
		return w.addMirror()
	}
	return w.addQoS()
}

func (w *stockRows) addVLAN() string {
	name := fmt.Sprint("Vlan", 10+w.IntN(4))
	if w.rows["VLAN_TABLE|"+name] != nil {
		return ""
	}
	w.appl("VLAN_TABLE", name, "admin_status=up mtu=9100 host_ifname=")
	return "VLAN " + name
}

func (w *stockRows) addVLANMember() string {
	vlan, ok := pick(w.Rand, w.of("VLAN_TABLE"))
	if !ok {
		return ""
	}
	var members []string
	for i := range stockPorts {
		id := "PORT_TABLE|" + portName(i)
		if !w.used(id, "LAG_MEMBER_TABLE", "INTF_TABLE", "ACL_TABLE") {
			members = append(members, id)
		}
	}
	for _, lag := range w.of("LAG_TABLE") {
		if !w.used(lag.id(), "INTF_TABLE", "ACL_TABLE") {
			members = append(members, lag.id())
		}
	}
	id, ok := pick(w.Rand, members)
	_, member, _ := strings.Cut(id, "|")
	key := vlan.key + ":" + member
	if !ok || w.rows["VLAN_MEMBER_TABLE|"+key] != nil {
		return ""
	}
	mode := "tagged"
	if !w.used(id, "VLAN_MEMBER_TABLE") && w.IntN(2) == 0 {
		mode = "untagged"
	}
	w.appl("VLAN_MEMBER_TABLE", key, "tagging_mode="+mode, vlan.id(), id)
	return "VLAN member " + key + " " + mode
}

func (w *stockRows) addLAGMember() string {
	lag, ok := pick(w.Rand, w.of("LAG_TABLE"))
	port, free := pick(w.Rand, w.free())
	if !ok || !free {
		return ""
	}
	w.member(lag.key, port)
	return "LAG member " + lag.key + ":" + port
}

// member writes the row of a LAG's member as SONiC's teamsyncd does: disabled while the port is down.
func (w *stockRows) member(lag, port string) {
	status := "disabled"
	if w.up(port) {
		status = "enabled"
	}
	w.appl("LAG_MEMBER_TABLE", lag+":"+port, "status="+status, "LAG_TABLE|"+lag, "PORT_TABLE|"+port)
}

// up reports whether a port is operationally up.
func (w *stockRows) up(port string) bool {
	return !w.cut[port] && w.rows["PORT_TABLE|"+port].fields["admin_status"] == "up"
}

// stateChanged writes the row of the LAG, if any, that a port is in.
func (w *stockRows) stateChanged(port string) {
	for _, m := range w.of("LAG_MEMBER_TABLE") {
		if lag, of, _ := strings.Cut(m.key, ":"); of == port {
			w.member(lag, port)
		}
	}
}

// addInterface makes a router interface with the address of a subnet that no other has, of IPv4, IPv6 or both.
func (w *stockRows) addInterface() string {
	base, ok := pick(w.Rand, w.bases())
	if !ok {
		return ""
	}
	used := map[byte]bool{}
	for _, r := range w.addresses() {
		used[subnet(r)] = true
	}
	n := byte(1)
	for used[n] {
		n++
	}
	_, name, _ := strings.Cut(base, "|")
	fields, needs := "mac_addr=00:00:00:00:00:00", []string{base}
	if w.IntN(4) == 0 {
		vrf := fmt.Sprint("Vrf", 1+w.IntN(2))
		if w.rows["VRF_TABLE|"+vrf] == nil {
			w.appl("VRF_TABLE", vrf, "fallback=false")
		}
		fields, needs = fields+" vrf_name="+vrf, append(needs, "VRF_TABLE|"+vrf)
	}
	w.appl("INTF_TABLE", name, fields, needs...)
	families := 1 + w.IntN(3) // a set of bits
	if families&1 != 0 {
		w.appl("INTF_TABLE", fmt.Sprintf("%s:10.%d.0.1/24", name, n), "scope=global family=IPv4", "INTF_TABLE|"+name)
	}
	if families&2 != 0 {
		w.appl("INTF_TABLE", fmt.Sprintf("%s:fc00:%x::1/64", name, n), "scope=global family=IPv6", "INTF_TABLE|"+name)
	}
	return fmt.Sprintf("interface %s %d %s, families %d", name, n, fields, families)
}

// subnet returns the number of the subnet of a router interface's address, in both families.
func subnet(address *stockRow) byte {
	_, text, _ := strings.Cut(address.key, ":")
	ip := netip.MustParsePrefix(text).Addr()
	if ip.Is4() {
		return ip.As4()[1]
	}
	return ip.As16()[3]
}

func (w *stockRows) addNeighbor() string {
	at, ok := pick(w.Rand, w.addresses())
	if !ok {
		return ""
	}
	name, prefix, _ := strings.Cut(at.key, ":")
	first, host := netip.MustParsePrefix(prefix).Addr(), byte(2+w.IntN(4))
	bytes, kind, family := first.AsSlice(), byte(0), "IPv4"
	bytes[len(bytes)-1] = host
	if first.Is6() {
		kind, family = 2, "IPv6"
	}
	if w.IntN(4) == 0 {
		kind++
	}
	ip, _ := netip.AddrFromSlice(bytes)
	mac := fmt.Sprintf("02:00:00:%02x:%02x:%02x", kind, subnet(at), host)
	w.appl("NEIGH_TABLE", name+":"+ip.String(), "neigh="+mac+" family="+family, at.id())
	return "neighbour " + name + ":" + ip.String() + " " + mac
}

// addRoute adds or changes a route through one to three neighbours of a VRF, or a route that drops.
func (w *stockRows) addRoute() string {
	all := w.endpoints()
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if len(all) == 0 {
		return ""
	}
	vrf, six := all[0].vrf, netip.MustParseAddr(all[0].ip).Is6()
	key := w.block(six).String()
	var needs, ips, intfs []string
	if vrf != "" {
		key, needs = vrf+":"+key, append(needs, "VRF_TABLE|"+vrf)
	}
	if w.IntN(8) == 0 {
		w.appl("ROUTE_TABLE", key, "blackhole=true", needs...)
		return "route " + key + " drops"
	}
	for _, e := range all[:min(len(all), 1+w.IntN(3))] {
		if e.vrf == vrf && netip.MustParseAddr(e.ip).Is6() == six {
			ips, intfs, needs = append(ips, e.ip), append(intfs, e.intf), append(needs, e.id)
		}
	}
	w.appl("ROUTE_TABLE", key, "nexthop="+strings.Join(ips, ",")+" ifname="+strings.Join(intfs, ","), needs...)
	return "route " + key + " by " + strings.Join(ips, ",")
}

// block returns a random prefix for a route or an ACL rule: a group of subnets, or one of them.
func (w *stockRows) block(six bool) netip.Prefix {
	group, one, long := w.IntN(6), w.IntN(3), w.IntN(2) == 0
	switch {
	case six && long:
		return netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x:%x::/64", group, one))
	case six:
		return netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/48", group))
	case long:
		return netip.MustParsePrefix(fmt.Sprintf("20.%d.%d.0/24", group, one))
	}
	return netip.MustParsePrefix(fmt.Sprintf("20.%d.0.0/16", group))
}

// changePort changes the admin state of a port.
func (w *stockRows) changePort() string {
	id := "PORT_TABLE|" + portName(w.IntN(stockPorts))
	r := *w.rows[id]
	r.fields = maps.Clone(r.fields)
	r.fields["admin_status"] = map[string]string{"up": "down", "down": "up"}[r.fields["admin_status"]]
	w.set(&r)
	w.stateChanged(r.key)
	return id + " " + r.fields["admin_status"]
}

// addACL binds an ACL table to ports and LAGs that no other one has.
func (w *stockRows) addACL() string {
	n := w.IntN(len(aclTypes))
	key := fmt.Sprint("ACL", n)
	if w.rows["ACL_TABLE|"+key] != nil {
		return ""
	}
	var ids, names []string
	for i := range stockPorts {
		if id := "PORT_TABLE|" + portName(i); !w.used(id, "LAG_MEMBER_TABLE", "ACL_TABLE") {
			ids = append(ids, id)
		}
	}
	for _, lag := range w.of("LAG_TABLE") {
		if !w.used(lag.id(), "ACL_TABLE") {
			ids = append(ids, lag.id())
		}
	}
	w.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(len(ids), 1+w.IntN(4))]
	if len(ids) == 0 {
		return ""
	}
	for _, id := range ids {
		_, name, _ := strings.Cut(id, "|")
		names = append(names, name)
	}
	w.config("ACL_TABLE", key, "type="+aclTypes[n]+" stage=ingress policy_desc="+key+" ports@="+strings.Join(names, ","),
		ids...)
	return "ACL table " + key + " " + aclTypes[n] + " at " + strings.Join(names, ",")
}

// aclTypes are the types of the ACL tables, each of which exists at most once.
var aclTypes = []string{"L3", "L3", "L3V6", "MIRROR"}

func (w *stockRows) addRule() string {
	table, ok := pick(w.Rand, w.of("ACL_TABLE"))
	if !ok {
		return ""
	}
	kind, n, needs := table.fields["type"], w.IntN(5), []string{table.id()}
	dst := w.block(kind == "L3V6")
	if at, ok := pick(w.Rand, w.addresses()); ok && w.IntN(3) == 0 {
		_, text, _ := strings.Cut(at.key, ":")
		if p := netip.MustParsePrefix(text).Masked(); p.Addr().Is6() == (kind == "L3V6") {
			dst = p
		}
	}
	action := "PACKET_ACTION=" + []string{"DROP", "FORWARD"}[w.IntN(2)]
	if kind == "MIRROR" {
		session, ok := pick(w.Rand, w.of("MIRROR_SESSION"))
		if !ok {
			return ""
		}
		action, needs = "MIRROR_INGRESS_ACTION="+session.key, append(needs, session.id())
	}
	fields := fmt.Sprintf("PRIORITY=%d %s=%s %s", 100+n, dstField(table), dst, action)
	key := fmt.Sprintf("%s|R%d", table.key, n)
	w.config("ACL_RULE", key, fields, needs...)
	return "ACL rule " + key + " " + fields
}

// dstField returns the field of a table's rules for the destination.
func dstField(table *stockRow) string {
	if table.fields["type"] == "L3V6" {
		return "DST_IPV6"
	}
	return "DST_IP"
}

// addMirror makes a session to a host at a port. The host need not be there.
func (w *stockRows) addMirror() string {
	key := fmt.Sprint("M", w.IntN(2))
	at, ok := pick(w.Rand, slices.DeleteFunc(w.addresses(), func(r *stockRow) bool {
		name, prefix, _ := strings.Cut(r.key, ":")
		return !strings.HasPrefix(name, "Ethernet") || w.vrf(name) != "" || netip.MustParsePrefix(prefix).Addr().Is6()
	}))
	if !ok || w.rows["MIRROR_SESSION|"+key] != nil {
		return ""
	}
	fields := fmt.Sprintf("type=ERSPAN src_ip=10.255.0.1 dst_ip=10.%d.0.%d gre_type=0x88be dscp=8 ttl=64 queue=0",
		subnet(at), 2+w.IntN(4))
	w.config("MIRROR_SESSION", key, fields, at.id())
	return "mirror session " + key + " " + fields
}

// addQoS adds or changes a row of a QoS table.
func (w *stockRows) addQoS() string {
	port := portName(w.IntN(stockPorts))
	switch w.IntN(7) {
	case 0:
		w.config("DSCP_TO_TC_MAP", fmt.Sprint("D", w.IntN(2)), fmt.Sprintf("0=1 8=%d 46=%d", w.IntN(8), w.IntN(8)))
		return "DSCP map"
	case 1:
		w.config("TC_TO_QUEUE_MAP", fmt.Sprint("Q", w.IntN(2)), fmt.Sprintf("0=0 1=%d 5=%d", w.IntN(8), w.IntN(8)))
		return "queue map"
	case 2:
		w.config("SCHEDULER", fmt.Sprint("s", w.IntN(2)), fmt.Sprintf("type=DWRR weight=%d", 1+w.IntN(90)))
		return "scheduler"
	case 3:
		w.config("WRED_PROFILE", "W", fmt.Sprintf("wred_green_enable=true green_min_threshold=%d "+
			"green_max_threshold=2097152 green_drop_probability=5 ecn=ecn_all", 250000+w.IntN(1000)))
		return "WRED profile"
	case 4:
		fields, needs := "", []string{"PORT_TABLE|" + port}
		if r, ok := pick(w.Rand, w.of("SCHEDULER")); ok {
			fields, needs = " scheduler="+r.key, append(needs, r.id())
		}
		if r := w.rows["WRED_PROFILE|W"]; r != nil && w.IntN(2) == 0 {
			fields, needs = fields+" wred_profile=W", append(needs, r.id())
		}
		key := fmt.Sprintf("%s|%d", port, w.IntN(8))
		if fields == "" || w.rows["QUEUE|"+key] != nil {
			return ""
		}
		w.config("QUEUE", key, fields, needs...)
		return "queue " + key + fields
	case 5:
		dscp, ok := pick(w.Rand, w.of("DSCP_TO_TC_MAP"))
		queue, both := pick(w.Rand, w.of("TC_TO_QUEUE_MAP"))
		if !ok || !both || w.rows["PORT_QOS_MAP|"+port] != nil {
			return ""
		}
		w.config("PORT_QOS_MAP", port, "dscp_to_tc_map="+dscp.key+" tc_to_queue_map="+queue.key,
			dscp.id(), queue.id(), "PORT_TABLE|"+port)
		return "maps of " + port
	}
	w.appl("BUFFER_PROFILE_TABLE", "egress_lossy_profile", fmt.Sprintf("pool=egress_lossy_pool size=1518 dynamic_th=%d",
		w.IntN(4)), "BUFFER_POOL_TABLE|egress_lossy_pool")
	return "threshold of a buffer profile"
}

// flap cuts a link or connects it again, and returns what it did.
func (w *stockRows) flap() string {
	port := portName(w.IntN(stockPorts))
	w.cut[port] = !w.cut[port]
	w.stateChanged(port)
	return fmt.Sprintf("link of %s cut: %t", port, w.cut[port])
}
