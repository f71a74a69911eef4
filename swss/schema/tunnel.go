package schema

import (
	"net/netip"
	"strings"
)

// Tables of tunnels that end at the switch. APPL_DB and STATE_DB have the same names, as in SONiC.
const (
	CfgTunnel     = "TUNNEL"
	AppTunnel     = "TUNNEL_DECAP_TABLE"
	AppTunnelTerm = "TUNNEL_DECAP_TERM_TABLE"
)

// Types of the ends of tunnels: which sources and which destinations end there.
const (
	TermP2P   = "P2P"   // one source, one destination
	TermP2MP  = "P2MP"  // any source, one destination
	TermMP2MP = "MP2MP" // prefixes, which the switch does not support
)

// Modes of a tunnel for the fields of headers.
const (
	TunnelUniform     = "uniform"         // the inner header gets the outer header's value
	TunnelPipe        = "pipe"            // the inner header keeps its value
	TunnelCopyOuter   = "copy_from_outer" // the inner header gets the outer header's ECN codepoint
	TunnelStandardECN = "standard"        // both ECN codepoints are merged as in RFC 6040
)

// TunnelIPinIP is the only type of tunnels.
const TunnelIPinIP = "IPINIP"

// A TunnelDecap is a row of TUNNEL_DECAP_TABLE: how packets leave a tunnel. Its ends have rows of their own.
type TunnelDecap struct {
	Name      string
	Type      string // TunnelIPinIP
	DSCP, TTL string // TunnelUniform or TunnelPipe
	ECN       string // TunnelCopyOuter or TunnelStandardECN
}

// A Tunnel is a row of TUNNEL: a tunnel with its only end.
type Tunnel struct {
	TunnelDecap
	Dst netip.Addr // where it ends
	Src netip.Addr // whose packets end there; zero means all sources
}

// decapFields returns the fields that TUNNEL and TUNNEL_DECAP_TABLE share.
func (t *TunnelDecap) decapFields() []field {
	const keeps = "the packet keeps its own (pipe), or gets that of the outer header (uniform)."
	modes := []string{TunnelUniform, TunnelPipe}
	return []field{
		word("tunnel_type", "", []string{TunnelIPinIP}, &t.Type, "IP in IP, by IPv4 or IPv6.").needed(),
		word("dscp_mode", TunnelUniform, modes, &t.DSCP, "DSCP of packets that leave the tunnel: "+keeps),
		word("ttl_mode", TunnelUniform, modes, &t.TTL, "TTL of packets that leave the tunnel: "+keeps),
		word("ecn_mode", TunnelStandardECN, []string{TunnelCopyOuter, TunnelStandardECN}, &t.ECN,
			"ECN of packets that leave the tunnel: both are merged (standard, RFC 6040), or the outer one counts."),
		unsupported("encap_ecn_mode", TunnelStandardECN, "standard: nothing enters a tunnel", "Nothing enters a tunnel."),
		unsupported("decap_dscp_to_tc_map", "", outerClass, "The traffic class is that of the outer header at the port."),
		unsupported("decap_tc_to_pg_map", "", outerClass, "The priority group is that of the outer header at the port."),
		ignored("encap_tc_to_dscp_map", "encap_tc_to_queue_map"),
	}
}

const outerClass = "no such field: the traffic class follows from the outer header by the maps of the port"

func (t *TunnelDecap) layout() layout {
	return layout{table: AppTunnel, key: named(&t.Name), fields: append(t.decapFields(), ignored("src_ip"),
		mark())}
}

func (t *Tunnel) layout() layout {
	return layout{table: CfgTunnel, key: named(&t.Name), fields: append(t.decapFields(),
		own("dst_ip", unicastForm, "Where it ends: an address of the switch.", func(r *reader) {
			v, _ := r.value("dst_ip")
			t.Dst = r.host("dst_ip", v)
		}, func() string { return t.Dst.String() }),
		own("src_ip", unicastForm, "Whose packets end there; without it, those of all hosts.", func(r *reader) {
			if v, ok := r.value("src_ip"); ok {
				t.Src = r.host("src_ip", v)
			}
		}, func() string { return addrText(t.Src) }),
	), check: func(r *reader) { r.oneFamily("src_ip", t.Src, t.Dst) }}
}

