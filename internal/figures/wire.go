package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// wires matches the ports of a switch that the page wires to interfaces.
var wires = regexp.MustCompile(` --port \w+=(\w+)`)

// own runs a command in a private network, in which any user may create interfaces.
const own = "unshare --user --map-root-user --net "

// wire makes a switch run in a separate network if its ports are wired to interfaces, and creates these interfaces
// there. The other end of eth1 is host-eth1, from which other commands send.
func wire(script string) string {
	var lines []string
	for _, m := range wires.FindAllStringSubmatch(script, -1) {
		name, peer := m[1], "host-"+m[1]
		lines = append(lines, fmt.Sprintf("ip link add %s type veth peer name %s", name, peer))
		for _, end := range []string{name, peer} {
			// Without automatic addresses, only commands send frames.
			lines = append(lines, fmt.Sprintf("ip link set %s addrgenmode none up", end))
		}
	}
	if lines == nil {
		return "exec " + script
	}
	lines = append(lines, "ip link set lo up", "exec "+script)
	return "exec " + own + "sh -e <<'WIRES'\n" + strings.Join(lines, "\n") + "\nWIRES"
}

// mayWire returns the reason why wire cannot work here, or nil if it can.
func mayWire(ctx context.Context) error {
	for _, program := range []string{"unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, "sh", "-c", own+"ip link add eth1 type veth peer name eth2").CombinedOutput()
	if err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}
