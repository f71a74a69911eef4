package schema

// StateOutput is the table of STATE_DB in which mgmtd says how the outputs are that send to collectors: one row per
// output, which goes a few seconds after mgmtd does.
const StateOutput = "TAMTAM_OUTPUT"

// Fields of its rows. Counts are since the output began.
const (
	OutputKind         = "kind"   // otlp, syslog or dial-out
	OutputTo           = "to"     // where it sends to
	OutputStatus       = "status" // one of the words below
	OutputReason       = "reason" // why it is not active
	OutputSince        = "since"  // when that began
	OutputBegan        = "began"  // when the output did
	OutputSent         = "sent"   // messages
	OutputSentBytes    = "sent-bytes"
	OutputFailures     = "failures" // attempts to connect or to send that failed
	OutputWaiting      = "waiting"  // messages in the spool
	OutputWaitingBytes = "waiting-bytes"
	OutputOldest       = "oldest"   // since when the oldest of them waits
	OutputDropped      = "dropped-" // and a reason
)

// Words for an output's status.
const (
	OutputActive     = "active"
	OutputConnecting = "connecting" // for the first time
	OutputFailed     = "failed"     // and is tried again
	OutputInvalid    = "invalid"    // the row of CONFIG_DB cannot be what it says
)

// An OutputLoss is a reason for which a message was never sent.
type OutputLoss struct{ Name, Text string }

// OutputLosses are all of them.
var OutputLosses = [...]OutputLoss{
	{"full", "The spool was full; the oldest goes first."},
	{"old", "It had waited too long."},
	{"refused", "The receiver refused it."},
	{"too-large", "It is larger than may be sent."},
}
