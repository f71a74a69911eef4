package tunnels

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

type bench struct {
	*orchtest.Bench
	orch *Orch
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 2})}
	b.start()
	return b
}

// start starts an orchagent with a new ASIC on the rows in Redis.
func (b *bench) start() {
	b.T.Helper()
	b.Start()
	sw, _ := b.CreateSwitch()
	got, err := b.Rec.Get(b.Ctx, sai.Obj(sai.ObjectTypeSwitch, sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrDefaultVirtualRouterID, 0)})
	if err != nil {
		b.T.Fatal(err)
	}
	router := got[0].Value.(sai.OID)
	loopback, err := b.Fake.Create(b.Ctx, sai.ObjectTypeRouterInterface, []sai.Attr{
		{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: router},
		{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypeLoopback},
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.orch = New(Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Router: router, Underlay: loopback})
	b.Step()
	b.Rec.Reset()
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	b.Step()
}

// do applies lines: "t dscp_mode=pipe" sets a row of TUNNEL_DECAP_TABLE, "t:10.0.0.1 term_type=P2P" one of
// TUNNEL_DECAP_TERM_TABLE, and a "-" in front deletes the row.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		name, gone := strings.CutPrefix(line, "-")
		table, more := schema.AppTunnel, []string{"tunnel_type", "IPINIP"}
		if strings.Contains(strings.Fields(name)[0], ":") {
			table, more = schema.AppTunnelTerm, []string{"subnet_type", ""}
		}
		if line = table + ":" + name; gone {
			line, more = "-"+line, nil
		}
		b.Write(line, more...)
	}
	b.Step()
}

// asic returns the tunnels and ends in the ASIC: "tunnel ECN TTL DSCP" and "end TYPE DST SRC".
func (b *bench) asic() (list []string) {
	b.T.Helper()
	loopbacks := 0
	for _, k := range b.Fake.Created() {
		attr := func(id sai.AttrID, prefix string) string {
			v, ok := sai.Find(b.Fake.Attrs(k), id)
			if !ok {
				return ""
			}
			text, err := sai.FormatValue(id, v)
			if err != nil {
				b.T.Fatal(err)
			}
			return " " + strings.TrimPrefix(text, prefix)
		}
		switch k.Type {
		case sai.ObjectTypeRouterInterface:
			loopbacks++
		case sai.ObjectTypeTunnel:
			list = append(list, "tunnel"+attr(sai.TunnelAttrDecapECNMode, "SAI_TUNNEL_DECAP_ECN_MODE_")+
				attr(sai.TunnelAttrDecapTTLMode, "SAI_TUNNEL_TTL_MODE_")+attr(sai.TunnelAttrDecapDSCPMode, "SAI_TUNNEL_DSCP_MODE_"))
		case sai.ObjectTypeTunnelTermTableEntry:
			list = append(list, "end"+attr(sai.TunnelTermTableEntryAttrType, "SAI_TUNNEL_TERM_TABLE_ENTRY_TYPE_")+
				attr(sai.TunnelTermTableEntryAttrDstIP, "")+attr(sai.TunnelTermTableEntryAttrSrcIP, ""))
		}
	}
	if more := loopbacks - 1 - len(b.orch.tunnels); more != 0 {
		list = append(list, fmt.Sprint(more, " router interfaces of no tunnel"))
	}
	slices.Sort(list)
	return list
}

func (b *bench) want(want ...string) {
	b.T.Helper()
	if got := b.asic(); !slices.Equal(got, want) {
		b.T.Errorf("in the ASIC: %q, want %q", got, want)
	}
}

// The rows that swssconfig writes from SONiC's ipinip.json become a tunnel for each family, with an end at each address
// of the switch. STATE_DB has SONiC's fields, as long as the objects exist.
func TestTunnelsOfSONiC(t *testing.T) {
	b := newBench(t)
	b.do("IPINIP_TUNNEL dscp_mode=pipe ecn_mode=copy_from_outer ttl_mode=pipe",
		"IPINIP_V6_TUNNEL dscp_mode=uniform ecn_mode=standard ttl_mode=uniform",
		"IPINIP_TUNNEL:10.1.0.32 term_type=P2MP", "IPINIP_TUNNEL:10.0.0.56 term_type=P2MP",
		"IPINIP_V6_TUNNEL:fc00:1::32 term_type=P2MP")
	whole := []string{"end P2MP 10.0.0.56", "end P2MP 10.1.0.32", "end P2MP fc00:1::32",
		"tunnel COPY_FROM_OUTER PIPE_MODEL PIPE_MODEL", "tunnel STANDARD UNIFORM_MODEL UNIFORM_MODEL"}
	b.want(whole...)
	row := b.Row(swss.StateDB, schema.AppTunnel, "IPINIP_TUNNEL")
	if row["status"] != "active" || row["tunnel_type"] != "IPINIP" || row["dscp_mode"] != "pipe" ||
		row["ecn_mode"] != "copy_from_outer" || row["ttl_mode"] != "pipe" {
		t.Errorf("the tunnel's row: %v", row)
	}
	if row := b.Row(swss.StateDB, schema.AppTunnelTerm, "IPINIP_V6_TUNNEL|fc00:1::32"); row["term_type"] != "P2MP" ||
		row["status"] != "active" {
		t.Errorf("the end's row: %v", row)
	}
	b.start()
	b.want(whole...)
	b.do("-IPINIP_TUNNEL:10.0.0.56", "-IPINIP_V6_TUNNEL:fc00:1::32", "-IPINIP_V6_TUNNEL")
	b.want("end P2MP 10.1.0.32", "tunnel COPY_FROM_OUTER PIPE_MODEL PIPE_MODEL")
	if row := b.Row(swss.StateDB, schema.AppTunnel, "IPINIP_V6_TUNNEL"); len(row) > 0 {
		t.Errorf("the row of a tunnel that is gone: %v", row)
	}
}

