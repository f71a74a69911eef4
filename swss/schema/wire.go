package schema

// StateWire is the table of STATE_DB in which syncd reports the state of the live interfaces that its ports are wired
// to. It has one row per port, which disappears when syncd ends.
const StateWire = "TAMTAM_WIRE"

// Fields of the rows of [StateWire]. Counts are since the start of the chip. They count frames in the form in which the
// chip processes them.
const (
	WireInterface = "interface" // name of the interface on the host
	WireStatus    = "status"    // one of the words for a status below
	WireReason    = "reason"    // reason why the wire is not up
	WireMTU       = "mtu"       // MTU of the interface, in bytes of an IP packet
	WireReceived  = "received"  // number of frames passed to the chip
	WireSent      = "sent"      // number of frames accepted by the interface
	WireCut       = "cut"       // frames that arrived uncut, such as long TCP segments that became several frames
	WireSummed    = "summed"    // number of frames that arrived with a checksum to be completed
	WireJoined    = "joined"    // number of frames that were sent inside a longer one
	WireLate      = "late-ns"   // maximum time in ns by which a frame's arrival time was before the chip's time
	WireLost      = "lost-"     // prefix of the counts of lost frames; a reason follows
	// WireDropped followed by a reason counts the frames that the chip itself has dropped at the port, since the port
	// was created. It is WireUnknown while the chip has no such port.
	WireDropped = "dropped-"
	WireUnknown = "N/A"
)

// A WireLoss is a reason why frames are lost at a wire.
type WireLoss struct{ Name, Text string }

// WireLosses lists all reasons, those of received frames first. It is the only list of them.
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
	WireTaken   = "taken" // another switch uses the interface
)

// wireTable returns the table with the state of the ports' interfaces and the fate of frames there.
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
