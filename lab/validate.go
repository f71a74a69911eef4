package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Validate returns all errors of a topology. Each error names place, object, field, value and what would be valid.
func (t *Topology) Validate() error {
	v := Validator{t: t}
	v.Want(t.Duration >= 0, "duration", t.Duration, "more than 0")
	v.weave()
	v.switches()
	v.hosts()
	v.links()
	v.traffic()
	v.events()
	v.measures()
	v.truth()
	v.studies()
	v.checks()
	return errors.Join(v.errs...)
}

// A Validator collects the errors of a topology.
type Validator struct {
	t    *Topology
	errs []error
}

// Topology returns the topology that is checked.
func (v *Validator) Topology() *Topology { return v.t }

// Want records an error unless ok is true.
func (v *Validator) Want(ok bool, path string, value any, want string, args ...any) {
	if !ok && len(v.errs) < maxErrors {
		v.errs = append(v.errs, fmt.Errorf("%s%s: %q: want %s", v.t.Where(path), path, fmt.Sprint(value),
			fmt.Sprintf(want, args...)))
	}
}

// Name checks names that go into paths, metrics and file names.
func (v *Validator) Name(path, name string, seen map[string]bool) {
	good := name != "" && len(name) <= 64 && name[0] != '.' && name[0] != '-'
	for _, c := range name {
		good = good && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	v.Want(good, path+".name", name, "a name of letters, digits, - and _, 64 at most")
	v.Want(!seen[name], path+".name", name, "a name that no other has")
	seen[name] = true
}

// Item returns the path of a list item: by its name, or by its index if it has none.
func Item(list, name string, i int) string {
	if name == "" {
		return fmt.Sprintf("%s[%d]", list, i)
	}
	return fmt.Sprintf("%s[%s]", list, name)
}

const maxSwitches, maxHosts, maxTraffic = 2048, 8192, 8192

func (v *Validator) switches() {
	t := v.t
	v.Want((len(t.Switches) >= 1 || t.lone() != nil) && len(t.Switches) <= maxSwitches, "switches", len(t.Switches),
		"1 to %d switches", maxSwitches)
	seen := map[string]bool{}
	for i := range t.Switches {
		s := &t.Switches[i]
		p := Item("switches", s.Name, i)
		v.Name(p, s.Name, seen)
		v.drift(p+".clock.drift_ppb", s.Clock.Drift)
		v.Want(s.Clock.Offset > -maxTime && s.Clock.Offset < maxTime, p+".clock.offset", s.Clock.Offset, "at most 30 days")
		ptp := s.Clock.PTP
		if ptp.Master == "" {
			continue
		}
		v.Want(t.HasSwitch(ptp.Master) && ptp.Master != s.Name, p+".clock.ptp.master", ptp.Master,
			"the name of another switch")
		v.Want(ptp.Interval == 0 || ptp.Interval >= 100*Microsecond, p+".clock.ptp.interval", ptp.Interval, "at least 100us")
		v.Want(ptp.Delay >= 0 && ptp.Delay <= Second, p+".clock.ptp.delay", ptp.Delay, "0s to 1s")
		v.Want(ptp.Jitter >= 0 && ptp.Jitter <= Second, p+".clock.ptp.jitter", ptp.Jitter, "0s to 1s")
		v.Want(ptp.Step >= 0, p+".clock.ptp.step_over", ptp.Step, "0s or more")
	}
}

func (v *Validator) drift(path string, ppb int64) {
	v.Want(ppb >= -100_000_000 && ppb <= 100_000_000, path, ppb, "-100000000 to 100000000")
}

// HasSwitch reports whether there is a switch of that name.
func (t *Topology) HasSwitch(name string) bool {
	for i := range t.Switches {
		if t.Switches[i].Name == name {
			return true
		}
	}
	return false
}

func (t *Topology) host(name string) *Host {
	for i := range t.Hosts {
		if t.Hosts[i].Name == name {
			return &t.Hosts[i]
		}
	}
	return nil
}

func (v *Validator) hosts() {
	t := v.t
	v.Want(len(t.Hosts) <= maxHosts, "hosts", len(t.Hosts), "at most %d hosts", maxHosts)
	seen := map[string]bool{}
	linked := map[string]int{}
	for i := range t.Links {
		linked[t.Links[i].A]++
		linked[t.Links[i].B]++
	}
	for i := range t.Hosts {
		h := &t.Hosts[i]
		p := Item("hosts", h.Name, i)
		v.Name(p, h.Name, seen)
		v.Want(!t.HasSwitch(h.Name), p+".name", h.Name, "a name that no switch has")
		v.Want(linked[h.Name] == 1, p, h.Name, "exactly one link with this end, it has %d", linked[h.Name])
	}
}

func (l *Link) name() string {
	if l.Name != "" {
		return l.Name
	}
	return l.A + "-" + l.B
}

func (v *Validator) links() {
	t := v.t
	names, used := map[string]bool{}, map[string]bool{}
	for i := range t.Links {
		l := &t.Links[i]
		p := Item("links", l.Name, i)
		v.Want(!names[l.name()], p+".name", l.name(), "a name that no other link has")
		names[l.name()] = true
		switches := 0
		for _, e := range []struct{ field, text string }{{".a", l.A}, {".b", l.B}} {
			name, port, isPort := strings.Cut(e.text, ":")
			if isPort {
				switches++
			}
			ok := isPort && port != "" && t.HasSwitch(name) || !isPort && t.host(name) != nil
			v.Want(ok, p+e.field, e.text, "SWITCH:PORT or a host, of those in this file")
			v.Want(!used[e.text], p+e.field, e.text, "an end that no other link has")
			used[e.text] = true
		}
		v.Want(switches > 0, p, l.name(), "at least one end at a switch")
		v.Want(l.Detect >= 0 && l.Detect <= maxTime, p+".detect", l.Detect, "0s or more")
		v.impairment(p, &l.Impairment)
		if switches == 2 {
			const why = "more than 0: two switches are simulated at once for as long as the shortest link between " +
				"switches takes to bring a frame from one to the other"
			if l.Delay == 0 && !t.given(p+".delay") {
				l.Delay = defaultDelay
			}
			v.Want(t.leastDelay(l) > 0, p+".delay", t.leastDelay(l), why)
		}
	}
}

// Where returns the place of a path in the file, as the beginning of an error. It returns "" for a topology from Go.
func (t *Topology) Where(path string) string { return t.source.where(path) }

// Resolve returns the path of a file named in the topology.
func (t *Topology) Resolve(path string) string { return t.source.resolve(path) }

// given reports whether the file has the field.
func (t *Topology) given(path string) bool {
	if t.source == nil {
		return false
	}
	_, ok := t.source.lines[path]
	return ok
}

// leastDelay returns the shortest delay that a link has during the run.
func (t *Topology) leastDelay(l *Link) Time {
	least := l.Delay
	for i := range t.Events {
		if e := &t.Events[i]; e.Link == l.name() && e.Impair != nil {
			least = min(least, e.Impair.Delay)
		}
	}
	return least
}

func (v *Validator) impairment(p string, m *Impairment) {
	v.Want(m.Delay >= 0 && m.Delay <= 100*Second, p+".delay", m.Delay, "0s to 100s")
	v.Want(m.Jitter.Max >= 0 && m.Jitter.Max <= 10*Second, p+".jitter.max", m.Jitter.Max, "0s to 10s")
	switch m.Jitter.Distribution {
	case "", "uniform", "normal", "exponential":
	default:
		v.Want(false, p+".jitter.distribution", m.Jitter.Distribution, "uniform, normal or exponential")
	}
	v.Want(m.Reorder.Probability == 0 || m.Reorder.Delay > 0, p+".reorder.delay", m.Reorder.Delay,
		"more than 0, as frames are to be held back")
	v.Want(m.Reorder.Delay >= 0 && m.Reorder.Delay <= 10*Second, p+".reorder.delay", m.Reorder.Delay, "0s to 10s")
	b := m.Burst
	v.Want(b.GoodToBad > 0 || b == Burst{}, p+".burst.good_to_bad", 0, "more than 0, or no burst at all")
	v.Want(b.GoodToBad == 0 || b.BadToGood > 0, p+".burst.bad_to_good", 0, "more than 0, or the link stays bad for ever")
}

func (v *Validator) traffic() {
	t := v.t
	v.Want(len(t.Traffic) <= maxTraffic, "traffic", len(t.Traffic), "at most %d flow groups", maxTraffic)
	seen := map[string]bool{}
	for i := range t.Traffic {
		f := &t.Traffic[i]
		p := Item("traffic", f.Name, i)
		v.Name(p, f.Name, seen)
		v.Want(t.host(f.From) != nil, p+".from", f.From, "the name of a host")
		v.Want(f.To == "" && f.Kind == "pcap" || t.host(f.To) != nil && f.To != f.From, p+".to", f.To,
			"the name of another host")
		v.Want(f.Start >= 0 && f.Stop >= 0 && (f.Stop == 0 || f.Stop > f.Start), p+".stop", f.Stop,
			"a time after start, %v", f.Start)
		if f.Kind == "pcap" {
			v.Want(f.File != "", p+".file", f.File, "the path of a capture")
			continue
		}
		v.generated(p, f)
	}
}

// generated checks traffic that is not replayed from a capture.
func (v *Validator) generated(p string, f *Traffic) {
	switch f.Kind {
	case "", "constant", "poisson":
		v.Want(f.Burst == OnOff{}, p+".bursts", f.Burst, "none but for kind onoff")
	case "onoff":
		v.Want(f.Burst.On > 0 && f.Burst.Off > 0 && f.Burst.On <= maxTime && f.Burst.Off <= maxTime, p+".bursts",
			f.Burst, "on and off, both more than 0s")
	case "spaced":
		v.Want(f.Burst == OnOff{}, p+".bursts", f.Burst, "none but for kind onoff")
		v.Want(f.Rate > 0, p+".rate", f.Rate, "that of the line whose frames have the gap between them")
		v.Want(f.Gap > 0 && f.Gap <= 1000*Second, p+".gap", f.Gap, "more than 0s, 1000s at most")
	default:
		v.Want(false, p+".kind", f.Kind, "constant, poisson, onoff, spaced or pcap")
	}
	v.Want(f.Gap == 0 || f.Kind == "spaced", p+".gap", f.Gap, "none but for kind spaced")
	v.Want((f.Rate == 0) != (f.PPS == 0), p+".rate", f.Rate, "one of rate and pps")
	v.Want(f.PPS <= 10_000_000_000, p+".pps", f.PPS, "at most 10000000000")
	v.Want(f.Flows.Count >= 0 && f.Flows.Count <= 1_000_000, p+".flows.count", f.Flows.Count, "1 to 1000000")
	v.Want(f.Flows.Zipf <= 10_000, p+".flows.zipf", f.Flows.Zipf, "0 to 10")
	v.Want(f.Protocol == "" || f.Protocol == "udp" || f.Protocol == "tcp", p+".protocol", f.Protocol, "udp or tcp")
	v.Want(f.DSCP < 64, p+".dscp", f.DSCP, "0 to 63")
	v.Want(f.ECN < 4, p+".ecn", f.ECN, "0 to 3")
	v.Want(f.VLAN < 4095, p+".vlan", f.VLAN, "0 to 4094")
	v.Want(f.PCP < 8 && (f.PCP == 0 || f.VLAN > 0), p+".pcp", f.PCP, "0 to 7, and a vlan with it")
	if from, to := v.t.host(f.From), v.t.host(f.To); from != nil && to != nil {
		src, dst := f.addresses(from, to)
		v.between(p, f, src, dst)
	}
}

// checkFlowMonID checks the FlowMonID of the AltMark option.
func (t *Traffic) checkFlowMonID(v *Validator, p string) {
	if t.FlowMonID != nil {
		v.Want(t.AltMark && *t.FlowMonID <= maxFlowMonID, p, *t.FlowMonID,
			"0 to %d, with altmark_option true", maxFlowMonID)
	}
}

// between checks the addresses of generated frames, and their lengths, which depend on the family.
func (v *Validator) between(p string, f *Traffic, src, dst netip.Addr) {
	v.Want(src.IsValid() && dst.IsValid() && src.Is4() == dst.Is4() && !src.Is4In6() && !dst.Is4In6(), p+".dst", dst,
		"addresses of one family: give %s and %s ips of one family, or src and dst here", f.From, f.To)
	if src.IsValid() {
		h := header{src: src, vlan: f.VLAN, altMark: f.AltMark}
		v.Want(!f.AltMark || src.Is6(), p+".altmark_option", f.AltMark, "true for IPv6 only")
		f.checkFlowMonID(v, p+".flow_mon_id")
		if f.Protocol == "tcp" {
			h.proto = protoTCP
		}
		v.sizes(p+".size", &f.Size, max(minFrame, h.length()+fcsLen))
	}
}

func (v *Validator) sizes(p string, z *Sizes, least int) {
	v.Want(len(z.List) == 0 || z.Uniform == [2]uint16{}, p, *z, "one of list and uniform")
	v.Want(len(z.List) <= 1000, p+".list", len(z.List), "at most 1000 sizes")
	sizes := z.List
	if z.Uniform != [2]uint16{} {
		sizes = z.Uniform[:]
		v.Want(z.Uniform[0] <= z.Uniform[1], p+".uniform", z.Uniform, "the smaller size first")
	} else if len(sizes) == 0 {
		sizes = []uint16{minFrame}
	}
	for _, s := range sizes {
		v.Want(int(s) >= least && int(s) <= maxFrameSize, p, s, "%d to %d bytes, FCS included", least, maxFrameSize)
	}
	v.Want(len(z.Weights) == 0 || len(z.Weights) == len(z.List), p+".weights", z.Weights, "one weight for each of list")
	var sum uint64
	for _, w := range z.Weights {
		sum += uint64(w)
	}
	v.Want(len(z.Weights) == 0 || sum > 0, p+".weights", z.Weights, "a weight above 0")
}
