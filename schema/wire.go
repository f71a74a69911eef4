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

// WireLosses are the reasons for which frames are lost at a wire, what came in first.
var WireLosses = [...]string{
	"ring-full", "too-long", "malformed-offload", "refused", "no-port", "exceeds-mtu", "link-down", "interface-full",
	"send-failed",
}

// Words for a wire's status.
const (
	WireUp      = "up"
	WireDown    = "down"
	WireMissing = "missing"
)
