package chipload

// everything is what the chip can do at once: rules, stamps and a sketch.
var everything = Load{Rules: 1000, Stamp: true, Sketch: true}

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
