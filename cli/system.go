package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Where the switch as a whole, and the machine that its mgmtd runs on, are in the tree.
const (
	systemRoot     = "openconfig-system:system"
	componentsRoot = "openconfig-platform:components"
)

// hostname is the one leaf of the switch as a whole.
var hostname = leaf{
	word: "hostname", help: "The switch's name", undo: "It has none", value: "A name as in DNS",
	kind: &argKind{label: "<name>", parse: parseName},
}

func systemCommands() []*command {
	return []*command{hostname.single(inConfig, func(*call) (*gpb.Path, error) { return gpath(systemRoot), nil })}
}

// showUptime says how long the machine is up, in the words of uptime -p.
func showUptime(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(systemRoot, "state"))
	if err != nil {
		return nil, err
	}
	data, text := map[string]any{}, "-"
	if ns, err := strconv.ParseUint(found.text("up-time"), 10, 63); err == nil {
		data["openconfig-system:up-time"], text = found.text("up-time"), upText(time.Duration(ns))
	}
	return &view{data, func(p *printout) { p.line("%s", text) }}, nil
}

func upText(d time.Duration) string {
	const day = 24 * time.Hour
	var parts []string
	for _, unit := range []struct {
		name string
		long time.Duration
	}{{"week", 7 * day}, {"day", day}, {"hour", time.Hour}, {"minute", time.Minute}} {
		n := d / unit.long
		d -= n * unit.long
		if n > 0 || unit.long == time.Minute && parts == nil {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, unit.name, strings.Repeat("s", btoi(n != 1))))
		}
	}
	return "up " + strings.Join(parts, ", ")
}

// showPlatform has the fields of SONiC's command, of which a switch like this has no serial number and the like.
func showPlatform(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(componentsRoot))
	if err != nil {
		return nil, err
	}
	var chassis tree
	chips := 0
	for _, e := range found.items("component") {
		chips += btoi(e.word("state", "type") == "INTEGRATED_CIRCUIT")
		if e.word("state", "type") == "CHASSIS" {
			chassis = e.at("state")
		}
	}
	count := "-"
	if chips > 0 {
		count = strconv.Itoa(chips)
	}
	return framed(one(componentsRoot, found), func(p *printout) {
		const width = 17
		p.field(width, "Platform", orDash(chassis.text("description")))
		p.field(width, "HwSKU", orDash(chassis.text("model-name")))
		p.field(width, "ASIC Count", count)
		p.field(width, "Base MAC Address", orDash(chassis.text("base-mac-address")))
		p.field(width, "Software Version", orDash(chassis.text("software-version")))
		for _, none := range []string{"Serial Number", "Model Number", "Hardware Revision"} {
			p.field(width, none, "N/A")
		}
	}), nil
}
