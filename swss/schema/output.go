package schema

// StateOutput is the table of STATE_DB in which mgmtd reports the state of the outputs to collectors. It has one row
// per output, which expires a few seconds after mgmtd ends.
const StateOutput = "TAMTAM_OUTPUT"

// Fields of the rows of [StateOutput]. Counts are since the start of the output.
const (
	OutputKind         = "kind"   // otlp, syslog, alertmanager or dial-out
	OutputTo           = "to"     // destination of the output
	OutputStatus       = "status" // one of the words for a status below
	OutputReason       = "reason" // reason why the output is not active
	OutputSince        = "since"  // time since which the output has this status
	OutputBegan        = "began"  // time at which the output started
	OutputSent         = "sent"   // number of messages sent
	OutputSentBytes    = "sent-bytes"
	OutputFailures     = "failures" // number of failed attempts to connect or to send
	OutputWaiting      = "waiting"  // number of messages in the spool
	OutputWaitingBytes = "waiting-bytes"
	OutputOldest       = "oldest"   // time since which the oldest message in the spool has waited
	OutputDropped      = "dropped-" // prefix of the counts of dropped messages; a reason follows
)

// Words for an output's status.
const (
	OutputActive     = "active"
	OutputConnecting = "connecting" // the output connects for the first time
	OutputFailed     = "failed"     // the last attempt failed and is retried
	OutputInvalid    = "invalid"    // the row of CONFIG_DB is not valid
)

// An OutputLoss is a reason why messages were never sent.
type OutputLoss struct{ Name, Text string }

// OutputLosses lists all reasons why messages are lost.
var OutputLosses = [...]OutputLoss{
	{"full", "The spool was full; the oldest goes first."},
	{"old", "It had waited too long."},
	{"refused", "The receiver refused it."},
	{"too-large", "It is larger than may be sent."},
}
