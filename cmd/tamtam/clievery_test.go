package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/internal/racetest"
)

// Commands that cannot be repeated are refused.
func TestCLIEveryRefuses(t *testing.T) {
	const commands = "want commands to repeat, by -c alone"
	try(t, "cli",
		line{"--every 10ms -c ?", command.ExitUsage, "--every 10ms: want 100ms or more"},
		line{"--every -1s -c ?", command.ExitUsage, "--every -1s: want 100ms or more"},
		line{"--every 1s", command.ExitUsage, "--every 1s: " + commands},
		line{"--every 1s -c ? -f x", command.ExitUsage, "--every 1s: " + commands})
}

// rounds cancels a context once a word has been written want times.
type rounds struct {
	bytes.Buffer
	word string
	want int
	end  context.CancelFunc
}

func (r *rounds) Write(p []byte) (int, error) {
	n, err := r.Buffer.Write(p)
	if strings.Count(r.String(), r.word) >= r.want {
		r.end()
	}
	return n, err
}

// The commands of -c are repeated until an interrupt, which is not an error. A command that fails ends the repetition.
func TestCLIEvery(t *testing.T) {
	racetest.Live(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &rounds{word: "Change the configuration", want: 3, end: cancel} // the help of exec mode contains it once
	var errOut bytes.Buffer
	args := []string{"cli", "--every", "100ms", "-c", "help"}
	if code := run(ctx, args, strings.NewReader(""), out, &errOut); code != 0 {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
	if n := strings.Count(out.String(), out.word); n != 3 {
		t.Errorf("%d rounds, want 3:\n%s", n, out.String())
	}
	if code := run(t.Context(), []string{"cli", "--every", "100ms", "-c", "shew"}, strings.NewReader(""), io.Discard,
		&errOut); code != command.ExitFailed {
		t.Errorf("a command that fails: exit %d", code)
	}
}
