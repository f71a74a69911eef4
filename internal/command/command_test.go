package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A mistake in the command line is distinguished from a failure at every level. An interrupted command has failed.
func TestRun(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	fails := func(err error) func(*cobra.Command, []string) error {
		return func(*cobra.Command, []string) error { return err }
	}
	for _, tt := range []struct {
		args string
		ctx  context.Context
		code int
		want string
	}{
		{"", t.Context(), ExitUsage, "which command?"},
		{"fly", t.Context(), ExitUsage, "\"fly\"; want bad, completion, cut, good, group, version or wrong"},
		{"good", t.Context(), 0, "done"},
		{"good more", t.Context(), ExitUsage, "p: unknown command"},
		{"godo", t.Context(), ExitUsage, "p: unknown command \"godo\"; did you mean good?"},
		{"good --what", t.Context(), ExitUsage, "p: unknown flag: --what; `p good --help` lists them"},
		{"good --hlep", t.Context(), ExitUsage, "p: unknown flag: --hlep; did you mean --help?"},
		{"group on", t.Context(), ExitUsage, "p: unknown command \"on\" of p group; did you mean one?"},
		{"group what", t.Context(), ExitUsage, "p: unknown command \"what\" of p group; want one or other"},
		{"bad", t.Context(), ExitFailed, "p: file does not exist"},
		{"wrong", t.Context(), ExitUsage, "p: file does not exist"},
		{"group one", t.Context(), ExitUsage, "accepts 1 arg(s), received 0; usage: p group one"},
		{"cut", ended, ExitFailed, "p: interrupted"},
		{"cut", t.Context(), ExitFailed, "p: context canceled"},
		{"--help", t.Context(), 0, "a program"},
		{"version", t.Context(), 0, "p version "},
		{"version now", t.Context(), ExitUsage, "p: unknown command"},
	} {
		group := &cobra.Command{Use: "group", RunE: fails(nil)}
		group.AddCommand(&cobra.Command{Use: "one", Args: cobra.ExactArgs(1), RunE: fails(nil)},
			&cobra.Command{Use: "other", Args: cobra.ExactArgs(1), RunE: fails(nil)})
		root := Root("p", "a program", group,
			&cobra.Command{Use: "good", Run: func(c *cobra.Command, _ []string) { c.Print("done") }},
			&cobra.Command{Use: "bad", RunE: fails(fs.ErrNotExist)},
			&cobra.Command{Use: "wrong", RunE: fails(Usage(fs.ErrNotExist))},
			&cobra.Command{Use: "cut", RunE: fails(context.Canceled)})
		var out bytes.Buffer
		code := Run(tt.ctx, root, strings.Fields(tt.args), nil, &out, &out)
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: exit %d, %s; want %d, %s", tt.args, code, &out, tt.code, tt.want)
		}
	}
	if err := Usagef("no: %w", fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) || !errors.Is(Usage(err), fs.ErrNotExist) {
		t.Errorf("%v does not say what it is", err)
	}
	if Version() == "" {
		t.Error("the build has no version, not even an unknown one")
	}
}

// A version has the commit and its date, and a tree that differs from the commit is no release of it.
func TestVersion(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef0123456789abcdef01234567"),
		setting("vcs.time", "2026-11-29T17:44:26Z"), setting("vcs.modified", "false")}
	for _, tt := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, "v1.2.0"},
		{commit, "v1.2.0 (commit 0123456789ab, 2026-11-29)"},
		{append(commit[:2:2], setting("vcs.modified", "true")), "v1.2.0 (commit 0123456789ab, 2026-11-29, modified)"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.0"}, Settings: tt.settings}
		if got := versionOf(info); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.settings, got, tt.want)
		}
	}
}
