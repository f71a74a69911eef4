package cli

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// feature is a TAM feature, which is active or not and has a mode and objects of its own. What the
// shell has of it, commands, help, prompt, running configuration and what is shown, follows from
// this.
type feature struct {
	ref     string // in the tree
	word    string // keyword of its mode and its show commands
	help    string // among the features
	about   string // of the keyword
	prompt  string // what the prompt calls its mode, behind config-tam-
	objects []object
	implied bool // without being asked for, it is active while something of it is configured
	inline  bool // the objects' commands also exist as one line, for whoever adds and removes them
	// shows adds the commands behind show tam and the keyword.
	shows func(add addShow)
}

// addShow adds a command that shows something.
type addShow func(show func(context.Context, *call) (*view, error), parts ...any)

// features lists all features, in the order of the running configuration.
func features() []feature {
	return []feature{tailStamping(), alternateMarking(), flyMon(), tableRecording(), dropMonitor(), inbandFlowAnalyzer()}
}

func (f feature) mode() mode { return mode(f.word) }

func (f feature) keyword() element { return kw(f.word, f.about) }

// objects lists all kinds of objects below tam.
func objects() []object {
	out := []object{collector, sampler, flowGroup}
	for _, f := range features() {
		out = append(out, f.objects...)
	}
	return out
}

func featureName(ref string) string {
	for _, f := range features() {
		if f.ref == ref {
			return f.word
		}
	}
	return strings.ToLower(ref)
}

func featureCommands() []*command {
	var out []*command
	for _, f := range features() {
		in := []mode{f.mode()}
		out = append(out, &command{modes: inTAM, form: seq(f.keyword()), do: enter(f.mode())}, &command{
			modes: in, do: setFeature(f.ref),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		})
		for _, o := range f.objects {
			out = append(out, o.command(in))
			if f.inline {
				out = append(out, o.command(inConfig, "tam", f.keyword()))
			}
		}
	}
	return out
}

// setFeature switches a feature on or off.
func setFeature(name string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		status := "ACTIVE"
		if c.no {
			status = "INACTIVE"
		}
		value := listed("openconfig-tam", map[string]any{"feature-ref": name}, map[string]any{"status": status})
		path := gpath(tamRoot, "features", keyed{"feature", "feature-ref", name})
		if err := c.sh.client.set(ctx, change{path: path, value: value}); err != nil || c.no {
			return err
		}
		return c.sh.refusal(ctx, name)
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
func (s *Shell) refusal(ctx context.Context, ref string) error {
	path := gpath(tamRoot, "features-state", keyed{"feature", "feature-ref", ref}, "state")
	for range refusalLooks {
		found, err := s.client.all(ctx, path)
		if err != nil {
			return err
		}
		switch status := found.word("op-status"); status {
		case "ACTIVE":
			return nil
		case "UNSUPPORTED", "INSUFFICIENT_RESOURCES":
			reason := found.text("reason")
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
