package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const maxUint32 = 1<<32 - 1

func tamCommands() []*command {
	var (
		collector = nameKind(liveNames("collectors", "collector"))
		sampler   = nameKind(liveNames("samplers", "sampler"))
		group     = nameKind(liveNames("flowgroups", "flowgroup"))
		session   = nameKind(liveNames("tailstamping-sessions", "tailstamping-session"))
		id        = number(1, maxUint32)
		transport = oneOf(choice{"UDP", "Default"}, choice{"TCP", ""})
	)
	set, remove := flowGroupOptions()
	return []*command{
		{modes: inConfig, form: seq("tam"), do: enter(modeTAM)},
		{modes: inTAM, form: seq("tail-stamping"), do: enter(modeTailStamp)},
		{
			modes: inTAM, form: seq("switch-id", arg("value", id, "Identifier")), do: setSwitch("switch-id"),
			no: noForm("switch-id", opt(arg("value", id, "Identifier"))),
		},
		{
			modes: inTAM, form: seq("enterprise-id", arg("value", id, "Identifier")), do: setSwitch("enterprise-id"),
			no: noForm("enterprise-id", opt(arg("value", id, "Identifier"))),
		},
		{
			modes: inTAM, do: setCollector,
			form: seq("collector", arg("name", collector, "Name of the collector"),
				kw("ip", "Its address"), arg("ip", ipAddress, "Address"),
				kw("port", "Its transport port"), arg("port", number(1, 65535), "Port"),
				opt(kw("protocol", "Transport of the reports"), arg("protocol", transport, "Transport"))),
			no: noForm("collector", arg("name", collector, "Name of the collector")),
		},
		{
			modes: inTAM, do: setSampler,
			form: seq("sampler", arg("name", sampler, "Name of the sampler"),
				kw("rate", "One packet in this many"), arg("rate", number(1, maxUint32), "Packets")),
			no: noForm("sampler", arg("name", sampler, "Name of the sampler")),
		},
		{
			modes: inTAM, do: flowGroup,
			form: seq("flow-group", arg("name", group, "Name of the flow group"), set),
			no:   noForm("flow-group", arg("name", group, "Name of the flow group"), remove),
		},
		{
			modes: inTailStamp, do: setFeature("TAILSTAMPING"),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		},
		{
			modes: inTailStamp, do: setSession,
			form: seq("session", arg("name", session, "Name of the session"),
				kw("flowgroup", "The flow group to stamp"), arg("flowgroup", group, "Name of the flow group")),
			no: noForm("session", arg("name", session, "Name of the session")),
		},
	}
}

func noForm(parts ...any) *form {
	f := seq(parts...)
	return &f
}

// flowGroupOptions are what may follow "flow-group NAME", and what may follow
// "no flow-group NAME" to remove single fields.
func flowGroupOptions() (set, remove [][]element) {
	for _, m := range matches() {
		set = append(set, opt(kw(m.word, m.help), arg(m.word, m.kind, m.help)))
		remove = append(remove, opt(kw(m.word, m.help)))
	}
	version := oneOf(choice{"ipv4", "IPv4 packets only"}, choice{"ipv6", "IPv6 packets only"})
	set = append(set,
		opt(kw("priority", "Where flow groups overlap, the higher wins; default 100"), arg("priority", number(1, 1024), "Priority")),
		opt(kw("id", "Number of the flow group; default the lowest that is free"), arg("id", number(1, maxUint32), "Number")),
		opt(kw("ip-version", "Match only packets of this family"), arg("ip-version", version, "Family")))
	remove = append(remove, opt(kw("priority", "Back to 100")), opt(kw("ip-version", "Match packets of both families")))
	return set, remove
}

func flowGroup(ctx context.Context, c *call) error {
	if c.no {
		return removeFlowGroup(ctx, c)
	}
	return setFlowGroup(ctx, c)
}

