// Package commandtest checks the help of a program's commands, in tests.
package commandtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tamtam/internal/command"
)

// Examples checks that each command of a program has examples. The command lines in them must have existing flags, and
// as many arguments as the command wants. others are programs that examples may run too.
func Examples(t *testing.T, newRoot func() *cobra.Command, examples map[string]string, others ...string) {
	t.Helper()
	program := newRoot().Name()
	without, unused := command.Examples(newRoot(), examples)
	if len(without)+len(unused) > 0 {
		t.Errorf("commands without examples: %q; examples of no command: %q", without, unused)
	}
	for path, text := range examples {
		if !strings.Contains("\n"+text, "\n"+path) {
			t.Errorf("%s: its examples do not contain it:\n%s", path, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			args := words(line)
			if args[0] == "#" || slices.Contains(others, args[0]) {
				continue
			}
			root := newRoot()
			c, rest, err := root.Find(args[1:])
			if err == nil && !c.DisableFlagParsing {
				if err = c.ParseFlags(rest); err == nil {
					err = c.ValidateArgs(c.Flags().Args())
				}
			}
			if err != nil || args[0] != program || !c.Runnable() || c == root {
				t.Errorf("%s: %s: %v", path, line, err)
			}
		}
	}
}

// words splits a command line at blanks outside of double quotes.
func words(line string) []string {
	quoted := false
	words := strings.FieldsFunc(line, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ' ' && !quoted
	})
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `"`, "")
	}
	return words
}
