// Package archtest checks rules of the source tree: which packages a package may import, and which may read the wall
// clock. It also checks that files named in pages and comments exist, and that links and anchors of pages are valid. It
// has only tests. The rules for imports and clocks are the table in rules_test.go: add a line there for a new room.
package archtest
