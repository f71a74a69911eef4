package schema

import (
	"net/netip"
	"strconv"
)

// Tables of sFlow.
const (
	CfgSFlow          = "SFLOW"
	CfgSFlowCollector = "SFLOW_COLLECTOR"
	CfgSFlowSession   = "SFLOW_SESSION"
	AppSFlow          = "SFLOW_TABLE"
	AppSFlowCollector = "SFLOW_COLLECTOR_TABLE"
	AppSFlowSession   = "SFLOW_SESSION_TABLE"
	// CountersSFlow has one row with sflowd's sampling counters, CountersSFlowCollector one row per collector.
	CountersSFlow          = "SFLOW_COUNTERS"
	CountersSFlowCollector = "SFLOW_COLLECTOR_COUNTERS"
	// CountersSFlowRule counts the samples of ACL rules.
	CountersSFlowRule = "SFLOW_RULE_COUNTERS"
)

// SFlowAgent is the key of the one row of SFLOW_COUNTERS.
const SFlowAgent = "sflowd"

// Fields of sflowd's counters.
const (
	SFlowAddress   = "agent-address" // agent address of the switch in datagrams; "" if there is none
	SFlowDatagrams = "datagrams"     // number of datagrams sent to a collector
	SFlowLastError = "last-error"    // error of the last datagram; "" if it was sent
	SFlowSource    = "source"        // data source of a rule in datagrams: its class and index
)

// SFlowGlobal is the key of the only row of SFLOW. SFlowAll is the key of the row of SFLOW_SESSION for all ports.
const (
	SFlowGlobal = "global"
	SFlowAll    = "all"
)

// Directions of sampling.
const (
	SampleRX   = "rx"
	SampleTX   = "tx"
	SampleBoth = "both"
)

// MaxSFlowCollectors is the maximum number of collectors.
const MaxSFlowCollectors = 2

// SFlowPort is the default UDP port of a collector.
const SFlowPort = 6343

// SFlow is the row of SFLOW and SFLOW_TABLE.
type SFlow struct {
	Up        bool
	Polling   uint16 // interval of a port's counter samples in seconds; 0 means none
	Agent     string // name of the interface whose address identifies the switch; "" means automatic
	Direction string // SampleRX, SampleTX or SampleBoth
	DropLimit uint16 // maximum notifications of dropped packets per second; 0 means none
}

func (s *SFlow) layout() layout {
	return layout{
		table: CfgSFlow,
		key:   only(SFlowGlobal),
		fields: []field{
			flag("admin_state", "up", "down", false, &s.Up, "Whether there is sFlow."),
			own("polling_interval", "0 or 5..300",
				"Seconds between two counter samples of a port; 0 sends none.", func(r *reader) {
					v, _ := r.value("polling_interval")
					n := r.number("polling_interval", 0, 300, 20)
					if n > 0 && n < 5 {
						r.bad("polling_interval", v, "0, or a number in 5..300")
					}
					s.Polling = uint16(n)
				}, func() string { return utoa(s.Polling) }).or("20"),
			own("agent_id", "an interface",
				"Whose address the switch is called by in datagrams; else one is chosen.", func(r *reader) {
					s.Agent = r.text("agent_id")
					_, vlan := VLANNumber(s.Agent)
					_, loopback := numbered(s.Agent, "Loopback")
					_, management := numbered(s.Agent, "eth")
					if s.Agent != "" && !vlan && !loopback && !management && !IsPortName(s.Agent) && !IsPortChannelName(s.Agent) {
						r.bad("agent_id", s.Agent, "EthernetN, PortChannelN, VlanN, LoopbackN or ethN")
					}
				}, func() string { return s.Agent }),
			sampleDirection(&s.Direction),
			number("drop_monitor_limit", 0, 500, 0, &s.DropLimit,
				"Maximum notifications of dropped packets per second; 0 sends none."),
		},
	}
}

func sampleDirection(at *string) field {
	return word("sample_direction", SampleRX, []string{SampleRX, SampleTX, SampleBoth}, at,
		"Of which packets of ports samples are: of those that come in, that leave, or both.")
}

// SFlowCollector is a row of SFLOW_COLLECTOR and SFLOW_COLLECTOR_TABLE.
type SFlowCollector struct {
	Name string
	Addr netip.Addr
	Port uint16
	VRF  string // "default" or "mgmt"
}

func (c *SFlowCollector) layout() layout {
	return layout{
		table: CfgSFlowCollector,
		key:   named(&c.Name),
		fields: []field{
			own("collector_ip", "an address", "Where datagrams are sent.", func(r *reader) {
				v, _ := r.value("collector_ip")
				a, err := netip.ParseAddr(v)
				if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() {
					r.bad("collector_ip", v, "a unicast IPv4 or IPv6 address")
					return
				}
				c.Addr = a.Unmap()
			}, func() string { return c.Addr.String() }).must("a unicast IPv4 or IPv6 address"),
			number("collector_port", 1, 1<<16-1, SFlowPort, &c.Port, "The UDP port."),
			word("collector_vrf", "default", []string{"default", "mgmt"}, &c.VRF, "Where its address is."),
		},
	}
}

