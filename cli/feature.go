package cli

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// feature is a part of TAM that is active or not, with a mode and objects of its own.
type feature struct {
	ref     string // in the tree
	word    string // keyword of its mode and its show commands
	help    string // among the features
	mode    mode
	objects []object
	inline  bool // the objects' commands are there as one line too, for those who add and remove them
}

// features are all that there are, in the order of the running configuration.
func features() []feature {
	return []feature{
		{"TAILSTAMPING", "tail-stamping", "Timestamps at the end of frames", modeTailStamp, []object{stampSession}, false},
		{"ALTMARK", "alt-mark", "Alternate marking", modeAltMark, []object{altMarkSession}, false},
		{"FLYMON", "flymon", "Sketches", modeFlyMon, []object{flyMonTask, flyMonQuery}, true},
		{"TABLERECORD", "table-record", "Table recording", modeTableRecord, []object{recordSession}, true},
	}
}

// objects are all kinds that there are below tam.
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
		in := []mode{f.mode}
		out = append(out, &command{modes: inTAM, form: seq(f.word), do: enter(f.mode)}, &command{
			modes: in, do: setFeature(f.ref),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		})
		for _, o := range f.objects {
			out = append(out, o.command(in, ""))
			if f.inline {
				out = append(out, o.command(inConfig, "tam "+f.word))
			}
		}
	}
	return out
}

// setFeature asks for a feature or for its end.
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

// refusal is the switch's reason when it cannot activate a feature. No answer
// in time is not a refusal: the state shows what came of it.
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

// runningFeatures comes behind all that objects of features name. A feature is enabled
// last, so that nothing is measured before all is configured.
func (p *page) runningFeatures(tam tree) {
	for _, f := range features() {
		var lines page
		for _, o := range f.objects {
			lines.running("  ", o, o.entries(tam))
		}
		for _, configured := range tam.items("features", "feature") {
			if configured.name() == f.ref && configured.word("config", "status") == "ACTIVE" {
				lines.line("  enable")
			}
		}
		p.block("tam\n "+f.word, &lines)
	}
}
