package device_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// inTunnel returns a frame for 10.9.0.1 in an outer IPv4 header from src to dst, whose DSCP is 46 and whose TTL is 200.
func inTunnel(t *testing.T, src, dst string) []byte {
	t.Helper()
	inner := ipFrame(t, devicetest.HostMAC(5), "192.0.2.7", "10.9.0.1", 30, 1)
	outer := &layers.IPv4{Version: 4, IHL: 5, TTL: 200, TOS: 46 << 2, Protocol: layers.IPProtocolIPv4,
		SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dst)}
	buf := gopacket.NewSerializeBuffer()
	fix := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	devicetest.NoError(t, gopacket.SerializeLayers(buf, fix, outer, gopacket.Payload(inner[14:])))
	return append(bytes.Clone(inner[:14]), buf.Bytes()...)
}

// tunnelTo describes the only frame that leaves for a packet in a tunnel, with its DSCP.
func (r *routed) tunnelTo(src, dst string) string {
	r.Helper()
	outs := r.send(0, inTunnel(r.T, src, dst))
	if len(outs) != 1 {
		return fmt.Sprint(len(outs), " frames")
	}
	return fmt.Sprint(describe(outs[0]), " dscp ", outs[0].Data[15]>>2)
}

// applied writes a row of APPL_DB, as swssconfig does.
func (r *routed) applied(table, key string, fields ...swss.Pair) {
	r.Helper()
	devicetest.NoError(r.T, swss.NewProducerState(r.Redis.DB(swss.ApplDB), table).Set(r.Context(), key, fields))
	devicetest.RunUntilIdle(r.T, r.Sim)
}

// From the row of CONFIG_DB to frames: packets to the address of a tunnel leave their outer header, and continue by
// their own. A tunnel with a source takes packets of that source only. Others are for the switch itself.
func TestTunnel(t *testing.T) {
	r := newRouted(t)
	const pipe = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 192.0.2.7 > 10.9.0.1 ttl 29 dscp 0"
	const cpu = "port 65535 02:00:00:00:00:05 > 02:00:00:00:07:e4 "
	const uniform = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 192.0.2.7 > 10.9.0.1 ttl 199 dscp 46"
	to := func(want string) {
		t.Helper()
		if got := r.tunnelTo("10.0.0.5", "10.255.0.1"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	to(cpu + "10.0.0.5 > 10.255.0.1 ttl 200 dscp 46")
	row := swss.FieldValues{"tunnel_type": "IPINIP", "dst_ip": "10.255.0.1", "dscp_mode": "pipe", "ttl_mode": "pipe",
		"ecn_mode": "copy_from_outer"}
	r.config("TUNNEL|MuxTunnel0", row)
	to(pipe)
	devicetest.NoError(t, r.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, r.Sim)
	to(pipe)
	row["dscp_mode"], row["ttl_mode"] = "uniform", "uniform"
	r.config("TUNNEL|MuxTunnel0", row)
	to(uniform)
	row["src_ip"] = "10.0.0.6"
	r.config("TUNNEL|MuxTunnel0", row)
	to(cpu + "10.0.0.5 > 10.255.0.1 ttl 200 dscp 46")
	if got := r.tunnelTo("10.0.0.6", "10.255.0.1"); got != uniform {
		t.Errorf("from the source of the tunnel: %s", got)
	}
	r.config("TUNNEL|MuxTunnel0", nil)
	if got := r.tunnelTo("10.0.0.6", "10.255.0.1"); got != cpu+"10.0.0.6 > 10.255.0.1 ttl 200 dscp 46" {
		t.Errorf("without the tunnel: %s", got)
	}
	if n := len(r.Chip.Tables().Interfaces); n != len(newRouted(t).Chip.Tables().Interfaces) {
		t.Errorf("%d router interfaces are left", n)
	}
}

// The rows that SONiC writes to APPL_DB from ipinip.json have the same effect. A packet trace contains the end of the
// tunnel, and the route of the inner packet.
func TestTunnelOfSONiC(t *testing.T) {
	r := newRouted(t)
	pair := func(field, value string) swss.Pair { return swss.Pair{Field: field, Value: value} }
	r.applied(schema.AppTunnelTerm, "IPINIP_TUNNEL:10.255.0.1", pair("term_type", "P2MP"))
	if got := r.state(schema.AppTunnelTerm, "IPINIP_TUNNEL|10.255.0.1"); got[schema.FieldStatus] != schema.StatusPending {
		t.Errorf("an end without its tunnel is %v", got)
	}
	r.applied(schema.AppTunnel, "IPINIP_TUNNEL", pair("tunnel_type", "IPINIP"), pair("dscp_mode", "pipe"),
		pair("ecn_mode", "copy_from_outer"), pair("ttl_mode", "pipe"))
	const want = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 192.0.2.7 > 10.9.0.1 ttl 29 dscp 0"
	if got := r.tunnelTo("10.0.0.5", "10.255.0.1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	a, err := packettrace.Of(t.Context(), r.Redis, r.Chip, packettrace.Request{In: "Ethernet0",
		Frame: fmt.Sprintf("%x", inTunnel(t, "10.0.0.5", "10.255.0.1"))})
	devicetest.NoError(t, err)
	var seen []string
	for _, l := range a.Lookups {
		if l.Table == "tunnel_end" || l.Table == "chip.ipv4_route" {
			seen = append(seen, strings.TrimSpace(l.Entry+" "+l.Does))
		}
	}
	if got := strings.Join(seen, "; "); got != "to 10.255.0.1 decapsulated; 10.9.0.0/16" {
		t.Errorf("the trace has %q", got)
	}
	show := devicetest.StartShows(t, r.Sim)
	if shown := strings.Join(strings.Fields(show("show tunnels")), " "); !strings.Contains(shown,
		"IPINIP_TUNNEL IPINIP pipe pipe copy_from_outer Active 10.255.0.1 - P2MP") {
		t.Errorf("show tunnels: %s", shown)
	}
	r.applied(schema.AppTunnelTerm, "IPINIP_TUNNEL:192.168.0.0/21", pair("term_type", "MP2MP"),
		pair("src_ip", "10.0.0.0/8"), pair("subnet_type", "vlan"))
	if got := r.state(schema.AppTunnelTerm, "IPINIP_TUNNEL|192.168.0.0/21"); got[schema.FieldStatus] !=
		schema.StatusFailed || !strings.Contains(got[schema.FieldReason], "has no ends for prefixes") {
		t.Errorf("an end for prefixes is %v", got)
	}
}
