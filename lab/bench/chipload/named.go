package chipload

// everything is the load with all features that can be combined: rules, stamps and a sketch.
var everything = Load{Rules: 1000, Stamp: true, Sketch: true}

// A Part is a part of a packet's path: the cost of Load beyond that of Than.
type Part struct {
	Name       string
	Than, Load Load
}

// Parts are the costs along a packet's path, as differences of two loads, of which one has one more action. No load
// drops packets, since the chip keeps each drop with its path, which takes longer than to send the packet.
var Parts = []Part{
	{Name: "what the shortcut of most packets saves", Than: Load{}, Load: Load{Options: true}},
	{Name: "routing in place of learning and FDB", Than: Load{}, Load: Load{Routes: 32}},
	{Name: "ACL of 1,000 rules", Than: Load{}, Load: Load{Rules: 1000}},
	{Name: "egress ACL of 1 rule", Than: Load{}, Load: Load{EgressACL: true}},
	{Name: "tail-stamping", Than: Load{Rules: 1000}, Load: Load{Rules: 1000, Stamp: true}},
	{Name: "sketch of three count-min rows", Than: Load{Rules: 1000, Stamp: true}, Load: everything},
}
