package schema

import "time"

// The fate of a hypothetical packet is requested from syncd by messages in the form of SONiC's notifications: the
// operation, the channel for the answer, and a field with the request as JSON. The answer is done with the row of
// STATE_DB that holds the result, or refused with the reason.
const (
	PacketTraceChannel = "TAMTAM_PACKET_TRACE@syncd"
	PacketTraceAnswers = "TAMTAM_PACKET_TRACE_ANSWER@" // prefix of a channel; an id of the request follows

	PacketTraceAsk     = "trace"
	WhyFlowAsk         = "why-flow"
	DropsAsk           = "list-drops"
	PacketTraceRequest = "request" // field of a message with the request

	PacketTraceDone    = "done"
	PacketTraceRefused = "refused"
)

// StatePacketTrace is the table of STATE_DB with the answers, which expire after PacketTraceTTL: one field with
// JSON.
const (
	StatePacketTrace = "TAMTAM_PACKET_TRACE"
	PacketTraceJSON  = "trace"
	PacketTraceTTL   = time.Minute
)
