package schema

// StateOutput is the table of STATE_DB in which mgmtd reports the state of the outputs to collectors. It has one row
// per output, which expires a few seconds after mgmtd ends.
const StateOutput = "TAMTAM_OUTPUT"

// Fields of its rows. Counts are since the start of the output.
const (
	OutputKind         = "kind"   // otlp, syslog or dial-out
	OutputTo           = "to"     // its destination
	OutputStatus       = "status" // one of the words below
	OutputReason       = "reason" // why it is not active
	OutputSince        = "since"  // since when the status holds
	OutputBegan        = "began"  // when the output started
	OutputSent         = "sent"   // messages
	OutputSentBytes    = "sent-bytes"
	OutputFailures     = "failures" // attempts to connect or to send that failed
	OutputWaiting      = "waiting"  // messages in the spool
	OutputWaitingBytes = "waiting-bytes"
	OutputOldest       = "oldest"   // since when the oldest of them has waited
	OutputDropped      = "dropped-" // followed by a reason
)

// Words for an output's status.
const (
	OutputActive     = "active"
	OutputConnecting = "connecting" // for the first time
	OutputFailed     = "failed"     // and is retried
	OutputInvalid    = "invalid"    // the row of CONFIG_DB is not valid
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