// Term returns the row of the tunnel's end.
func (t Tunnel) Term() TunnelTerm { return TunnelTerm{Tunnel: t.Name, Dst: t.Dst, Src: t.Src} }

// A TunnelTerm is a row of TUNNEL_DECAP_TERM_TABLE: the end of a tunnel.
type TunnelTerm struct {
	Tunnel   string     // name of a TunnelDecap
	Dst, Src netip.Addr // Src is zero for all sources
}

const termKey = "tunnel|address"

func (t *TunnelTerm) layout() layout {
	return layout{
		table: AppTunnelTerm,
		key: key{form: termKey, read: func(r *reader, key string) {
			name, addr, _ := strings.Cut(key, "|")
			a, whole := hostAddress(addr)
			if t.Tunnel, t.Dst = name, a; !ValidName(name) || !whole && !isPrefix(addr) {
				r.bad("", key, termKey+", such as IPINIP_TUNNEL|10.1.0.32")
			}
		}},
		fields: []field{
			own("term_type", oneOf([]string{TermP2P, TermP2MP}), "Packets of one source end there, or those of all.",
				t.readType, func() string {
					if t.Src.IsValid() {
						return TermP2P
					}
					return TermP2MP
				}).or(TermP2MP),
			own("src_ip", unicastForm, "The source. Of P2P.", nil, func() string { return addrText(t.Src) }),
			ignored("subnet_type"), mark(),
		},
	}
}

// readType reads the type of an end, and its source.
func (t *TunnelTerm) readType(r *reader) {
	r.value("src_ip")
	src, given := r.fields["src_ip"]
	switch v := r.word("term_type", TermP2MP, TermP2P, TermP2MP, TermMP2MP); {
	case v == TermMP2MP:
		r.bad("term_type", v, oneOf([]string{TermP2P, TermP2MP})+
			": the switch compares whole addresses, and has no ends for prefixes")
	case !t.Dst.IsValid():
		r.bad("", r.key, termKey+", a whole address: a prefix is for "+TermMP2MP+", which the switch does not have")
	case v == TermP2P:
		a, whole := hostAddress(src)
		if t.Src = a; !whole {
			r.bad("src_ip", src, unicastForm)
			return
		}
		r.oneFamily("src_ip", t.Src, t.Dst)
	case given && src != "" && v == TermP2MP:
		r.bad("src_ip", src, "no such field: only the type "+TermP2P+" has a source")
	}
}

// oneFamily refuses an address that is of another family than the destination.
func (r *reader) oneFamily(field string, a, dst netip.Addr) {
	if a.IsValid() && dst.IsValid() && a.Is4() != dst.Is4() {
		r.bad(field, a.String(), "an address of the family of the destination "+dst.String())
	}
}

// hostAddress parses the unicast address of a host, maybe with its full length as in SONiC: 10.0.0.1/32.
func hostAddress(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	if p, perr := netip.ParsePrefix(text); perr == nil && p.IsSingleIP() {
		a, err = p.Addr(), nil
	}
	if err != nil || noHost(a) {
		return netip.Addr{}, false
	}
	return a.Unmap(), true
}

func isPrefix(text string) bool {
	_, err := netip.ParsePrefix(text)
	return err == nil
}

// addrText formats an address, or "" for the zero address.
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// mark returns the field that marks rows of APPL_DB that a manager wrote, see [FieldConfigKey].
func mark() field {
	return own(FieldConfigKey, "key in CONFIG_DB", "In APPL_DB: set if a manager wrote the row.",
		func(r *reader) { r.value(FieldConfigKey) }, nil).hidden()
}

func tunnelTables() []Table {
	return []Table{
		ofBoth(Table{Config: CfgTunnel, Appl: AppTunnel, State: AppTunnel,
			Words: "A tunnel of IP in IP that ends at the switch."}, Tunnel{}, TunnelDecap{}),
		of(Table{Appl: AppTunnelTerm, State: AppTunnelTerm, Status: FieldStatus, Good: StatusActive,
			Waiting: StatusPending, Unknown: StatusUnknown, Words: "An address where a tunnel ends."}, TunnelTerm{}),
	}
}
