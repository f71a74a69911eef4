// Package packettrace predicts the fate of a packet, in the operator's terms. It builds the frame of a request, sends
// it through a fork of the chip, and names the chip's findings as the databases do. syncd runs [Serve] to answer
// requests. Clients send requests over Redis, on [tamtam/swss/schema.PacketTraceChannel].
//
// What belongs here: texts and frames. The chip alone determines the fate of a packet; its logic is not repeated
// here.
package packettrace
