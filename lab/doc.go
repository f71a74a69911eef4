// Package lab runs experiments: whole switches, hosts, links and traffic in one
// simulated time. A [Topology] says what there is and what happens, in Go or in
// YAML; [New] builds it, [Lab.Run] lets time pass, [Lab.Result] says what was
// seen and checks it.
//
// # Time
//
// Time is in picoseconds, whole ones. Each chip counts cycles of its own clock:
// cycle c of a chip begins at base + floor(c * 10^12 / ClockHz), where base is 0,
// or when its syncd was restarted; and what comes to a chip at time t is seen at
// the first cycle that is not before t. Both are 128-bit integer divisions, so
// nothing drifts. A frame's time on a link is that of its start-of-frame
// delimiter. A chip gives it as the cycle in which its clock sees it, so what
// a frame waits for the cycle's end, less than one cycle, counts as spent in the
// chip; hosts are exact to the picosecond.
//
// # Cores
//
// A switch with its hosts is worked on by one core at a time, in windows no
// longer than the shortest link between switches; see [Lab.Run]. The results are
// the same bytes for any number of workers.
//
// # Chance
//
// All random numbers come from integer generators, one for each use, seeded by
// the run's seed and the name of the use.
//
// # Rooms
//
// topology, document, decode and validate are the topology and its YAML; lab,
// wiring, run and events the machine; node, host, link and traffic its parts;
// result, check, sample and output what comes out; study and tap where packages
// above look at a run, or run something else. What belongs here: what is
// needed to drive switches from outside. What may not: knowledge of what is
// inside of one, which is that of a [Study].
package lab
