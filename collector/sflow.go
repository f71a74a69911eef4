package collector

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"tamtam/tam/sflow"
)

// MaxSFlowAgents is the maximum number of agents that an [SFlow] distinguishes. Datagrams of other agents are only
// counted.
const MaxSFlowAgents = 256

// An SFlow prints the samples of sFlow datagrams as they arrive, and their faults. Missing and unknown values are not
// printed.
type SFlow struct {
	out     *bufio.Writer
	json    *json.Encoder // nil for text output
	agents  map[sflowAgent]*sflowCounts
	bad     uint64
	beyond  uint64
	samples int64
	err     error // first error of out
}

// An sflowAgent identifies a sequence of datagrams.
type sflowAgent struct {
	address netip.Addr
	sub     uint32
}

// sflowCounts holds the counters of one agent.
type sflowCounts struct {
	Datagrams uint64 `json:"datagrams"`
	Flow      uint64 `json:"flow_samples"`
	Counter   uint64 `json:"counter_samples"`
	Discarded uint64 `json:"discards"`
	Other     uint64 `json:"others"`
	Lost      uint64 `json:"datagrams_lost"`
	Late      uint64 `json:"datagrams_late"`
	Restarts  uint64 `json:"restarts"`
	// Counters of damaged datagrams: their number, unreadable samples, and bytes after the last sample.
	Damaged uint64 `json:"datagrams_damaged,omitempty"`
	Unread  uint64 `json:"samples_unread,omitempty"`
	Behind  uint64 `json:"bytes_behind,omitempty"`

	last, uptime uint32 // sequence number and uptime of the last datagram
}

// NewSFlow returns a printer to out.
func NewSFlow(out io.Writer, asJSON bool) *SFlow {
	s := &SFlow{out: bufio.NewWriter(out), agents: map[sflowAgent]*sflowCounts{}}
	if asJSON {
		s.json = json.NewEncoder(s.out)
	}
	return s
}

// Records returns the number of printed samples.
func (s *SFlow) Records() int64 { return s.samples }