// SFlowSession is a row of SFLOW_SESSION. Missing fields have the values for all ports, or the switch's defaults.
type SFlowSession struct {
	Port      string // EthernetN or SFlowAll
	Admin     string // up, down or ""
	Rate      uint32 // one packet in Rate packets; 0 means that the port's speed determines the rate
	Direction string // direction of sampling; "" means the direction of the row for all ports
}

// Bounds of the sampling rate.
const (
	minSFlowRate = 256
	maxSFlowRate = 8388608
)

func (s *SFlowSession) layout() layout {
	return layout{
		table: CfgSFlowSession,
		key:   called("EthernetN or "+SFlowAll, func(k string) bool { return k == SFlowAll || IsPortName(k) }, &s.Port),
		fields: []field{
			word("admin_state", "", []string{"up", "down"}, &s.Admin, "Whether the port is sampled; as "+SFlowAll+
				" has it if it is not given, and up if that has nothing."),
			optional("sample_rate", minSFlowRate, maxSFlowRate, &s.Rate,
				"Of so many packets one, at random; a millionth of the speed in bits per second if it is not given."),
			word("sample_direction", "", []string{SampleRX, SampleTX, SampleBoth}, &s.Direction,
				"Of which packets samples are; as "+SFlowAll+" has it if it is not given, and then as "+CfgSFlow+" has it."),
		},
		check: func(r *reader) {
			if s.Port == SFlowAll && s.Rate != 0 {
				r.bad("sample_rate", strconv.FormatUint(uint64(s.Rate), 10), "no rate for all ports: each has its own")
			}
		},
	}
}

// SFlowSampling is a row of SFLOW_SESSION_TABLE in APPL_DB: how a port is sampled.
type SFlowSampling struct {
	Port      string
	Up        bool
	Rate      uint32
	Direction string
}

func (s *SFlowSampling) layout() layout {
	return layout{
		table: AppSFlowSession,
		key:   called("EthernetN", IsPortName, &s.Port),
		fields: []field{
			flag("admin_state", "up", "down", true, &s.Up, "Whether the port is sampled.").always(),
			number("sample_rate", 1, 1<<31, 0, &s.Rate, "Of so many packets one.").must("a number in 1..2147483648"),
			sampleDirection(&s.Direction),
		},
	}
}

// Received reports whether received packets of the port are sampled.
func (s SFlowSampling) Received() bool { return s.Up && s.Direction != SampleTX }

// Sent reports whether sent packets of the port are sampled.
func (s SFlowSampling) Sent() bool { return s.Up && s.Direction != SampleRX }

func sflowTables() []Table {
	return []Table{
		of(Table{Config: CfgSFlow, Appl: AppSFlow, State: AppSFlow, Words: "sFlow of the switch."}, SFlow{}),
		of(Table{Config: CfgSFlowCollector, Appl: AppSFlowCollector, State: AppSFlowCollector,
			Words: "Where sFlow is sent."}, SFlowCollector{}),
		ofBoth(Table{Config: CfgSFlowSession, Appl: AppSFlowSession, State: AppSFlowSession,
			Words: "How ports are sampled; in APPL_DB how each one is."}, SFlowSession{}, SFlowSampling{}),
		{Counters: CountersSFlow, Words: "What sflowd has made of samples.", Key: SFlowAgent, Labels: []string{"daemon"},
			Fields: []Field{
				{Name: SFlowAddress, Form: "an address", Words: "What it calls the switch by."},
				{Name: AnyName, Form: "a number", Words: "Datagrams, samples or drops since sFlow is up.",
					Metric: "sflow_agent_total"},
			}},
		{Counters: CountersSFlowCollector, Words: "What sflowd has sent to a collector.", Key: "a collector",
			Labels: []string{"collector"}, Fields: []Field{
				{Name: AnyName, Form: "a number", Words: "Datagrams, bytes or errors since sflowd has it.",
					Metric: "sflow_collector_total"},
				{Name: SFlowLastError, Form: "a text", Words: "Why the last datagram was not sent."},
			}},
		{Counters: CountersSFlowRule, Words: "What an ACL rule has sampled.", Key: "table|rule", Labels: []string{"rule"},
			Fields: []Field{
				{Name: SFlowSource, Form: "class:index", Words: "What datagrams call it by."},
				{Name: "flow-samples", Form: "a number", Words: "Samples since sflowd has it.",
					Metric: "sflow_rule_samples_total", Outcome: "sent"},
				{Name: "sample-pool", Form: "a number", Words: "Packets that the rule has matched, up to the last sample."},
				{Name: "drops", Form: "a number", Words: "Samples that were lost on their way to sflowd.",
					Metric: "sflow_rule_samples_total", Outcome: "lost"},
			}},
	}
}