// A mode changes in place where SAI has that. For another ECN mode the tunnel is created again, with its ends.
func TestTunnelModes(t *testing.T) {
	b := newBench(t)
	b.do("t", "t:10.0.0.1")
	b.want("end P2MP 10.0.0.1", "tunnel STANDARD UNIFORM_MODEL UNIFORM_MODEL")
	oid := b.orch.tunnels["t"].oid
	b.do("t ttl_mode=pipe dscp_mode=pipe")
	b.want("end P2MP 10.0.0.1", "tunnel STANDARD PIPE_MODEL PIPE_MODEL")
	if b.orch.tunnels["t"].oid != oid {
		t.Error("the tunnel was created again for modes that can change")
	}
	b.do("t ecn_mode=copy_from_outer")
	b.want("end P2MP 10.0.0.1", "tunnel COPY_FROM_OUTER UNIFORM_MODEL UNIFORM_MODEL")
	b.do("t:10.0.0.1 term_type=P2P src_ip=10.0.0.2")
	b.want("end P2P 10.0.0.1 10.0.0.2", "tunnel COPY_FROM_OUTER UNIFORM_MODEL UNIFORM_MODEL")
}

// The status row of a tunnel or an end contains what it waits for, or its error. That of a tunnel from CONFIG_DB also
// has the error of its end.
func TestTunnelOutcomes(t *testing.T) {
	b := newBench(t)
	b.do("a config_key=a", "b config_key=b", "c tunnel_type=VXLAN", "a:10.0.0.1 config_key=a", "b:10.0.0.1 config_key=b",
		"b:10.0.0.1/32", "c:10.0.0.2", "a:192.168.0.0/21 term_type=MP2MP src_ip=10.0.0.0/8")
	for row, want := range map[string]string{
		"TUNNEL_DECAP_TABLE|a": "active",
		"TUNNEL_DECAP_TABLE|b": "failed: b|10.0.0.1: a tunnel ends there already: a:10.0.0.1, want one end for each " +
			"pair of addresses",
		"TUNNEL_DECAP_TABLE|c":               `failed: tunnel_type "VXLAN": want IPINIP`,
		"TUNNEL_DECAP_TERM_TABLE|a|10.0.0.1": "active",
		"TUNNEL_DECAP_TERM_TABLE|c|10.0.0.2": "pending: no tunnel c",
		"TUNNEL_DECAP_TERM_TABLE|a|192.168.0.0/21": `failed: term_type "MP2MP": want P2P or P2MP: the switch compares ` +
			"whole addresses, and has no ends for prefixes",
	} {
		if got := b.Status(row); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
	b.do("-a:10.0.0.1", "-a", "-a:192.168.0.0/21", "-b:10.0.0.1/32")
	b.want("end P2MP 10.0.0.1", "tunnel STANDARD UNIFORM_MODEL UNIFORM_MODEL")
	if got := b.Status("TUNNEL_DECAP_TABLE|b"); got != "active" {
		t.Errorf("b, whose address is free now: %s", got)
	}
}

// Whichever call fails, no object is left over. Once calls succeed again, all tunnels exist.
func TestTunnelsFailing(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusInsufficientResources)
		b.do("a", "a:10.0.0.1", "b dscp_mode=pipe")
		b.do("a ecn_mode=copy_from_outer", "b:10.0.0.2", "b ttl_mode=pipe")
		b.do("-a", "-a:10.0.0.1", "c", "c:10.0.0.1")
		b.do("c", "c:10.0.0.1", "b:10.0.0.2") // what lacked capacity is tried again
		b.Pass(2 * time.Second)
		b.want("end P2MP 10.0.0.1", "end P2MP 10.0.0.2", "tunnel STANDARD PIPE_MODEL UNIFORM_MODEL",
			"tunnel STANDARD UNIFORM_MODEL UNIFORM_MODEL")
		for _, row := range []string{"TUNNEL_DECAP_TABLE|b", "TUNNEL_DECAP_TABLE|c", "TUNNEL_DECAP_TERM_TABLE|c|10.0.0.1"} {
			if got := b.Status(row); got != "active" {
				t.Errorf("call %d: %s is %s", n, row, got)
			}
		}
		if n > b.Rec.Changes() {
			return // there were fewer than n calls
		}
	}
}