// Datagram prints the samples of a datagram. It returns an error of the output. Faults of the datagram are printed.
func (s *SFlow) Datagram(from netip.AddrPort, payload []byte) error {
	d, err := sflow.Decode(payload)
	if err != nil {
		s.line(struct {
			From  string `json:"from"`
			Error string `json:"error"`
		}{from.String(), err.Error()}, func() string { return fmt.Sprintf("%s: %v", from, err) })
	}
	if d == nil {
		s.bad++
	} else {
		s.datagram(d)
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
	return s.err
}

func (s *SFlow) datagram(d *sflow.Datagram) {
	key := sflowAgent{d.Agent, d.SubAgent}
	c := s.agents[key]
	if c == nil {
		if len(s.agents) == MaxSFlowAgents {
			s.beyond++
			return
		}
		c = &sflowCounts{}
		s.agents[key] = c
	}
	c.number(d)
	if d.Unread+d.Behind > 0 {
		c.Damaged++
		c.Unread += uint64(d.Unread)
		c.Behind += uint64(d.Behind)
	}
	for _, x := range d.Samples {
		s.samples++
		j := sampleJSON{Agent: key.String(), Datagram: d.Sequence, Uptime: d.Uptime}
		j.fill(x)
		switch x.(type) {
		case *sflow.FlowSample:
			c.Flow++
		case *sflow.CounterSample:
			c.Counter++
		case *sflow.Discarded:
			c.Discarded++
		default:
			c.Other++
		}
		s.line(j, j.text)
	}
}

// number evaluates a datagram's sequence number: missing datagrams before it, late arrival, or a restart of the agent.
func (c *sflowCounts) number(d *sflow.Datagram) {
	c.Datagrams++
	ahead := int32(d.Sequence - c.last)
	switch {
	case c.Datagrams == 1:
	case d.Uptime < c.uptime && (d.Sequence == 1 || ahead <= 0 && c.uptime-d.Uptime > lateMost):
		c.Restarts++
	case ahead <= 0:
		c.Late++
		c.Lost -= min(c.Lost, 1)
		return
	default:
		c.Lost += uint64(ahead - 1)
	}
	c.last, c.uptime = d.Sequence, d.Uptime
}

// lateMost is the maximum delay of a late datagram in milliseconds. If it seems later, the agent has restarted.
const lateMost = 10_000

func (a sflowAgent) String() string {
	if !a.address.IsValid() {
		return fmt.Sprintf("unknown/%d", a.sub)
	}
	return fmt.Sprintf("%s/%d", a.address, a.sub)
}

// sampleJSON is a sample.
type sampleJSON struct {
	Agent    string  `json:"agent"` // address and sub-agent
	Datagram uint32  `json:"datagram"`
	Uptime   uint32  `json:"uptime_ms"`
	Sample   string  `json:"sample"`
	Source   string  `json:"source,omitempty"`
	Sequence uint32  `json:"sequence,omitempty"`
	Rate     uint32  `json:"rate,omitempty"`
	Pool     uint32  `json:"pool,omitempty"`
	Drops    *uint32 `json:"drops,omitempty"`
	Input    string  `json:"input,omitempty"`
	Output   string  `json:"output,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	sampledJSON
	Counters map[string]uint64 `json:"counters,omitempty"`
	Unread   []string          `json:"unread,omitempty"` // structures of unknown format
	order    []string          // names of the counters in order
}

// sampledJSON holds the known properties of a packet.
type sampledJSON struct {
	Trap    string  `json:"trap,omitempty"`
	Queue   *uint32 `json:"queue,omitempty"`
	Depth   *uint32 `json:"queue_bytes,omitempty"`
	InVLAN  uint32  `json:"in_vlan,omitempty"`
	OutVLAN uint32  `json:"out_vlan,omitempty"`
	NextHop string  `json:"next_hop,omitempty"`
	Prefix  *uint32 `json:"destination_mask,omitempty"` // prefix length in bits
	Length  uint32  `json:"length,omitempty"`
	Flow    string  `json:"flow,omitempty"`
	Header  string  `json:"header,omitempty"`
}

func (j *sampleJSON) fill(x sflow.Sample) {
	switch x := x.(type) {
	case *sflow.FlowSample:
		j.Sample, j.Source, j.Sequence, j.Rate, j.Pool = "flow", sourceText(x.Source), x.Sequence, x.Rate, x.Pool
		j.Input, j.Output = interfaceText(x.Input), interfaceText(x.Output)
		j.Drops = &x.Drops
		j.packet(&x.Packet)
	case *sflow.Discarded:
		j.Sample, j.Source, j.Sequence, j.Reason = "discard", sourceText(x.Source), x.Sequence, x.Reason.String()
		j.Input, j.Output = interfaceText(sflow.Interface{Value: x.Input}), interfaceText(sflow.Interface{Value: x.Output})
		j.Drops = &x.Drops
		j.packet(&x.Packet)
	case *sflow.CounterSample:
		j.Sample, j.Source, j.Sequence, j.Counters = "counters", sourceText(x.Source), x.Sequence, map[string]uint64{}
		if x.Generic != nil {
			j.counters(reflect.ValueOf(*x.Generic))
		}
		if x.Ethernet != nil {
			j.counters(reflect.ValueOf(*x.Ethernet))
		}
		j.others(x.Others)
	case *sflow.Other:
		j.Sample = "other"
		j.others([]sflow.Other{*x})
	}
}

// counters adds the known counters of a structure.
func (j *sampleJSON) counters(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		unknown := uint64(sflow.Unknown32)
		if f.Kind() == reflect.Uint64 {
			unknown = sflow.Unknown64
		}
		if name := v.Type().Field(i).Name; f.Uint() != unknown {
			j.Counters[name] = f.Uint()
			j.order = append(j.order, name)
		}
	}
}

func (j *sampleJSON) packet(p *sflow.Packet) {
	if h := p.Header; h != nil {
		j.Length, j.Header = h.Length, hex.EncodeToString(h.Bytes)
		if h.Protocol == sflow.EthernetHeader {
			if f, ok := ParseFlow(h.Bytes); ok {
				j.Flow = f.String()
			}
		}
	}
	if p.Switch != nil {
		j.InVLAN, j.OutVLAN = p.Switch.InVLAN, p.Switch.OutVLAN
	}
	if p.Router != nil && p.Router.NextHop.IsValid() {
		j.NextHop, j.Prefix = p.Router.NextHop.String(), &p.Router.DestMask
	}
	if p.Queue != nil {
		j.Queue, j.Depth = &p.Queue.Number, p.Queue.Depth
	}
	if p.Trap != nil {
		j.Trap = strings.Trim(p.Trap.Group+"/"+p.Trap.Name, "/")
	}
	j.others(p.Others)
}

func (j *sampleJSON) others(list []sflow.Other) {
	for _, o := range list {
		j.Unread = append(j.Unread, fmt.Sprintf("%d:%d, %d bytes", o.Enterprise, o.Format, len(o.Bytes)))
	}
}

func sourceText(s sflow.Source) string {
	if s.Class == 0 {
		return fmt.Sprint(s.Index)
	}
	return fmt.Sprintf("%d:%d", s.Class, s.Index)
}

// interfaceText returns an interface's ifIndex, or its special meaning as text. It returns "" if it is unknown.
func interfaceText(i sflow.Interface) string {
	switch {
	case i == sflow.Internal():
		return "internal"
	case i.Format == sflow.Discard:
		return "discard " + sflow.Reason(i.Value).String()
	case i.Format == sflow.Multiple && i.Value == 0:
		return "multiple"
	case i.Format == sflow.Multiple:
		return fmt.Sprintf("multiple %d", i.Value)
	case i.Value == 0:
		return ""
	}
	return fmt.Sprint(i.Value)
}

// text returns a sample as one line. Strings are quoted, because they may contain anything.
func (j *sampleJSON) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s datagram %d %s", j.Agent, j.Datagram, j.Sample)
	say := func(name, v string) {
		if v != "" {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	count := func(name string, v uint32) {
		if v != 0 {
			fmt.Fprintf(&b, " %s=%d", name, v)
		}
	}
	known := func(name string, v *uint32) {
		if v != nil {
			fmt.Fprintf(&b, " %s=%d", name, *v)
		}
	}
	say("source", j.Source)
	count("sequence", j.Sequence)
	count("rate", j.Rate)
	count("pool", j.Pool)
	known("drops", j.Drops)
	say("input", j.Input)
	say("output", strings.ReplaceAll(j.Output, " ", ":"))
	say("reason", j.Reason)
	if j.Trap != "" {
		fmt.Fprintf(&b, " trap=%q", j.Trap)
	}
	known("queue", j.Queue)
	known("queue_bytes", j.Depth)
	count("in_vlan", j.InVLAN)
	count("out_vlan", j.OutVLAN)
	say("next_hop", j.NextHop)
	known("destination_mask", j.Prefix)
	count("length", j.Length)
	for _, name := range j.order {
		fmt.Fprintf(&b, " %s=%d", name, j.Counters[name])
	}
	if len(j.Unread) > 0 {
		fmt.Fprintf(&b, " unread=%q", j.Unread)
	}
	if j.Flow != "" {
		b.WriteString(" " + j.Flow)
	}
	return b.String()
}

// line prints one line: object as JSON, or the result of text.
func (s *SFlow) line(object any, text func() string) {
	var err error
	if s.json != nil {
		err = s.json.Encode(object)
	} else {
		_, err = fmt.Fprintln(s.out, text())
	}
	if s.err == nil {
		s.err = err
	}
}

// agentJSON holds the counters of one agent.
type agentJSON struct {
	Agent string `json:"agent"`
	*sflowCounts
}

// Report prints the counters of each agent: samples, losses and faults.
func (s *SFlow) Report() error {
	keys := make([]sflowAgent, 0, len(s.agents))
	for key := range s.agents {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b sflowAgent) int {
		if n := a.address.Compare(b.address); n != 0 {
			return n
		}
		return int(int64(a.sub) - int64(b.sub))
	})
	for _, key := range keys {
		c := s.agents[key]
		s.line(agentJSON{key.String(), c}, func() string { return key.String() + ": " + c.text() })
	}
	if s.bad+s.beyond > 0 {
		s.line(struct {
			Bad    uint64 `json:"datagrams_bad"`
			Beyond uint64 `json:"datagrams_beyond"`
		}{s.bad, s.beyond}, func() string {
			return fmt.Sprintf("%d datagrams that are wrong, %d of agents beyond the first %d, of which nothing is known",
				s.bad, s.beyond, MaxSFlowAgents)
		})
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
	return s.err
}

func (c *sflowCounts) text() string {
	text := fmt.Sprintf("%d datagrams, %d lost: %d flow samples, %d counter samples, %d discards",
		c.Datagrams, c.Lost, c.Flow, c.Counter, c.Discarded)
	for _, more := range []struct {
		n    uint64
		what string
	}{{c.Other, "samples that are not known here"}, {c.Late, "datagrams that came late"}, {c.Restarts, "restarts"},
		{c.Damaged, "datagrams that are damaged"}, {c.Unread, "samples of these that could not be read"},
		{c.Behind, "bytes behind the last sample"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text
}
