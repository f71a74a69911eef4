// Package archtest holds the arrows between packages, and who may ask the wall clock. It has
// only tests; the rules are the table in rules_test.go. A new package gets its line there.
package archtest
