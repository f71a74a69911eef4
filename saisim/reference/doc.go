// Package reference is the chip of saisim once more, stepped one cycle at a time:
// slow, simple, and written to be read. The fast engine is held equal to it, bit
// for bit and cycle for cycle, by the tests of this package.
//
// It shares with the fast engine what the two are told (profiles, frames, SAI
// configuration as [config.Tables], programs as [pipe.Program]) and no code that
// decides anything. It has its own parser, tables as lists that are searched from
// the top, checksums that are computed anew, an interpreter of programs that looks
// fields up by name, a MAC and a clock that reckon in rational numbers, and a pipe
// that is a row of slots, shifted every cycle. It is written from the text in
// saisim, saisim/tm and saisim/pipe, not from the engine.
//
// A cycle's work is done in this order ([Chip.Step]): control batches of the cycle;
// what leaves the egress pipe gets to its MAC; frames whose timestamp point is now
// leave; the egress pipe takes a frame of a scheduler that is free; egress mirror
// copies are queued; what leaves the ingress pipe is copied and queued; frames that
// are whole now go to the arbiter; one of them enters the ingress pipe.
//
// # Control
//
// Control operations travel through the ingress pipe as bubbles between packets:
// each stage carries out its part when the bubble gets there. A packet keeps the
// configuration that it met when it entered to the end of the ingress pipe, and the
// program to the end of the egress pipe; its copies are made, and pass the fixed
// functions of the egress pipe, by the configuration of their time.
//
// The egress pipe is reckoned when a frame enters it, stage after stage, because
// the scheduler has to know whether it will leave and how long it will be. One
// frame a cycle enters it, and each word of memory is in one stage, so that is what
// the stages do one after another.
//
// # Alternate marking
//
// Where the fast engine has the scalable form of section 3.5 of the paper on AM-PM,
// its tables 1 to 6 stand here as they are printed (altmark.go), rules for TimeBits,
// Reg and MarkBit of which the first that matches counts. Periods are reckoned in
// rational numbers.
//
// # FlyMon
//
// Tasks run for one packet after the other (flymon.go), their compressed keys by the
// definition of [flymon.Compress], bit for bit; a register is a map from the place of a word
// to the word, and what is recirculated waits in a list.
//
// # Table recording
//
// A packet carries the names of the tables that it ran, and each copy those of the
// egress pipe behind them (record.go); the bits of a record are looked up in this list
// when it is made. What is done behind the egress pipe waits in one list of functions.
//
// # Tests
//
// TestEnginesAgree feeds both engines alike: random configurations by SAI calls,
// random programs, random traffic; configuration, programs, clocks and links change
// while frames are on their way. It compares every frame that leaves, books and queues
// at random instants, counters, registers and addresses, and where each copy ended and
// by which tables, and counts what happened, so that no feature is left out unseen.
// What the fast engine says that a copy ran must be a path of the graph by which the
// chip describes itself. A failure prints the seed and about the smallest number of
// packets. FuzzEngines does the same from bytes. TestMutantsAreCaught, in "make mutants", changes
// each line of a list in the fast engine and wants the comparison to fail.
//
// The fast engine has two paths, event by event and in windows, in which up to 64 packets run
// together. Which one a case takes goes with its seed, and for FuzzEngines with its input.
// TAMTAM_VECTOR says otherwise: 0 is event by event, 1 to 64 are that many packets together at most,
// and with "windows" the seed chooses between 1, 2, 63 and 64. TestPathsAgree has the two paths, with
// all of these vectors, do the same 10,000 frames with no control event from the first to the last,
// each engine advanced in steps of its own, and compares what leaves, counters, registers, queue lengths and
// books, with frames in the chip and without. Of the cases of TestEnginesAgree a quarter is as long,
// from seed 2,000,000 on, where "make differential" begins and soaks are; of the gate's only five are,
// which has to be quick.
//
// Of a third of the seeds from there on, and one of 11 of the gate's, most frames are usual: untagged TCP or UDP
// over IPv4, of hosts that stay where they are, in a chip where little else has a say. These take the short ways.
// One of nine has programs with nothing in the egress pipe, which leave a packet with the ingress pipe.
//
// "make differential" runs as many cases as wanted: TestEnginesAgree on each path, then TestPathsAgree.
package reference
