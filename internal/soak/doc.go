// Command soak runs the random tests on seeds that nobody has seen, for as long as it is told. The
// gate's seeds are fixed, and a seed that passed once will keep passing.
//
//	make soak MINUTES=30 [SEED=n] [ONLY=altmark]
//
// Random tests are the Test functions that call randtest.Run. They take turns: the one that had the
// least time so far is next, with as many cases as fill a slice, judging by the cost of its earlier
// cases. A quarter of the time is for fuzzing, which goes round over the Fuzz functions in the same
// way. Test binaries are compiled once, before the clock starts: a soak of 30 minutes tests for 30 minutes.
//
// All tests start at one seed, which is printed: SEED=n starts there again. How far a test comes
// depends on the machine, what a case does on its seed alone; so each failure is printed with the
// command that repeats it by itself. The output of a slice that failed stays in a folder. The exit
// code is 1 if anything failed, or if more than one target in ten ran nothing.
package main
