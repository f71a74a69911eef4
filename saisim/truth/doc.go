// Package truth computes the exact values that a network of simulated chips estimates: the number of frames of a flow
// group, the fate of every copy, its delay, and its path. It observes ([tamtam/saisim.Chip.SetObserver]) and changes
// nothing.
//
// An [Oracle] has groups, and a [Node] for every chip or host. A frame belongs to the groups whose filters match it
// where it enters the network: at a host, or at a chip's port that is not connected to another node. Its delay is from
// its timestamp point there to that where a copy leaves the network, in picoseconds. The state of a frame is freed when
// all its copies have ended. A frame in no group has no state.
//
// For every group, at every instant (InFlight is counted, not derived):
//
//	Frames + Copies = Delivered + ToCPU + sum(Lost) + InFlight
//
// Copies counts copies beyond the first, including copies made by links that duplicate frames. Mirror copies are
// counted separately and are in none of these.
//
// This package processes moments of chips and hosts. It uses no measurement of the chips.
package truth
