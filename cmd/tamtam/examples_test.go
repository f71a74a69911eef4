package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tamtam/internal/command"
)

// Each command has examples. The command lines in them have existing flags and as many arguments as the command wants.
func TestExamples(t *testing.T) {
	without, unused := command.Examples(newRoot(&journal{}), examples())
	if len(without)+len(unused) > 0 {
		t.Errorf("commands without examples: %q; examples of no command: %q", without, unused)
	}
	for path, text := range examples() {
		if !strings.Contains("\n"+text, "\n"+path) {
			t.Errorf("%s: its examples do not contain it:\n%s", path, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			args := exampleWords(line)
			if args[0] == "#" || args[0] == "redis-server" {
				continue
			}
			root := newRoot(&journal{})
			c, rest, err := root.Find(args[1:])
			if err == nil && !c.DisableFlagParsing {
				if err = c.ParseFlags(rest); err == nil {
					err = c.ValidateArgs(c.Flags().Args())
				}
			}
			if err != nil || args[0] != "tamtam" || !c.Runnable() || c == root {
				t.Errorf("%s: %s: %v", path, line, err)
			}
		}
	}
}

// exampleWords splits a command line at blanks outside of double quotes.
func exampleWords(line string) []string {
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

// The help names the value of a flag by one word, and the flags of up are in groups.
func TestHelpOfFlags(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%s --%s: its value is called %q", c.CommandPath(), f.Name, name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&journal{}))
	_, printed := tamtam(t, "up", "--help")
	var headings []string
	for line := range strings.Lines(printed) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "  ") && strings.HasSuffix(line, ":") {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	want := []string{"Configuration:", "Chip and ports:", "Redis:", "Servers:", "Users:", "What the switch sends:",
		"Tests:", "Other:"}
	if !slices.Equal(headings, want) {
		t.Errorf("groups %q, want %q:\n%s", headings, want, printed)
	}
	_, other, _ := strings.Cut(printed, "  Other:\n")
	if strings.Count(strings.Split(other, "\n\n")[0], "--") != 1 { // --help
		t.Errorf("flags without a group:\n%s", other)
	}
}
