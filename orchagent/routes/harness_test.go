package routes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// ports is a [Ports] that tests can change at any time.
type ports struct {
	on     map[string]sai.Key
	mtu    uint32
	mac    sai.MAC
	cpu    sai.OID
	layout orch.Topic[struct{}]
	opers  orch.Topic[struct{}]
	down   map[string]bool
}

func (p *ports) RouterPort(name string) (sai.Key, uint32, error) {
	k, ok := p.on[name]
	if !ok {
		return sai.Key{}, 0, orch.Wait("port", name, "port %s is not in the ASIC", name)
	}
	return k, p.mtu, nil
}

func (p *ports) Up(name string) bool           { return !p.down[name] }
func (p *ports) Opers() *orch.Topic[struct{}]  { return &p.opers }
func (p *ports) Layout() *orch.Topic[struct{}] { return &p.layout }
func (p *ports) MAC() sai.MAC                  { return p.mac }
func (p *ports) CPU() sai.OID                  { return p.cpu }

// bench is an Orch on a fake ASIC with its own Redis.
type bench struct {
	*orchtest.Bench
	orch  *Orch
	ports *ports
}

// newBench makes a switch with the ports Ethernet0, Ethernet4, Ethernet8 and Ethernet12, and Vlan10.
func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 4})}
	b.begin()
	return b
}

// begin makes a new ASIC and a new process of orchagent, on the rows in Redis.
func (b *bench) begin() {
	b.T.Helper()
	b.Start()
	b.ports = &ports{on: map[string]sai.Key{}, down: map[string]bool{}, mtu: 9100, mac: sai.MAC{2, 0, 0, 0, 0, 1}}
	sw, ports := b.CreateSwitch()
	for name, oid := range ports {
		b.ports.on[name] = sai.Obj(sai.ObjectTypePort, oid)
	}
	b.ports.cpu = b.Attr(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrCPUPort).(sai.OID)
	vlan, err := b.Fake.Create(b.Ctx, sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(10)}})
	if err != nil {
		b.T.Fatal(err)
	}
	b.ports.on["Vlan10"] = sai.Obj(sai.ObjectTypeVLAN, vlan)
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Switch: sw,
		Poller: b.Poller})
	if err != nil {
		b.T.Fatal(err)
	}
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	b.Step()
	b.Rec.Reset()
}

// do applies lines and then does a step. "TABLE:key field=value ..." sets a row of APPL_DB, and "-TABLE:key" deletes
// it. "port NAME" and "-port NAME" set whether a router interface can be made on a port. "link NAME" and "-link NAME"
// set it up and down.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		b.write(line)
	}
	b.Step()
}

func (b *bench) write(line string) {
	b.T.Helper()
	row, rest, _ := strings.Cut(line, " ")
	switch row {
	case "step":
		b.Step()
		return
	case "port", "-port":
		b.setPort(rest, row == "port")
		return
	}
	if row == "link" || row == "-link" {
		b.ports.down[rest] = row == "-link"
		if err := b.Daemon.Do(b.Ctx, func() { b.ports.opers.Publish(b.Ctx, struct{}{}) }); err != nil {
			b.T.Fatal(err)
		}
		return
	}
	table, key, _ := strings.Cut(strings.TrimPrefix(row, "-"), ":")
	config := schema.ConfigKey(key)
	if table == schema.AppRoute {
		config = key
	}
	b.Write(line, schema.FieldConfigKey, config)
}

// setPort sets whether a router interface can be made on an object.
func (b *bench) setPort(name string, fit bool) {
	b.T.Helper()
	const away = "away "
	from, to := name, away+name
	if fit {
		from, to = to, from
	}
	if k, ok := b.ports.on[from]; ok {
		delete(b.ports.on, from)
		b.ports.on[to] = k
	}
	if err := b.Daemon.Do(b.Ctx, func() { b.ports.layout.Publish(b.Ctx, struct{}{}) }); err != nil {
		b.T.Fatal(err)
	}
}

// statuses returns all status rows.
func (b *bench) statuses() []string {
	b.T.Helper()
	return b.Statuses(schema.StateVRF, schema.StateInterface, schema.StateNeigh, schema.StateStaticRoute)
}

// asic returns the routing objects of the ASIC, by their contents instead of object ids. It omits objects that always
// exist.
func (b *bench) asic() (list []string) {
	v := viewer{b, map[sai.OID]string{b.ports.cpu: "cpu", 0: "none"}}
	for name, k := range b.ports.on {
		v.names[k.OID] = strings.TrimPrefix(name, "away ")
	}
	for name, oid := range b.orch.vrfs {
		if v.names[oid] = schema.VRFName(name); name != "" {
			list = append(list, "vrf "+name)
		}
	}
	keys := b.Fake.Keys()
	for _, t := range []sai.ObjectType{sai.ObjectTypeRouterInterface, sai.ObjectTypeNextHop, sai.ObjectTypeNextHopGroup} {
		for _, k := range keys {
			if k.Type == t && k.OID != b.orch.loopback {
				v.names[k.OID] = v.name(k)
				if t != sai.ObjectTypeNextHop {
					list = append(list, v.names[k.OID])
				}
			}
		}
	}
	for _, k := range keys {
		switch e := k.Entry.(type) {
		case sai.NeighborEntry:
			list = append(list, fmt.Sprintf("neighbour %s on %s%s", e.IP, v.names[e.RIF], v.attrs(k)))
		case sai.RouteEntry:
			if line := fmt.Sprintf("route %s%s", e.Dest, v.attrs(k)); !slices.Contains(alwaysThere, line) {
				list = append(list, line+v.inVRF(e.VR))
			}
		}
	}
	slices.Sort(list)
	return list
}

var alwaysThere = []string{
	"route 0.0.0.0/0 DROP none", "route ::/0 DROP none", "route fe80::/10 FORWARD cpu",
	"route fe80::ff:fe00:1/128 FORWARD cpu",
}

type viewer struct {
	*bench
	names map[sai.OID]string
}

// inVRF names a virtual router besides the default one.
func (v viewer) inVRF(vr sai.OID) string {
	if name := v.names[vr]; name != schema.DefaultVRF {
		return " in " + name
	}
	return ""
}

func (v viewer) name(k sai.Key) string {
	switch k.Type {
	case sai.ObjectTypeRouterInterface:
		return "rif" + v.attrs(k)
	case sai.ObjectTypeNextHop:
		return "hop" + v.attrs(k)
	}
	var members []string
	for _, m := range v.Fake.Keys() {
		if m.Type == sai.ObjectTypeNextHopGroupMember {
			if a := v.attrs(m); strings.Contains(a, k.OID.String()) {
				members = append(members, strings.ReplaceAll(a, " "+k.OID.String(), ""))
			}
		}
	}
	slices.Sort(members)
	return "group{" + strings.Join(members, ",") + " }"
}

// attrs returns the attributes of an object in short form.
func (v viewer) attrs(k sai.Key) string {
	out := ""
	for _, a := range v.Fake.Attrs(k) {
		switch a.ID {
		case sai.RouterInterfaceAttrVirtualRouterID:
			out += v.inVRF(a.Value.(sai.OID))
			continue
		case sai.RouterInterfaceAttrType, sai.NextHopAttrType,
			sai.NextHopGroupAttrType:
			continue
		}
		text, err := sai.FormatValue(a.ID, a.Value)
		if err != nil {
			v.T.Fatal(err)
		}
		if oid, ok := a.Value.(sai.OID); ok && v.names[oid] != "" {
			text = v.names[oid]
		}
		out += " " + strings.TrimPrefix(text, "SAI_PACKET_ACTION_")
	}
	return out
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
