package lab

import (
	"net/netip"

	"tamtam/device"
)

// A Topology is an experiment: its parts, events, measurements, and the checks on the result. docs/lab.md describes the
// same in YAML.
type Topology struct {
	Experiment  string        `yaml:"experiment"`
	Description string        `yaml:"description"` // one line
	Seed        uint64        `yaml:"seed"`
	Duration    Time          `yaml:"duration"` // zero means 10 ms
	Switches    []Switch      `yaml:"switches"`
	Hosts       []Host        `yaml:"hosts"`
	Links       []Link        `yaml:"links"`
	Fabric      Fabric        `yaml:"fabric"` // lays out more switches, hosts and links; not used if Kind is empty
	Traffic     []Traffic     `yaml:"traffic"`
	Events      []Event       `yaml:"events"`
	Measure     []Measurement `yaml:"measure"`
	Truth       []TruthGroup  `yaml:"truth"`
	Checks      []Check       `yaml:"checks"`
	// Short turns the experiment into one of a few seconds, for tests. Its items are assignments like those of --set.
	Short []string `yaml:"short"`

	// Studies are all further studies that a file may use, whether or not this one does.
	Studies []Study

	source *document // the file that it was read from; nil if it was built in Go
	woven  bool      // true once Fabric has been laid out
}

// A Switch is a complete switch: configuration database, control plane and chip.
type Switch struct {
	Name    string `yaml:"name"`
	Profile string `yaml:"profile"` // profile name or file; empty means the default
	Config  Config `yaml:"config"`
	// MAC is the switch's own address, if Config has no DEVICE_METADATA|localhost mac. If it is zero, one is made from
	// the name.
	MAC   MAC   `yaml:"mac"`
	Clock Clock `yaml:"clock"`
	// Hostd makes the switch a host at its router interfaces, which resolves its neighbours. Otherwise neighbours are
	// static.
	Hostd bool `yaml:"hostd"`
}

// A Config is a CONFIG_DB: a config_db.json, or its tables.
type Config struct {
	File   string
	Tables device.ConfigDB
}

// A Clock is the time-of-day clock of a switch. Simulated time does not depend on it.
type Clock struct {
	Offset Time  `yaml:"offset"`    // offset of the clock at the start of the run
	Drift  int64 `yaml:"drift_ppb"` // drift of the oscillator; positive means fast
	PTP    PTP   `yaml:"ptp"`
}

// A PTP disciplines a clock to that of another switch by delay request and response, as IEEE 1588 does. Every Interval,
// it feeds the four timestamps of one exchange over the path to a [saisim.Servo].
type PTP struct {
	Master   string `yaml:"master"`    // a switch; empty means not disciplined
	Interval Time   `yaml:"interval"`  // zero means 125 ms
	Delay    Time   `yaml:"delay"`     // one-way delay of the path; zero means 1 us
	Jitter   Time   `yaml:"jitter"`    // the maximum random delay that is added in each direction
	Step     Time   `yaml:"step_over"` // a greater offset is corrected by a step; zero means 20 us
}

// A Host sends and receives at the rate of its one link. It answers ARP, IPv6
// neighbour solicitations and echo requests for its addresses.
type Host struct {
	Name string         `yaml:"name"`
	MAC  MAC            `yaml:"mac"` // if zero, one is made from the name
	IPs  []netip.Prefix `yaml:"ips"`
	// destination MAC address for addresses outside IPs' subnets; if zero, the MAC of its switch
	Gateway MAC `yaml:"gateway_mac"`
	// Capture writes sent and received frames to NAME.sent.pcap and NAME.received.pcap.
	Capture bool `yaml:"capture"`
	Stamps  bool `yaml:"stamps"` // true if the host reads the tail-stamp records of received frames
	Silent  bool `yaml:"silent"` // true if the host does not announce its addresses at the start (gratuitous ARP)
}

// A Link joins two ports. A host's end is its name alone.
type Link struct {
	Name       string `yaml:"name"` // empty means A-B
	A          string `yaml:"a"`    // SWITCH:PORT or HOST
	B          string `yaml:"b"`
	Rate       Rate   `yaml:"rate"`   // zero means that of the ports; otherwise it must equal it
	Detect     Time   `yaml:"detect"` // time from a failure until its ends detect it
	Impairment `yaml:",inline"`
}

// An Impairment describes what a link does to frames, in each direction independently.
type Impairment struct {
	Delay     Time        `yaml:"delay"` // delay of every frame, start-of-frame delimiter to start-of-frame delimiter
	Jitter    Jitter      `yaml:"jitter"`
	Loss      Probability `yaml:"loss"`
	Burst     Burst       `yaml:"burst"`
	Reorder   Reorder     `yaml:"reorder"`
	Duplicate Probability `yaml:"duplicate"`
	Corrupt   Probability `yaml:"corrupt"` // damaged on the link: the receiving MAC drops it because of its FCS
}

// Jitter is added to the delay of each frame. It never lets a frame overtake the one before it.
type Jitter struct {
	Max Time `yaml:"max"`
	// Distribution is uniform, normal or exponential (mean Max/8, cut at Max). Empty means uniform.
	Distribution string `yaml:"distribution"`
}

// A Burst loses frames as in the Gilbert-Elliott model. A link is good or bad, and may change its state after each
// frame.
type Burst struct {
	GoodToBad Probability `yaml:"good_to_bad"`
	BadToGood Probability `yaml:"bad_to_good"`
	LossGood  Probability `yaml:"loss_good"`
	LossBad   Probability `yaml:"loss_bad"` // zero means 1
}

