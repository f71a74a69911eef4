package chipload

// A Named is a load that is compared over time.
type Named struct {
	Name string
	Load Load
	Gain float64 // how many times as fast as at commit f37c035 it was to become; 0: nobody said
}

// everything is what the chip can do at once: rules, stamps and a sketch.
var everything = Load{Rules: 1000, Stamp: true, Sketch: true}

// Chip are the loads of a chip.
var Chip = []Named{
	{"VLAN forwarding", Load{}, 2.6},
	{"+ 1,000 ACL rules", Load{Rules: 1000}, 0},
	{"+ tail-stamping", Load{Rules: 1000, Stamp: true}, 0},
	{"+ three count-min rows", everything, 3.2},
	{"VLAN forwarding and three count-min rows", Load{Sketch: true}, 0},
	{"VLAN forwarding of 1,500 bytes", Load{Size: 1500, Pause: 4}, 0},
	{"routing", Load{Routes: 32}, 0},
	{"routing, 100,000 routes", Load{Routes: 100_000}, 0},
	{"ECMP over 32 ports", Load{Routes: 1024, ECMP: true}, 0},
	{"10,000 flows marked", Load{Flows: 10_000, Marked: true}, 0},
	{"recording, 1 packet of 100", Load{Table: true, Plan: true, Sample: 100, Pause: 24}, 0},
	{"recording, every packet", Load{Table: true, Plan: true, Sample: 1, Pause: 24}, 0},
	{"count-min rows in nine CMU groups", Load{Flows: 1024, Groups: 9}, 0},
}

// A Part is a part of the way of a packet: what Load costs more than Than.
type Part struct {
	Name       string
	Than, Load Load
	First      bool // there is none before it
}

// Parts are what a packet costs on its way, as differences of two loads: each lets packets get one step
// further than the other, or gives them one thing to do more. Where one of them takes no short way through the
// ingress pipe the other does not, either: packets that are dropped, routed or not of IP do not, nor do those with
// options.
var Parts = []Part{
	{Name: "receiving MAC", Load: Load{PortDown: true}, First: true},
	{Name: "parser, arbitration, admission", Than: Load{PortDown: true}, Load: Load{BadVLAN: true}},
	{Name: "of which IPv4 and UDP are parsed", Than: Load{NotIP: true}, Load: Load{Options: true}},
	{Name: "learning and FDB", Than: Load{BadVLAN: true}, Load: Load{SamePort: true}},
	{Name: "of which learning", Than: Load{SamePort: true, NoLearning: true}, Load: Load{SamePort: true}},
	{Name: "queue, egress pipe, sending MAC", Than: Load{SamePort: true}, Load: Load{Options: true}},
	{Name: "of which the sending MAC", Than: Load{EgressACL: true, EgressDrop: true}, Load: Load{EgressACL: true}},
	{Name: "what the short way of most packets saves", Than: Load{}, Load: Load{Options: true}},
	{Name: "routing in place of learning and FDB", Than: Load{Options: true}, Load: Load{Routes: 32}},
	{Name: "ACL of 1,000 rules", Than: Load{}, Load: Load{Rules: 1000}},
	{Name: "egress ACL of 1 rule", Than: Load{}, Load: Load{EgressACL: true}},
	{Name: "tail-stamping", Than: Load{Rules: 1000}, Load: Load{Rules: 1000, Stamp: true}},
	{Name: "sketch of three count-min rows", Than: Load{Rules: 1000, Stamp: true}, Load: everything},
}
