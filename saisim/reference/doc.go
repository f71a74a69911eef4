// Package reference is the chip of saisim once more, stepped one cycle at a time:
// slow, simple, and written to be read. The fast engine is held equal to it, bit
// for bit and cycle for cycle, by the tests of this package.
//
// It shares with the fast engine what the two are told (profiles, frames, SAI
// configuration as [saisim.Tables]), and no code that decides anything: it has its
// own parser, tables as lists that are searched from the top, a MAC that reckons
// in rational numbers, and a pipe that is a row of slots, shifted every cycle. It
// is written from the text in saisim, not from the engine.
//
// A cycle's work is done in this order (Chip.Step): what leaves the egress pipe
// gets to its MAC; frames whose timestamp point is now leave; free schedulers send
// what is queued; what leaves the ingress pipe is copied and queued; frames that
// are whole now go to the arbiter; one of them enters the ingress pipe.
//
// Control operations travel through the ingress pipe as bubbles between packets:
// each stage carries out its part when the bubble gets there. A packet keeps the
// configuration that it met when it entered, to the end of the ingress pipe; its
// copies are made, and pass the egress pipe, by the configuration of their time.
package reference
