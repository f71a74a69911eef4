package tam

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Feature is a TAM feature, which is active or not and has its own mode and objects. It defines everything in the shell
// for the feature: commands, help, prompt, running configuration and output.
type Feature struct {
	Ref     string // name in the tree
	Word    string // keyword of its mode and its show commands
	Help    string // help among the features
	about   string // help of the keyword
	Prompt  string // suffix of its mode's prompt, after config-tam-
	Objects []Object
	implied bool // true if a configured object activates the feature without a request
	inline  bool // true if the objects' commands also exist in one line, for scripts that add and remove objects
	// Shows adds the commands after show tam and the keyword.
	Shows func(add addShow)
}

// addShow adds a show command.
type addShow func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any)

// Features returns all features, in the order of the running configuration.
func Features() []Feature {
	return []Feature{tailStamping(), alternateMarking(), flyMon(), tableRecording(), dropMonitor(), inbandFlowAnalyzer()}
}

// Mode returns the feature's mode.
func (f Feature) Mode() kit.Mode { return kit.Mode(f.Word) }

// Keyword returns the keyword of the feature's mode and its show commands.
func (f Feature) Keyword() kit.Element { return kit.Keyword(f.Word, f.about) }

// objects returns all kinds of objects below tam.
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

// setFeature returns the action that enables or disables a feature.
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

// The switch decides on a feature a moment after the request. refusal reads the decision up to this number of times, at
// this interval.
const (
	refusalLooks = 5
	refusalEvery = 6 * time.Millisecond
)

// refusal returns the switch's reason if it cannot activate a feature. A missing decision is not a refusal, since the
// state will show the outcome later.
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

// clearCommands returns the commands that remove everything that is configured of a feature, apart from its activation.
func clearCommands() []*kit.Command {
	var out []*kit.Command
	for _, f := range Features() {
		if len(f.Objects) == 0 {
			continue
		}
		out = append(out, &kit.Command{
			Modes: kit.InExec, Do: f.clear,
			Form: kit.Seq("clear tam", f.Keyword(), kit.Keyword("configuration", "Remove all of the feature, after asking"),
				kit.Opt(kit.Keyword("yes", "Without asking"))),
		})
	}
	return out
}

// mostNamed is the largest number of objects that a question names.
const mostNamed = 5

// clear removes all objects of the feature in one transaction, after asking.
func (f Feature) clear(ctx context.Context, c *kit.Call) error {
	var changes []kit.Change
	var named []string
	for _, o := range f.Objects {
		names, err := o.Names().Live(ctx, c.Session)
		if err != nil {
			return err
		}
		for _, name := range names {
			changes, named = append(changes, kit.Change{Path: o.Path(name)}), append(named, o.Word+" "+name)
		}
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s has nothing configured", f.Word)
	}
	more := ""
	if n := len(named) - mostNamed; n > 0 {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	what := strings.Join(named, ", ") + more
	if !c.Has("yes") {
		if c.Session.Confirm == nil {
			return fmt.Errorf("this removes %s: add the word yes, because there is no terminal to ask at", what)
		}
		if yes, err := c.Session.Confirm("Remove " + what + "?"); err != nil || !yes {
			return err
		}
	}
	return c.Session.Client.Set(ctx, changes...)
}
