// Command soak runs the random tests on new seeds for a given time. The gate's seeds are fixed, and a seed that passed
// once will pass again.
//
//	make soak MINUTES=30 [SEED=n] [ONLY=altmark]
//
// Random tests are the Test functions that call randtest.Run. The test that had the least time so far runs next. It
// gets as many cases as fill a slice, according to the cost of its earlier cases. A quarter of the time is for fuzzing,
// which selects the Fuzz functions in the same way. Test binaries are compiled once, before the clock starts: a soak of
// 30 minutes tests for 30 minutes.
//
// All tests start at one seed, which is printed; SEED=n starts there again. The number of cases depends on the machine,
// but a case depends only on its seed. So each failure is printed with the command that repeats only this case. The
// output of a slice that failed stays in a folder. The exit code is 1 if anything failed, or if more than one target in
// ten ran nothing.
package main
