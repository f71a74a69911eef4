// Package saisim is the simulated switch ASIC. Like a vendor's chip, it is programmed through [tamtam/sai.API]. It
// receives and sends Ethernet frames at exact cycles of its own clock. Nothing in it runs by itself: [Chip.Advance]
// defines the time.
//
// # Time
//
// One integer clock per chip counts cycles. The profile defines its frequency. True time at cycle c is Config.Start +
// floor(c * 10^9 / ClockHz) ns, computed with 128-bit integers, so that it never drifts. Records carry the chip's own
// time of day, a clock that can be wrong ([tamtam/saisim/engine.Clock]). It is true time until a step, a drift or a
// rate is set.
//
// The port MACs work at the line rate, which need not be a whole number of cycles per byte. So a MAC keeps time as a
// cycle and an exact fraction of it. On the wire a frame is 7 bytes of preamble, 1 byte start-of-frame delimiter (SFD),
// the frame with its FCS (at least 64 bytes), and a gap of 12 bytes. The timestamp point is that of IEEE 1588, the
// boundary between the SFD and the first byte of the frame. An event within a cycle is visible to the chip's clock at
// the next cycle boundary, so an event at the exact time t has cycle ceil(t). With B the exact time of one byte:
//
//	ingress  sfd = max(at, sfd' + (len'+20) B)     at: argument of Receive; ': the frame before
//	         ready = ceil(sfd + len B)             whole frame received, FCS checked
//	         enter = max(ready, enter' + 1)        one frame enters the pipe per cycle, in the
//	                                               order of (ready, port)
//	pipe     queue = enter + Parser + IngressStages*StageCycles + TrafficManager
//	egress   free  of the scheduler: floor(free') - EgressStages*StageCycles - Deparser
//	         deq   = a cycle, not before queue and free, in which the egress pipe takes the frame
//	         pre   = max(deq + EgressStages*StageCycles + Deparser, free')
//	         sfd   = pre + 8 B
//	         free  = sfd + (len+12) B
//
// The egress pipe also accepts one frame per cycle. First come the ports that had a frame queued before this cycle and
// whose scheduler is free. They are served in turn: the next by number after the one that was served last (at the
// start, the lowest). If there is no such port, the first copy that is queued in this cycle at a port whose scheduler
// is free goes on immediately. [tamtam/saisim/tm] decides which of a port's frames goes, and which frames are admitted.
// Its decisions use the length of the frame as received, without FCS, and for a mirror copy the length with which it
// leaves.
//
// A packet is charged to its ingress priority group at queue, before its copies request buffer space, until the
// last of its copies leaves its queue, at deq. A frame of flow control that the port sends, at cycle t, has pre =
// max(t + EgressStages*StageCycles + Deparser, free'). One that the port receives holds queues from ready + 1
// until ceil(ready + quanta * 64 B). A pause at the peer has 65535 quanta, and is repeated after half of that
// time.
//
// The order of ports is that of their first lanes. Frames dropped by the ingress MAC (at a port that is down, runts,
// frames above the MTU) use their time on the wire and no cycle of the pipe. Frames dropped by the egress pipe use none
// of the port's time. Copies for the CPU leave at queue. Within one cycle, departures from queues free buffer space
// before arrivals request it.
//
// Here len includes the FCS, and at the egress also the trailer if the frame is stamped. It is at least 64. The ingress
// timestamp is that of ceil(ingress sfd), the egress timestamp that of ceil(egress sfd).
//
// # Packages
//
// A [Chip] is a lock around two packages. [tamtam/saisim/objects] keeps the SAI objects and translates them to rows of
// [tamtam/saisim/config]: to create, set or remove an object is one change of rows. [tamtam/saisim/engine] compiles the
// change and handles packets. It does not depend on SAI. [tamtam/saisim/reference] reads the same rows.
// [tamtam/saisim/describe] builds the graph of the pipes, and [tamtam/saisim/drop] names the reasons for drops.
//
// What belongs here: the lock, time, the API, tools that watch a chip (traces, servos). What does not: the handling of
// packets; Redis, SONiC's tables, wall clocks.
//
// # Concurrency
//
// Every exported method of Chip locks it, so control calls may come from any goroutine. A control call takes effect at
// the cycle that the last Advance reached: it affects frames that enter the pipe after that. Output functions are
// called from within Advance with the chip locked and must not call it. Notifications are delivered after the lock is
// released.
package saisim