// Reorder delays some frames, so that others overtake them.
type Reorder struct {
	Probability Probability `yaml:"probability"`
	Delay       Time        `yaml:"delay"`
	// Known is true if a switch at the end of the link receives the delay of each frame. The delay then happened in its
	// host, as in the kernel under a live switch.
	Known bool `yaml:"known"`
}

// Traffic is a flow group: the frames that one host sends to another. The name is that of the group in reports.
type Traffic struct {
	Name string `yaml:"name"`
	From string `yaml:"from"`
	To   string `yaml:"to"`   // a host; for pcap it may be empty, which means any host that receives it
	Kind string `yaml:"kind"` // constant, poisson, onoff, spaced, pcap; empty means constant

	// Rate is measured on the wire, including preamble, minimum gap and FCS. For spaced it is the line rate: the line
	// is idle for Gap between the end of a frame and the start of the next.
	Rate  Rate   `yaml:"rate"`
	Gap   Time   `yaml:"gap"`
	PPS   uint64 `yaml:"pps"`  // number of frames per second, instead of Rate
	Size  Sizes  `yaml:"size"` // frame sizes with FCS; empty means 64
	Flows Flows  `yaml:"flows"`
	Burst OnOff  `yaml:"bursts"` // bursts, for kind onoff

	Start Time   `yaml:"start"`
	Stop  Time   `yaml:"stop"`  // zero means the end of the run
	Count uint64 `yaml:"count"` // maximum number of frames; zero means no limit

	Headers `yaml:",inline"`

	File string `yaml:"file"` // capture file, for kind pcap: sent as captured, at the times of the capture
	Loop uint32 `yaml:"loop"` // number of repetitions; zero means once
}

// Headers describe the headers of a traffic source's frames.
type Headers struct {
	Protocol string     `yaml:"protocol"` // udp or tcp; empty means udp
	SrcPort  uint16     `yaml:"src_port"` // source port of the first flow; zero means 1024
	DstPort  uint16     `yaml:"dst_port"` // zero means 9, discard
	Src      netip.Addr `yaml:"src"`      // if not set, From's first address of To's family
	Dst      netip.Addr `yaml:"dst"`      // if not set, To's first address
	DSCP     uint8      `yaml:"dscp"`
	ECN      uint8      `yaml:"ecn"`
	VLAN     uint16     `yaml:"vlan"` // zero means untagged
	PCP      uint8      `yaml:"pcp"`
	TTL      uint8      `yaml:"ttl"` // zero means 64
	// AltMark puts an AltMark option (RFC 9343) into a destination options header. It requires IPv6. The option's
	// FlowMonID is 1 if FlowMonID is nil.
	AltMark   bool    `yaml:"altmark_option"`
	FlowMonID *uint32 `yaml:"flow_mon_id"`
}

// Flows describe the 5-tuples of a traffic source. They use source ports from SrcPort on. Once all ports are used, they
// continue with the next source address.
type Flows struct {
	Count int         `yaml:"count"` // zero means 1
	Zipf  Thousandths `yaml:"zipf"`  // exponent; zero means that all flows are equally likely
}

// OnOff describes the bursts of a traffic source, sent at Rate, and the gaps between them.
type OnOff struct {
	On     Time `yaml:"on"`
	Off    Time `yaml:"off"`
	Random bool `yaml:"random"` // true if bursts and gaps are exponentially distributed, with these means
}

// An Event happens once.
type Event struct {
	At     Time   `yaml:"at"`
	Do     string `yaml:"do"`   // down, up, impair, restart, config, step-clock or drift
	Link   string `yaml:"link"` // name of the link, for down, up and impair
	Switch string `yaml:"switch"`
	// Impair is the link's impairment from now on.
	Impair *Impairment                  `yaml:"impair"`
	What   string                       `yaml:"what"`      // part to restart: syncd, orchagent or managers
	Set    map[string]map[string]string `yaml:"set"`       // for config: rows of CONFIG_DB, by TABLE|key
	Delete []string                     `yaml:"delete"`    // for config: rows to delete
	By     Time                         `yaml:"by"`        // for step-clock: size of the step
	PPB    int64                        `yaml:"drift_ppb"` // for drift: the new drift
}

// A Measurement describes a series: a number of a switch at regular times.
type Measurement struct {
	Name   string `yaml:"name"` // empty means a name made from the other fields
	Switch string `yaml:"switch"`
	Port   string `yaml:"port"`
	Queue  *int   `yaml:"queue"` // one queue of the port; nil means all queues
	What   string `yaml:"what"`
	Every  Time   `yaml:"every"`

	// Object is set if What is a statistic that the switch streams by high-frequency telemetry: the object that has it,
	// with the name of its group. From and Until bound the time of the values; zero Until means the end.
	Object string `yaml:"object"`
	From   Time   `yaml:"from"`
	Until  Time   `yaml:"until"`
}

// A Check compares a measured value with the expected one. Without Want, Min and Max it is only reported.
type Check struct {
	Name      string `yaml:"name"`
	Measured  string `yaml:"measured"`  // a metric of the result, or a sum of metrics: a + b - c
	Want      string `yaml:"want"`      // a value, a metric or a sum
	Min       string `yaml:"min"`       // lower bound, inclusive
	Max       string `yaml:"max"`       // upper bound, inclusive
	Tolerance string `yaml:"tolerance"` // with Want: the accepted deviation from it
	Paper     string `yaml:"paper"`     // the number that the paper reports, if not Want
}
