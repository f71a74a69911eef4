package chipload

// everything is the load with all features that can be combined: rules, stamps and a sketch.
var everything = Load{Rules: 1000, Stamp: true, Sketch: true}

// A Part is a part of a packet's path: the cost of Load beyond that of Than.
type Part struct {
	Name       string
	Than, Load Load
	First      bool // true if there is no part before it
}

// Parts are the costs along a packet's path, as differences of two loads. One load gets packets one step further than
// the other, or adds one more action. Both loads take the shortcut through the ingress pipe, or neither does. Packets
// that are dropped, not IP, or have options do not take it.
var Parts = []Part{
	{Name: "receiving MAC", Load: Load{PortDown: true}, First: true},
	{Name: "parser, arbitration, admission", Than: Load{PortDown: true}, Load: Load{BadVLAN: true}},
	{Name: "of which IPv4 and UDP are parsed", Than: Load{NotIP: true}, Load: Load{Options: true}},
	{Name: "learning and FDB", Than: Load{BadVLAN: true}, Load: Load{SamePort: true}},
	{Name: "of which learning", Than: Load{SamePort: true, NoLearning: true}, Load: Load{SamePort: true}},
	{Name: "queue, egress pipe, sending MAC", Than: Load{SamePort: true}, Load: Load{Options: true}},
	{Name: "of which the sending MAC", Than: Load{EgressACL: true, EgressDrop: true}, Load: Load{EgressACL: true}},
	{Name: "what the short way of most packets saves", Than: Load{}, Load: Load{Options: true}},
	{Name: "routing in place of learning and FDB", Than: Load{}, Load: Load{Routes: 32}},
	{Name: "ACL of 1,000 rules", Than: Load{}, Load: Load{Rules: 1000}},
	{Name: "egress ACL of 1 rule", Than: Load{}, Load: Load{EgressACL: true}},
	{Name: "tail-stamping", Than: Load{Rules: 1000}, Load: Load{Rules: 1000, Stamp: true}},
	{Name: "sketch of three count-min rows", Than: Load{Rules: 1000, Stamp: true}, Load: everything},
}
