// Package saisim is the simulated switch ASIC. It is programmed through
// [tamtam/sai.API], as a vendor's chip is, and it takes and gives Ethernet frames at
// exact cycles of its own clock. Nothing in it runs by itself: time is what
// [Chip.Advance] says.
//
// # Time
//
// One integer clock per chip counts cycles; the profile gives its frequency.
// True time at cycle c is Config.Start + floor(c * 10^9 / ClockHz) ns, computed
// with 128-bit integers, so that it never drifts. Records carry the chip's own
// time of day, a clock that can be wrong ([tamtam/saisim/engine.Clock]): it is
// true time until a step, a drift or a rate is set.
//
// The port MACs work at the line rate, which need not be a whole number of
// cycles per byte: a MAC keeps time as a cycle and an exact fraction of it. On
// the wire a frame is 7 bytes of preamble, 1 byte start-of-frame delimiter
// (SFD), the frame with its FCS (at least 64 bytes), and a gap of 12 bytes. The
// timestamp point is that of IEEE 1588, the boundary between the SFD and the
// first byte of the frame. What happens within a cycle is seen by the chip's
// clock at the next cycle boundary, so an event at the exact time t has cycle
// ceil(t). With B the exact time of one byte:
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
// The egress pipe takes one frame per cycle too. First come the ports that had a
// frame queued before this cycle and whose scheduler is free, in turn: the next
// by number after the one that was served last (at the start, the lowest).
// If there is none, the first copy that is queued in this cycle at a port whose
// scheduler is free goes on at once. [tamtam/saisim/tm] says which of a port's
// frames goes, and which frames find room. The length that counts for that is the
// one with which the frame came in, without FCS; for a mirror copy, the one with
// which it leaves.
//
// Where ports are in an order, it is that of their first lanes. What the ingress MAC drops (a port that
// is down, runts, what exceeds the MTU) takes its time on the wire and no place
// in the pipe; what the egress pipe drops takes none of the port's time. Copies
// for the CPU leave at queue. In one cycle what leaves the queues makes room before
// what arrives asks for it.
//
// Here len counts the FCS, and for the egress the trailer too when the frame is
// stamped; it is at least 64. The ingress timestamp is that of ceil(ingress
// sfd), the egress timestamp that of ceil(egress sfd).
//
// # Rooms
//
// A [Chip] is a lock around two rooms. [tamtam/saisim/objects] keeps the SAI
// objects and says what they mean as rows of [tamtam/saisim/config]: to make,
// set or remove an object is one change of rows. [tamtam/saisim/engine] compiles the change and is all
// that packets meet; it knows no SAI. [tamtam/saisim/reference] reads the same
// rows. [tamtam/saisim/describe] draws the graph of the pipes,
// [tamtam/saisim/drop] names why frames are dropped.
//
// What belongs here: the lock, time, the API, tools that watch a chip (traces,
// servos). What does not: what becomes of a packet; Redis, SONiC's tables, wall
// clocks.
//
// # Concurrency
//
// Every exported method of Chip locks it, so control calls may come from any
// goroutine. A control call takes effect at the cycle that the last Advance
// reached: frames that enter the pipe after that see it. Output functions are
// called from within Advance with the chip locked and must not call it;
// notifications are delivered after the lock is released.
package saisim
