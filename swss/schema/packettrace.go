package schema

import "time"

// What would become of a packet is asked of syncd by messages as SONiC's notifications: the operation, the channel
// where the answer is waited for, and in a field the request as JSON. The answer is done, and then the row of STATE_DB
// that has it, or refused and why.
const (
	PacketTraceChannel = "TAMTAM_PACKET_TRACE@syncd"
	PacketTraceAnswers = "TAMTAM_PACKET_TRACE_ANSWER@" // and a name

	PacketTraceAsk     = "trace"
	WhyFlowAsk         = "why-flow"
	DropsAsk           = "list-drops"
	PacketTraceRequest = "request" // field

	PacketTraceDone    = "done"
	PacketTraceRefused = "refused"
)

// StatePacketTrace is the table of STATE_DB with the answers, which stay for PacketTraceLife: one field, JSON.
const (
	StatePacketTrace = "TAMTAM_PACKET_TRACE"
	PacketTraceJSON  = "trace"
	PacketTraceLife  = time.Minute
)
