package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tamtam/internal/command/commandtest"
)

// Each command has examples. The command lines in them have existing flags and as many arguments as the command wants.
func TestExamples(t *testing.T) {
	commandtest.Examples(t, func() *cobra.Command { return newRoot(&journal{}) }, examples(), "redis-server")
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
