// Package archtest checks which package may import which, which may read the wall clock, that the files that
// pages and comments name are there, and that links and anchors of pages lead somewhere. It has only tests; the
// rules for imports and clocks are the table in rules_test.go. A new package gets its line there.
package archtest
