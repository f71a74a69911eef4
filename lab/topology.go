package lab

import (
	"net/netip"

	"tamtam/device"
)

// A Topology is an experiment: its parts, the events, what is measured, and what the result must be.
// docs/lab.md describes the same in YAML.
type Topology struct {
	Experiment  string        `yaml:"experiment"`
	Description string        `yaml:"description"` // one line
	Seed        uint64        `yaml:"seed"`
	Duration    Time          `yaml:"duration"` // 0: 10 ms
	Switches    []Switch      `yaml:"switches"`
	Hosts       []Host        `yaml:"hosts"`
	Links       []Link        `yaml:"links"`
	Fabric      Fabric        `yaml:"fabric"` // lays out more of them; no Kind: none
	Traffic     []Traffic     `yaml:"traffic"`
	Events      []Event       `yaml:"events"`
	Measure     []Measurement `yaml:"measure"`
	Truth       []TruthGroup  `yaml:"truth"`
	Checks      []Check       `yaml:"checks"`
	// Short turns the experiment into one of a few seconds, for tests: values as of --set.
	Short []string `yaml:"short"`

	// Studies are all further studies that a file may ask for, whether or not this one does.
	Studies []Study

	source *document // where it was read from; nil: from Go
	woven  bool      // Fabric has been laid out
}

// A Switch is a complete switch: configuration database, control plane and chip.
type Switch struct {
	Name    string `yaml:"name"`
	Profile string `yaml:"profile"` // name or file; "": the default
	Config  Config `yaml:"config"`
	// MAC is the switch's own, where Config has no
	// DEVICE_METADATA|localhost mac. None: one made from the name.
	MAC   MAC   `yaml:"mac"`
	Clock Clock `yaml:"clock"`
	// Hostd has the switch be a host at its router interfaces, which asks for its neighbours; else they are static.
	Hostd bool `yaml:"hostd"`
}

// A Config is a CONFIG_DB: a config_db.json, or its tables.
type Config struct {
	File   string
	Tables device.ConfigDB
}

// A Clock is the time-of-day clock of a switch. Simulated time does not depend on it.
type Clock struct {
	Offset Time  `yaml:"offset"`    // at the start of the run
	Drift  int64 `yaml:"drift_ppb"` // of the oscillator: above 0 it is fast
	PTP    PTP   `yaml:"ptp"`
}

// A PTP disciplines a clock to that of another switch, as IEEE 1588 does, by
// delay request and response: every Interval it takes the four timestamps of
// one exchange over the path and gives them to a [saisim.Servo].
type PTP struct {
	Master   string `yaml:"master"`    // a switch; "": not disciplined
	Interval Time   `yaml:"interval"`  // 0: 125 ms
	Delay    Time   `yaml:"delay"`     // of the path, one way; 0: 1 us
	Jitter   Time   `yaml:"jitter"`    // each way takes up to this much more, at random
	Step     Time   `yaml:"step_over"` // a greater offset is corrected by a step; 0: 20 us
}

// A Host sends and receives at the rate of its one link. It answers ARP, IPv6
// neighbour solicitations and echo requests for its addresses.
type Host struct {
	Name    string         `yaml:"name"`
	MAC     MAC            `yaml:"mac"` // none: one made from the name
	IPs     []netip.Prefix `yaml:"ips"`
	Gateway MAC            `yaml:"gateway_mac"` // for addresses in none of IPs' subnets; none: the MAC of its switch
	Capture bool           `yaml:"capture"`     // write what it sent and received to NAME.sent.pcap and NAME.received.pcap
	Stamps  bool           `yaml:"stamps"`      // read the tail-stamp records of received frames
	Silent  bool           `yaml:"silent"`      // does not announce itself at the start (gratuitous ARP)
}

// A Link joins two ports. A host's end is its name alone.
type Link struct {
	Name       string `yaml:"name"` // "": A-B
	A          string `yaml:"a"`    // SWITCH:PORT or HOST
	B          string `yaml:"b"`
	Rate       Rate   `yaml:"rate"`   // 0: that of the ports; else it must be that
	Detect     Time   `yaml:"detect"` // from when it fails until its ends notice
	Impairment `yaml:",inline"`
}

// An Impairment is what a link does to frames, in each direction independently.
type Impairment struct {
	Delay     Time        `yaml:"delay"` // of every frame, start-of-frame delimiter to start-of-frame delimiter
	Jitter    Jitter      `yaml:"jitter"`
	Loss      Probability `yaml:"loss"`
	Burst     Burst       `yaml:"burst"`
	Reorder   Reorder     `yaml:"reorder"`
	Duplicate Probability `yaml:"duplicate"`
	Corrupt   Probability `yaml:"corrupt"` // damaged on the way: the receiving MAC drops it for its FCS
}

// Jitter is added to the delay of each frame. It never lets a frame overtake
// the one before it.
type Jitter struct {
	Max          Time   `yaml:"max"`
	Distribution string `yaml:"distribution"` // uniform, normal, exponential (mean Max/8, cut at Max); "": uniform
}

