// Package truth knows the exact answers to what a network of simulated chips
// estimates: how many frames of a flow group there were, what became of every
// copy, how long each was under way, and which path it took. It watches
// ([tamtam/saisim.Chip.SetObserver]) and changes nothing.
//
// An [Oracle] has groups, and a [Node] for every chip or host. A frame belongs to the groups whose
// filters match it where it enters the network: at a host, or at a chip's port that is not connected to
// another node. Its delay is from its timestamp point there to that where a copy leaves the network, to
// the picosecond. What it keeps about a frame is freed when all its copies have ended; about a frame in
// no group it keeps nothing.
//
// For every group, at every instant (InFlight is counted, not derived):
//
//	Frames + Copies = Delivered + ToCPU + sum(Lost) + InFlight
//
// Copies are those beyond the first, links that duplicate included. Mirror copies are counted
// separately and are in none of these.
//
// What belongs here: moments of chips and hosts. What does not: anything that the
// chips measured.
package truth