// setSwitch writes or resets an attribute of the whole switch.
func setSwitch(leaf string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		if c.no {
			return c.sh.client.set(ctx, change{path: gpath(tamRoot, "switch", "config", leaf)})
		}
		n, err := strconv.ParseUint(c.args["value"], 10, 32)
		if err != nil {
			return err
		}
		return c.sh.client.set(ctx, change{path: gpath(tamRoot, "switch", "config", leaf), value: n})
	}
}

// listEntry is an entry of one of the tree's lists with the key "name".
type listEntry struct {
	what, container, list string
}

func (l listEntry) path(name string, below ...any) *gpb.Path {
	return gpath(append([]any{tamRoot, l.container, keyed{l.list, "name", name}}, below...)...)
}

// put creates the entry or changes what config names.
func (l listEntry) put(ctx context.Context, c *call, config map[string]any) error {
	name := c.args["name"]
	config["name"] = name
	value := map[string]any{"openconfig-tam:name": name, "openconfig-tam:config": config}
	return c.sh.client.set(ctx, change{path: l.path(name), value: value})
}

// remove deletes an entry that exists.
func (l listEntry) remove(ctx context.Context, c *call) error {
	name := c.args["name"]
	found, err := c.sh.client.get(ctx, gpb.GetRequest_CONFIG, l.path(name))
	if err != nil {
		return err
	}
	if !found[0].exists() {
		return fmt.Errorf("%s %s does not exist", l.what, name)
	}
	return c.sh.client.set(ctx, change{path: l.path(name)})
}

func setCollector(ctx context.Context, c *call) error {
	l := listEntry{"collector", "collectors", "collector"}
	if c.no {
		return l.remove(ctx, c)
	}
	port, err := strconv.ParseUint(c.args["port"], 10, 16)
	if err != nil {
		return err
	}
	config := map[string]any{"ip": c.args["ip"], "port": port, "protocol": "UDP"}
	if p := c.args["protocol"]; p != "" {
		config["protocol"] = p
	}
	return l.put(ctx, c, config)
}

func setSampler(ctx context.Context, c *call) error {
	l := listEntry{"sampler", "samplers", "sampler"}
	if c.no {
		return l.remove(ctx, c)
	}
	rate, err := strconv.ParseUint(c.args["rate"], 10, 32)
	if err != nil {
		return err
	}
	return l.put(ctx, c, map[string]any{"sampling-rate": rate})
}

func setSession(ctx context.Context, c *call) error {
	l := listEntry{"tail-stamping session", "tailstamping-sessions", "tailstamping-session"}
	if c.no {
		return l.remove(ctx, c)
	}
	return l.put(ctx, c, map[string]any{"flowgroup": c.args["flowgroup"]})
}

// setFeature asks for a feature or for its end.
func setFeature(name string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		status := "ACTIVE"
		if c.no {
			status = "INACTIVE"
		}
		value := map[string]any{
			"openconfig-tam:feature-ref": name,
			"openconfig-tam:config":      map[string]any{"feature-ref": name, "status": status},
		}
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
func (s *Shell) refusal(ctx context.Context, feature string) error {
	for range refusalLooks {
		found, err := s.client.get(ctx, gpb.GetRequest_ALL, featureStatePath(feature))
		if err != nil {
			return err
		}
		switch status := found[0].word("op-status"); status {
		case "ACTIVE":
			return nil
		case "UNSUPPORTED", "INSUFFICIENT_RESOURCES":
			reason := found[0].text("reason")
			if reason == "" {
				reason = strings.ToLower(strings.ReplaceAll(status, "_", " "))
			}
			return fmt.Errorf("%s is not activated: %s", featureName(feature), reason)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(refusalEvery):
		}
	}
	return nil
}

func featureStatePath(feature string) *gpb.Path {
	return gpath(tamRoot, "features-state", keyed{"feature", "feature-ref", feature}, "state")
}

// featureNames spells the features of the tree as the shell does.
var featureNames = map[string]string{
	"TAILSTAMPING": "tail-stamping",
	"ALTMARK":      "alt-mark",
	"FLYMON":       "flymon",
	"TABLERECORD":  "table-record",
}

func featureName(ref string) string {
	if name, ok := featureNames[ref]; ok {
		return name
	}
	return strings.ToLower(ref)
}
