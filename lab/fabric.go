package lab

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/device"
	"tamtam/swss"
)

// A Fabric is a network of routed switches that is laid out by its size. Its switches, hosts, links and traffic are
// added to those of the topology. Every switch has its routes as CONFIG_DB rows. It shares upward traffic over all
// uplinks (ECMP). Each switch has its own hash seed, so that the layers choose independently.
type Fabric struct {
	Kind   string `yaml:"kind"`   // leaf-spine or fat-tree
	Leaves int    `yaml:"leaves"` // number of leaves of a leaf-spine; each leaf has a link to each spine
	Spines int    `yaml:"spines"`
	// Arity of a fat-tree is the number of ports per switch, half of them up. It is also the number of pods. Each pod
	// has Arity/2 edge and Arity/2 aggregation switches, and the core has Arity*Arity/4 switches.
	Arity int  `yaml:"arity"`
	Hosts int  `yaml:"hosts"` // number of hosts at each leaf or edge switch; zero means 1
	Delay Time `yaml:"delay"` // delay of links between switches; zero means 1 us
	// Traffic is sent by each host to the host half-way round. Without rate and pps there is none.
	Traffic Traffic `yaml:"traffic"`
}

const (
	fabricMbps  = 100_000
	fabricLanes = 4
	maxArity    = 128 // the number of four-lane ports in the default profile
	maxAtLeaf   = 63  // each host uses 4 of 256 addresses
)

// size returns the number of switches, and how many of them have hosts.
func (f *Fabric) size() (switches, leaves int) {
	if f.Kind == "fat-tree" {
		return f.Arity*f.Arity + f.Arity*f.Arity/4, f.Arity * f.Arity / 2
	}
	return f.Leaves + f.Spines, f.Leaves
}

// weave adds the fabric to the topology, once.
func (v *Validator) weave() {
	f := &v.t.Fabric
	if f.Kind == "" || v.t.woven {
		return
	}
	before := len(v.errs)
	f.validate(v)
	if len(v.errs) > before {
		return
	}
	v.t.woven = true
	w := builder{t: v.t, f: f, delay: f.Delay, hosts: max(1, f.Hosts)}
	if w.delay == 0 {
		w.delay = Microsecond
	}
	if f.Kind == "fat-tree" {
		w.fatTree()
	} else {
		w.leafSpine()
	}
	w.traffic()
	v.t.Switches = append(v.t.Switches, w.switches...)
}

func (f *Fabric) validate(v *Validator) {
	switch f.Kind {
	case "fat-tree":
		v.Want(f.Arity >= 2 && f.Arity <= maxArity && f.Arity%2 == 0, "fabric.arity", f.Arity,
			"an even number from 2 to %d", maxArity)
		v.Want(f.Leaves == 0 && f.Spines == 0, "fabric.leaves", f.Leaves, "none but for kind leaf-spine")
		v.Want(f.Hosts <= f.Arity/2, "fabric.hosts", f.Hosts, "at most half as many as a switch has ports")
	case "leaf-spine":
		v.Want(f.Leaves >= 2 && f.Leaves <= maxArity, "fabric.leaves", f.Leaves, "2 to %d", maxArity)
		v.Want(f.Spines >= 1 && f.Spines+max(1, f.Hosts) <= maxArity, "fabric.spines", f.Spines,
			"1 to %d, together with the hosts of a leaf", maxArity)
		v.Want(f.Arity == 0, "fabric.arity", f.Arity, "none but for kind fat-tree")
	default:
		v.Want(false, "fabric.kind", f.Kind, "fat-tree or leaf-spine")
	}
	v.Want(f.Hosts >= 0 && f.Hosts <= maxAtLeaf, "fabric.hosts", f.Hosts, "1 to %d", maxAtLeaf)
	n, _ := f.size()
	v.Want(n <= maxSwitches, "fabric", n, "at most %d switches", maxSwitches)
	t := &f.Traffic
	v.Want(t.Name == "" && t.From == "" && t.To == "", "fabric.traffic", t.Name+t.From+t.To,
		"neither name, from nor to: each host sends, to the one half way round")
}

// A builder adds a fabric to a topology.
type builder struct {
	t        *Topology
	f        *Fabric
	delay    Time
	hosts    int // number of hosts per leaf
	switches []Switch
	names    []string // names of the hosts
	ports    []int    // number of used ports, by switch
	subnets  uint32   // number of used subnets of links between switches
}

// add adds a switch and returns its number.
func (w *builder) add(name string) int {
	n := len(w.switches)
	s := Switch{Name: name, Config: Config{Tables: device.ConfigDB{}}}
	s.row("SWITCH", "switch", "ecmp_hash_seed", strconv.Itoa(n+1))
	w.switches, w.ports = append(w.switches, s), append(w.ports, 0)
	return n
}

// row adds a row to the configuration.
func (s *Switch) row(table, key string, fields ...string) {
	row := swss.FieldValues{}
	for i := 0; i+1 < len(fields); i += 2 {
		row[fields[i]] = fields[i+1]
	}
	if len(fields) == 0 {
		row["NULL"] = "NULL"
	}
	if s.Config.Tables[table] == nil {
		s.Config.Tables[table] = map[string]swss.FieldValues{}
	}
	s.Config.Tables[table][key] = row
}

