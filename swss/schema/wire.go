package schema

// StateWire is the table of STATE_DB in which syncd says how the live interfaces are that its ports are wired to:
// one row per port, which goes when syncd does.
const StateWire = "TAMTAM_WIRE"

// Fields of its rows. Counts are since the chip's start, of frames as the chip sees them.
const (
	WireInterface = "interface" // the host's name of it
	WireStatus    = "status"    // one of the words below
	WireReason    = "reason"    // why it is not up
	WireMTU       = "mtu"       // of the interface, bytes of an IP packet
	WireReceived  = "received"  // given to the chip
	WireSent      = "sent"      // taken by the interface
	WireCut       = "cut"       // came uncut, as long TCP segments that became several frames
	WireSummed    = "summed"    // came with a checksum to be completed
	WireJoined    = "joined"    // went out inside a longer one
	WireLate      = "late-ns"   // the most by which a frame's time was before the chip's when it came in
	WireLost      = "lost-"     // and a reason
	// WireDropped and a reason is what the chip itself has dropped at the port, since the port was made; WireUnknown
	// while the chip has no such port.
	WireDropped = "dropped-"
	WireUnknown = "N/A"
)

// A WireLoss is a reason for which frames are lost at a wire.
type WireLoss struct{ Name, Text string }

// WireLosses are all of them, what came in first. Whoever lists them has them from here.
var WireLosses = [...]WireLoss{
	{"ring-full", "Received, but syncd did not read them in time."},
	{"too-long", "Received, too long for the ring, and no room beside it."},
	{"malformed-offload", "Received with an offload header that does not fit them, or that the kernel has none for."},
	{"refused", "Received, not accepted by the chip."},
	{"no-port", "Received while the chip had no such port."},
	{"exceeds-mtu", "To be sent, longer than the MTU of the interface permits."},
	{"link-down", "To be sent while the interface was down or away."},
	{"interface-full", "To be sent; the interface, or the process behind it, had no capacity."},
	{"send-failed", "To be sent; any other error."},
}

// Words for a wire's status.
const (
	WireUp      = "up"
	WireDown    = "down"
	WireMissing = "missing"
	WireTaken   = "taken" // by another switch
)

// wireTable is how the interface of a port is, and what became of frames there.
func wireTable() Table {
	count := func(name, words string) Field { return Field{Name: name, Form: "a number", Words: words} }
	return Table{State: StateWire, Key: "EthernetN",
		Words: "The live interface that a port is wired to; rows go when syncd does.",
		Fields: []Field{
			{Name: WireInterface, Form: "text", Words: "Its name."},
			{Name: WireStatus, Form: WireUp + ", " + WireDown + ", " + WireMissing + " or " + WireTaken,
				Words: "How it is; taken: by another switch."},
			{Name: WireReason, Form: "text or nothing", Words: "Why it is not up."},
			{Name: WireMTU, Form: "a number",
				Words: "Its MTU, bytes of an IP packet: the largest MTU that the port has in force."},
			count(WireReceived, "Frames given to the chip."),
			count(WireSent, "Frames that the interface has taken."),
			count(WireCut, "Frames that came as several in one, such as long TCP segments."),
			count(WireSummed, "Frames that came with a checksum to be completed."),
			count(WireJoined, "Frames that went out inside a longer one."),
			count(WireLate, "Nanoseconds by which a frame's time was before the chip's when it came in, at most."),
			count(WireLost+"REASON", "Frames lost between the interface and the chip."),
			{Name: WireDropped + "REASON", Form: "a number, or " + WireUnknown,
				Words: "Frames that the chip has dropped at the port; " + WireUnknown + ": it has no such port."},
		}}
}