// A Burst loses frames as in the Gilbert-Elliott model: a link is good or bad, and changes its
// state, if at all, after each frame.
type Burst struct {
	GoodToBad Probability `yaml:"good_to_bad"`
	BadToGood Probability `yaml:"bad_to_good"`
	LossGood  Probability `yaml:"loss_good"`
	LossBad   Probability `yaml:"loss_bad"` // 0: 1
}

// Reorder holds some frames back, so that others overtake them.
type Reorder struct {
	Probability Probability `yaml:"probability"`
	Delay       Time        `yaml:"delay"`
	// Known: a switch at the end of the link knows by how much. It is its host that has held them, as the kernel under a
	// live switch may.
	Known bool `yaml:"known"`
}

// Traffic is a flow group: what one host sends to another. The name is that of
// the group in reports.
type Traffic struct {
	Name string `yaml:"name"`
	From string `yaml:"from"`
	To   string `yaml:"to"`   // a host; "" for pcap: any host that receives it
	Kind string `yaml:"kind"` // constant, poisson, onoff, spaced, pcap; "": constant

	// Rate is on the wire, preamble, least gap and FCS included. For spaced it is that
	// of the line, which is idle for Gap between the end of a frame and the start of the next.
	Rate  Rate   `yaml:"rate"`
	Gap   Time   `yaml:"gap"`
	PPS   uint64 `yaml:"pps"`  // or the number of frames per second
	Size  Sizes  `yaml:"size"` // of frames with FCS; none: 64
	Flows Flows  `yaml:"flows"`
	Burst OnOff  `yaml:"bursts"` // for onoff

	Start Time   `yaml:"start"`
	Stop  Time   `yaml:"stop"`  // 0: the end of the run
	Count uint64 `yaml:"count"` // frames at most; 0: no limit

	Headers `yaml:",inline"`

	File string `yaml:"file"` // for pcap: sent as captured, at the times of the capture
	Loop uint32 `yaml:"loop"` // how many times; 0: once
}

// Headers are those of the frames of a traffic source.
type Headers struct {
	Protocol string     `yaml:"protocol"` // udp, tcp; "": udp
	SrcPort  uint16     `yaml:"src_port"` // of the first flow; 0: 1024
	DstPort  uint16     `yaml:"dst_port"` // 0: 9, discard
	Src      netip.Addr `yaml:"src"`      // none: From's first address of To's family
	Dst      netip.Addr `yaml:"dst"`      // none: To's first
	DSCP     uint8      `yaml:"dscp"`
	ECN      uint8      `yaml:"ecn"`
	VLAN     uint16     `yaml:"vlan"` // 0: untagged
	PCP      uint8      `yaml:"pcp"`
	TTL      uint8      `yaml:"ttl"` // 0: 64
	// AltMark puts an AltMark option (RFC 9343) into a destination options header: in IPv6 only. Its FlowMonID is 1,
	// or that.
	AltMark   bool    `yaml:"altmark_option"`
	FlowMonID *uint32 `yaml:"flow_mon_id"`
}

// Flows are the 5-tuples of a traffic source: source ports from SrcPort on, and
// when those are used up the next source address.
type Flows struct {
	Count int         `yaml:"count"` // 0: 1
	Zipf  Thousandths `yaml:"zipf"`  // exponent; 0: all alike
}

// OnOff gives the bursts of a traffic source, at Rate, and the gaps between.
type OnOff struct {
	On     Time `yaml:"on"`
	Off    Time `yaml:"off"`
	Random bool `yaml:"random"` // exponential, with these means
}

// An Event happens once.
type Event struct {
	At     Time   `yaml:"at"`
	Do     string `yaml:"do"`   // down, up, impair; restart, config, step-clock, drift
	Link   string `yaml:"link"` // for down, up, impair
	Switch string `yaml:"switch"`
	// Impair is what the link does from now on.
	Impair *Impairment                  `yaml:"impair"`
	What   string                       `yaml:"what"`      // restart: syncd, orchagent, managers
	Set    map[string]map[string]string `yaml:"set"`       // config: rows of CONFIG_DB, TABLE|key
	Delete []string                     `yaml:"delete"`    // config: rows
	By     Time                         `yaml:"by"`        // step-clock
	PPB    int64                        `yaml:"drift_ppb"` // drift
}

// A Measurement is a series: a number of a switch at regular times.
type Measurement struct {
	Name   string `yaml:"name"` // "": made from the rest
	Switch string `yaml:"switch"`
	Port   string `yaml:"port"`
	Queue  *int   `yaml:"queue"` // of the port; none: all of them
	What   string `yaml:"what"`
	Every  Time   `yaml:"every"`
}

// A Check compares what was measured with what it must be; without Want, Min and Max it is
// only reported.
type Check struct {
	Name      string `yaml:"name"`
	Measured  string `yaml:"measured"`  // a metric of the result, or a sum of such: a + b - c
	Want      string `yaml:"want"`      // a value, or a metric or sum
	Min       string `yaml:"min"`       // or bounds
	Max       string `yaml:"max"`       // both included
	Tolerance string `yaml:"tolerance"` // with Want: how far off is accepted
	Paper     string `yaml:"paper"`     // what the paper reports, if not Want
}
