package feature_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
)

// A panes is a bench with windows whose answer equals the request.
type panes struct {
	*orchtest.Bench
	windows *feature.Windows
}

func newPanes(t *testing.T) *panes {
	b := &panes{Bench: orchtest.Started(t, saitest.Options{Extensions: []string{"left", "right"}})}
	b.windows = feature.NewWindows(feature.Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: orch.NewFeatures(b.Daemon),
	})
	b.CreateSwitch()
	b.Step()
	b.Rec.Reset()
	return b
}

// ask reads a window, and checks the answer.
func (b *panes) ask(name, question string) {
	b.T.Helper()
	values, err := b.windows.Ask(b.Ctx, name, "question", question, 512)
	if err != nil {
		b.T.Fatal(err)
	}
	if answer, err := feature.Value[string](values, "question"); err != nil || answer != question {
		b.T.Errorf("the window %s says %q, %v to %q", name, answer, err, question)
	}
}

// want checks the changing calls since the last time and the number of windows in the ASIC. Calls are "create 0",
// "set 0" and "remove 0", with a "!" appended if they failed.
func (b *panes) want(there int, calls ...string) {
	b.T.Helper()
	ops := map[byte]string{'c': "create ", 's': "set ", 'r': "remove "}
	var got []string
	for _, line := range b.Calls() {
		if line[0] == 'E' {
			got[len(got)-1] += "!"
			continue
		}
		object, _, _ := strings.Cut(line[2:], "|")
		_, number, _ := strings.Cut(object, "#")
		got = append(got, ops[line[0]]+number)
	}
	if !slices.Equal(got, calls) {
		b.T.Errorf("calls %q, want %q", got, calls)
	}
	if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != there {
		b.T.Errorf("%d windows are in the ASIC, want %d", n, there)
	}
}

// A window exists during reads: one of its kind, for any number of requests.
func TestWindow(t *testing.T) {
	b := newPanes(t)
	b.ask("left", "one")
	b.ask("left", "another")
	b.ask("right", "one")
	b.want(2, "create 0", "set 0", "create 1")
	b.windows.Close(b.Ctx)
	b.want(0, "remove 0", "remove 1")
	b.windows.Close(b.Ctx)
	b.Pass(5 * time.Second)
	b.want(0)
}

// The result of a window that cannot be removed is valid. The next read of its kind uses the window and removes it.
func TestWindowThatStaysIsUsedAgain(t *testing.T) {
	b := newPanes(t)
	b.ask("left", "one")
	b.Rec.FailAt(1, sai.StatusFailure)
	b.windows.Close(b.Ctx)
	b.want(1, "create 0", "remove 0!")
	b.ask("left", "another")
	b.ask("right", "one")
	b.windows.Close(b.Ctx)
	b.want(0, "set 0", "create 1", "remove 0", "remove 1")
	b.Pass(5 * time.Second)
	b.want(0)
}

// The removal of a window that stays is retried every second. It does not make other windows stay.
func TestWindowThatStaysIsTriedAgain(t *testing.T) {
	b := newPanes(t)
	b.ask("left", "one")
	b.ask("right", "one")
	b.Rec.FailAt(1, sai.StatusFailure)
	b.windows.Close(b.Ctx)
	b.want(1, "create 0", "create 1", "remove 0!", "remove 1")
	b.Pass(feature.TryAgain - time.Millisecond)
	b.want(1)
	b.Rec.FailAt(1, sai.StatusFailure)
	b.Pass(time.Millisecond)
	b.want(1, "remove 0!")
	b.Pass(feature.TryAgain - time.Millisecond)
	b.want(1)
	b.Pass(time.Millisecond)
	b.want(0, "remove 0")
	b.Pass(5 * time.Second)
	b.want(0)
}

// A window that stayed, and disappeared by itself, is created again.
func TestWindowThatWent(t *testing.T) {
	for _, gone := range []sai.Status{sai.StatusItemNotFound, sai.StatusInvalidObjectID} {
		b := newPanes(t)
		b.ask("left", "one")
		b.Rec.FailAt(1, gone)
		b.ask("left", "another")
		b.want(2, "create 0", "set 0!", "create 1")
		b.windows.Close(b.Ctx)
		b.want(1, "remove 1")
	}
}

// A window that the chip refuses to set returns an error, and is removed like any other.
func TestWindowRefused(t *testing.T) {
	b := newPanes(t)
	b.ask("left", "one")
	b.Rec.FailAt(1, sai.StatusFailure)
	_, err := b.windows.Ask(b.Ctx, "left", "question", "another", 512)
	if !errors.Is(err, sai.StatusFailure) || !strings.Contains(err.Error(), "set the window left") {
		t.Errorf("error %v", err)
	}
	b.windows.Close(b.Ctx)
	b.want(0, "create 0", "set 0!", "remove 0")
	b.Rec.FailAt(1, sai.StatusInsufficientResources)
	_, err = b.windows.Ask(b.Ctx, "left", "question", "one", 512)
	if !errors.Is(err, sai.StatusInsufficientResources) || !strings.Contains(err.Error(), "create the window left") {
		t.Errorf("error %v", err)
	}
	b.windows.Close(b.Ctx)
	b.Rec.Reset()
	b.Pass(5 * time.Second)
	b.want(0)
}