// port allocates the next port of a switch, with its own address and a neighbour.
func (w *builder) port(n int, own netip.Prefix, peer netip.Addr, mac MAC) (port string) {
	s, i := &w.switches[n], w.ports[n]
	w.ports[n]++
	port = fmt.Sprintf("Ethernet%d", fabricLanes*i)
	var lanes []string
	for lane := range fabricLanes {
		lanes = append(lanes, strconv.Itoa(fabricLanes*i+lane+1))
	}
	s.row("PORT", port, "lanes", strings.Join(lanes, ","), "speed", strconv.Itoa(fabricMbps), "admin_status", "up")
	s.row("INTERFACE", port)
	s.row("INTERFACE", port+"|"+own.String())
	s.row("NEIGH", port+"|"+peer.String(), "neigh", mac.String())
	return port
}

// route adds a path to a prefix.
func (w *builder) route(n int, to netip.Prefix, by netip.Addr) {
	key := "default|" + to.String()
	if row := w.switches[n].Config.Tables["STATIC_ROUTE"][key]; row != nil {
		row["nexthop"] += "," + by.String()
		return
	}
	w.switches[n].row("STATIC_ROUTE", key, "nexthop", by.String())
}

// join links two switches and returns the addresses of both ends.
func (w *builder) join(low, high int) (lower, upper netip.Addr) {
	base := uint32(172<<24|16<<16) + 4*w.subnets
	w.subnets++
	lower, upper = address(base+1), address(base+2)
	down, up := &w.switches[low], &w.switches[high]
	a := w.port(low, netip.PrefixFrom(lower, 30), upper, up.mac())
	b := w.port(high, netip.PrefixFrom(upper, 30), lower, down.mac())
	w.t.Links = append(w.t.Links, Link{
		A: down.Name + ":" + a, B: up.Name + ":" + b, Impairment: Impairment{Delay: w.delay},
	})
	return lower, upper
}

func address(v uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// fabricPrefix is the prefix of all addresses at the leaves.
var fabricPrefix = netip.MustParsePrefix("10.0.0.0/8")

// leafPrefix returns the prefix of a leaf. In a leaf-spine fabric, pod is 0.
func leafPrefix(pod, leaf int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(pod), byte(leaf), 0}), 24)
}

// leaf adds the hosts of a leaf.
func (w *builder) leaf(n, pod, leaf int) {
	s := &w.switches[n]
	for i := range w.hosts {
		base := uint32(10<<24|pod<<16|leaf<<8) + 4*uint32(i)
		h := Host{Name: fmt.Sprintf("%s-h%d", s.Name, i+1), IPs: []netip.Prefix{netip.PrefixFrom(address(base+2), 30)}}
		h.MAC = madeMAC("host/" + h.Name)
		port := w.port(n, netip.PrefixFrom(address(base+1), 30), address(base+2), h.MAC)
		w.t.Hosts = append(w.t.Hosts, h)
		w.t.Links = append(w.t.Links, Link{A: h.Name, B: s.Name + ":" + port, Impairment: Impairment{Delay: 50 * Nanosecond}})
		w.names = append(w.names, h.Name)
	}
}

func (w *builder) leafSpine() {
	for i := range w.f.Leaves {
		w.leaf(w.add(fmt.Sprintf("leaf%d", i+1)), 0, i)
	}
	for i := range w.f.Spines {
		spine := w.add(fmt.Sprintf("spine%d", i+1))
		for leaf := range w.f.Leaves {
			lower, upper := w.join(leaf, spine)
			w.route(leaf, fabricPrefix, upper)
			w.route(spine, leafPrefix(0, leaf), lower)
		}
	}
}

func (w *builder) fatTree() {
	half := w.f.Arity / 2
	core := make([]int, half*half)
	for i := range core {
		core[i] = w.add(fmt.Sprintf("core%d", i+1))
	}
	for pod := range w.f.Arity {
		edges := make([]int, half)
		for i := range edges {
			edges[i] = w.add(fmt.Sprintf("edge%d-%d", pod+1, i+1))
			w.leaf(edges[i], pod, i)
		}
		for i := range half {
			agg := w.add(fmt.Sprintf("agg%d-%d", pod+1, i+1))
			for leaf, edge := range edges {
				lower, upper := w.join(edge, agg)
				w.route(edge, fabricPrefix, upper)
				w.route(agg, leafPrefix(pod, leaf), lower)
			}
			for _, c := range core[i*half : (i+1)*half] {
				lower, upper := w.join(agg, c)
				w.route(agg, fabricPrefix, upper)
				w.route(c, netip.PrefixFrom(leafPrefix(pod, 0).Addr(), 16), lower)
			}
		}
	}
}

// traffic makes each host send to the host half-way round.
func (w *builder) traffic() {
	if w.f.Traffic.Rate == 0 && w.f.Traffic.PPS == 0 {
		return
	}
	for i, name := range w.names {
		t := w.f.Traffic
		t.Name, t.From, t.To = name, name, w.names[(i+len(w.names)/2)%len(w.names)]
		w.t.Traffic = append(w.t.Traffic, t)
	}
}
