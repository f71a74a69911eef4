package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/internal/printable"
)

// Paths of the data about the whole switch, and about the machine that runs its mgmtd.
const (
	systemRoot     = "openconfig-system:system"
	componentsRoot = "openconfig-platform:components"
)

// hostname is the only leaf that configures the switch as a whole.
var hostname = kit.Leaf{
	Word: "hostname", Help: "The switch's name", Undo: "It has none", Value: "A name as in DNS",
	Kind: &kit.Kind{Label: "<name>", Parse: kit.ParseHostname},
}

func systemCommands() []*kit.Command {
	return []*kit.Command{hostname.Single(kit.InConfig,
		func(*kit.Call) (*gpb.Path, error) { return tree.Path(systemRoot), nil })}
}

// showClock shows the time of day of the machine that runs the switch's mgmtd.
func showClock(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(systemRoot, "state", "current-datetime"))
	if err != nil {
		return nil, err
	}
	data, text := map[string]any{}, "-"
	if at, err := time.Parse(time.RFC3339Nano, found.Text()); err == nil {
		data["openconfig-system:current-datetime"], text = found.Text(), at.UTC().Format("Mon 02 Jan 2006 15:04:05 UTC")
	}
	return kit.NewView(data, func(p *kit.Printout) { p.Line("%s", text) }), nil
}

// showLines shows the lines of this session and of earlier ones on this machine.
func showLines(_ context.Context, c *kit.Call) (*kit.View, error) {
	if c.Session.History == nil {
		return nil, errors.New("lines are remembered at a terminal only: run tamtam cli without -c and --file")
	}
	lines := c.Session.History()
	return kit.NewView(map[string]any{"line": append([]string{}, lines...)}, func(p *kit.Printout) {
		for i, l := range lines {
			p.Line("%5d  %s", i+1, printable.Line(l))
		}
	}), nil
}

// showUptime shows how long the machine has been up, in the words of uptime -p.
func showUptime(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(systemRoot, "state"))
	if err != nil {
		return nil, err
	}
	data, text := map[string]any{}, "-"
	if ns, err := strconv.ParseUint(found.Text("up-time"), 10, 63); err == nil {
		data["openconfig-system:up-time"], text = found.Text("up-time"), upText(time.Duration(ns))
	}
	return kit.NewView(data, func(p *kit.Printout) { p.Line("%s", text) }), nil
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
			parts = append(parts, fmt.Sprintf("%d %s%s", n, unit.name, strings.Repeat("s", kit.IntOf(n != 1))))
		}
	}
	return "up " + strings.Join(parts, ", ")
}

// showPlatform shows the fields of SONiC's command. Some, such as the serial number, do not exist on this switch.
func showPlatform(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(componentsRoot))
	if err != nil {
		return nil, err
	}
	var chassis tree.Node
	chips := 0
	for _, e := range found.Items("component") {
		chips += kit.IntOf(e.Word("state", "type") == "INTEGRATED_CIRCUIT")
		if e.Word("state", "type") == "CHASSIS" {
			chassis = e.At("state")
		}
	}
	count := "-"
	if chips > 0 {
		count = strconv.Itoa(chips)
	}
	return kit.Framed(kit.One(componentsRoot, found), func(p *kit.Printout) {
		const width = 17
		p.Field(width, "Platform", kit.OrDash(chassis.Text("description")))
		p.Field(width, "HwSKU", kit.OrDash(chassis.Text("model-name")))
		p.Field(width, "ASIC Count", count)
		p.Field(width, "Base MAC Address", kit.OrDash(chassis.Text("base-mac-address")))
		p.Field(width, "Software Version", kit.OrDash(chassis.Text("software-version")))
		for _, none := range []string{"Serial Number", "Model Number", "Hardware Revision"} {
			p.Field(width, none, "N/A")
		}
	}), nil
}
