package tam

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Feature is a TAM feature, which is active or not and has a mode and objects of its own. What the
// shell has of it, commands, help, prompt, running configuration and what is shown, follows from
// this.
type Feature struct {
	Ref     string // in the tree
	Word    string // keyword of its mode and its show commands
	Help    string // among the features
	about   string // of the keyword
	Prompt  string // what the prompt calls its mode, behind config-tam-
	Objects []Object
	implied bool // without being asked for, it is active while something of it is configured
	inline  bool // the objects' commands also exist as one line, for whoever adds and removes them
	// Shows adds the commands behind show tam and the keyword.
	Shows func(add addShow)
}

// addShow adds a command that shows something.
type addShow func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any)

// Features lists all features, in the order of the running configuration.
func Features() []Feature {
	return []Feature{tailStamping(), alternateMarking(), flyMon(), tableRecording(), dropMonitor(), inbandFlowAnalyzer()}
}

// Mode is the feature's mode.
func (f Feature) Mode() kit.Mode { return kit.Mode(f.Word) }

// Keyword is the word of the feature's mode and its show commands.
func (f Feature) Keyword() kit.Element { return kit.Keyword(f.Word, f.about) }

// objects lists all kinds of objects below tam.
func objects() []Object {
	out := []Object{Collector, Sampler, FlowGroup}
	for _, f := range Features() {
		out = append(out, f.Objects...)
	}
	return out
}

func featureName(ref string) string {
	for _, f := range Features() {
		if f.Ref == ref {
			return f.Word
		}
	}
	return strings.ToLower(ref)
}

func featureCommands() []*kit.Command {
	var out []*kit.Command
	for _, f := range Features() {
		in := []kit.Mode{f.Mode()}
		out = append(out, &kit.Command{Modes: kit.InTAM, Form: kit.Seq(f.Keyword()), Do: kit.Enter(f.Mode())}, &kit.Command{
			Modes: in, Do: setFeature(f.Ref),
			Form: kit.Seq(kit.Keyword("enable", "Activate the feature")),
			No:   kit.NoForm(kit.Keyword("enable", "Deactivate the feature")),
		})
		for _, o := range f.Objects {
			out = append(out, o.Command(in))
			if f.inline {
				out = append(out, o.Command(kit.InConfig, "tam", f.Keyword()))
			}
		}
	}
	return out
}

// setFeature switches a feature on or off.
func setFeature(name string) func(context.Context, *kit.Call) error {
	return func(ctx context.Context, c *kit.Call) error {
		status := "ACTIVE"
		if c.No {
			status = "INACTIVE"
		}
		value := tree.ListEntry("openconfig-tam", map[string]any{"feature-ref": name}, map[string]any{"status": status})
		path := tree.Path(TamRoot, "features", tree.In("feature", "feature-ref", name))
		if err := c.Session.Client.Set(ctx, kit.Change{Path: path, Value: value}); err != nil || c.No {
			return err
		}
		return refusal(ctx, c.Session, name)
	}
}

// The switch decides on a feature a moment after it was asked for; refusal
// looks this often, this far apart, for a bad answer.
const (
	refusalLooks = 5
	refusalEvery = 6 * time.Millisecond
)

// refusal is the switch's reason when it cannot activate a feature. No answer in time is not a
// refusal: the state will show the outcome.
func refusal(ctx context.Context, s *kit.Session, ref string) error {
	path := tree.Path(TamRoot, "features-state", tree.In("feature", "feature-ref", ref), "state")
	for range refusalLooks {
		found, err := s.Client.All(ctx, path)
		if err != nil {
			return err
		}
		switch status := found.Word("op-status"); status {
		case "ACTIVE":
			return nil
		case "UNSUPPORTED", "INSUFFICIENT_RESOURCES":
			reason := found.Text("reason")
			if reason == "" {
				reason = strings.ToLower(strings.ReplaceAll(status, "_", " "))
			}
			return fmt.Errorf("%s is not activated: %s", featureName(ref), reason)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(refusalEvery):
		}
	}
	return nil
}
