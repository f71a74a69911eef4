package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// comparisons compare a tool's figures with those of tamtam's shell, or with what the hosts sent.
var comparisons = map[string]func(b *bench, command string) error{
	"ports": comparePorts, "queues": compareQueues, "dropped-by-acl": compareDropped, "cleared": compareCleared,
}

// number parses a figure such as 10,023. It returns false if it is none, such as N/A.
func number(text string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	return n, err == nil
}

// portStats returns the figures of portstat, by port.
func (b *bench) portStats(command string) (map[string]map[string]string, error) {
	out, err := b.output(command, false)
	if err != nil {
		return nil, err
	}
	rows := map[string]map[string]string{}
	if at := strings.Index(out, "{"); at >= 0 {
		err = json.Unmarshal([]byte(out[at:]), &rows)
	}
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("want JSON with ports, have %v: %s", err, last(out, 300))
	}
	return rows, nil
}

// shellCounters returns the counters of ports of tamtam's shell, by port and leaf.
func (b *bench) shellCounters() (map[string]map[string]string, error) {
	out, err := b.output(fmt.Sprintf("%s cli --data %s -c 'show interface counters | json'", b.options.tamtam, b.data()),
		false)
	if err != nil {
		return nil, err
	}
	var data any
	if err := json.Unmarshal([]byte(out), &data); err != nil {
		return nil, err
	}
	ports := map[string]map[string]string{}
	collect(data, ports)
	return ports, nil
}

// collect finds the entries with a name and counters in a document.
func collect(data any, ports map[string]map[string]string) {
	switch data := data.(type) {
	case []any:
		for _, e := range data {
			collect(e, ports)
		}
	case map[string]any:
		name, _ := data["name"].(string)
		state, _ := data["state"].(map[string]any)
		if counters, ok := state["counters"].(map[string]any); ok && name != "" {
			ports[name] = map[string]string{}
			for leaf, v := range counters {
				ports[name][leaf] = fmt.Sprint(v)
			}
		}
		for _, e := range data {
			collect(e, ports)
		}
	}
}

// comparePorts requires that the packets of every port lie between two readings of tamtam's shell.
func comparePorts(b *bench, command string) error {
	before, err := b.shellCounters()
	if err != nil {
		return err
	}
	stats, err := b.portStats(command)
	if err != nil {
		return err
	}
	after, err := b.shellCounters()
	if err != nil {
		return err
	}
	seen := 0
	for port, row := range stats {
		for _, c := range []struct{ field, prefix string }{{"RX_OK", "in"}, {"TX_OK", "out"}} {
			have, ok := number(row[c.field])
			low, okLow := packets(before[port], c.prefix)
			high, okHigh := packets(after[port], c.prefix)
			if !ok || !okLow || !okHigh {
				return fmt.Errorf("%s %s: is %q, and the shell has %v: want numbers", port, c.field, row[c.field], after[port])
			}
			if have < low || have > high {
				return fmt.Errorf("%s %s: is %d, want %d to %d", port, c.field, have, low, high)
			}
			seen += int(min(have, 1))
		}
	}
	if seen == 0 {
		return fmt.Errorf("no port has received or sent a packet")
	}
	return nil
}

// packets returns the unicast, multicast and broadcast packets of a direction.
func packets(counters map[string]string, prefix string) (sum uint64, ok bool) {
	for _, kind := range []string{"unicast", "multicast", "broadcast"} {
		n, is := number(counters[prefix+"-"+kind+"-pkts"])
		sum, ok = sum+n, ok || is
	}
	return sum, ok
}

// compareQueues requires that the packets of the queues of a port together are those that the port has sent.
func compareQueues(b *bench, command string) error {
	out, err := b.output(command, false)
	if err != nil {
		return err
	}
	var rows map[string]map[string]any
	if err := json.Unmarshal([]byte(out[max(0, strings.Index(out, "{")):]), &rows); err != nil {
		return fmt.Errorf("%w: %s", err, last(out, 300))
	}
	counters, err := b.shellCounters()
	if err != nil {
		return err
	}
	var sum uint64
	for _, queue := range rows["Ethernet8"] {
		if figures, ok := queue.(map[string]any); ok {
			n, _ := number(fmt.Sprint(figures["totalpacket"]))
			sum += n
		}
	}
	want, _ := packets(counters["Ethernet8"], "out")
	if sum == 0 || sum > want || want-sum > 20 { // the groups are polled at different times
		return fmt.Errorf("the queues of Ethernet8 have sent %d packets, and the port %d", sum, want)
	}
	return nil
}

// compareDropped sends packets that a rule drops, and requires that the rule has counted exactly these, with FCS.
func compareDropped(b *bench, command string) error {
	const frames, payload = 50, 100
	err := b.sh(fmt.Sprintf(`ip netns exec h1 /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(%d):
    s.sendto(b"x" * %d, ("10.8.0.1", 9))'`, frames, payload))
	if err != nil {
		return err
	}
	want := []string{strconv.Itoa(frames), strconv.Itoa(frames * (14 + 20 + 8 + payload + 4))}
	var out string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Second) {
		if out, err = b.output(command, false); err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if len(f) == 5 && f[0] == "R1" && f[3] == want[0] && f[4] == want[1] {
				return nil
			}
		}
	}
	return fmt.Errorf("rule R1 has not counted %s packets and %s bytes:\n%s", want[0], want[1], out)
}

// compareCleared clears the counters, sends 20 packets, and requires that the tool shows about as many.
func compareCleared(b *bench, command string) error {
	if _, err := b.output("sonic-clear counters", false); err != nil {
		return err
	}
	if err := b.sh("ip netns exec h1 ping -q -c 20 -i 0.05 10.8.0.1"); err != nil {
		return err
	}
	var have uint64
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Second) {
		stats, err := b.portStats(command)
		if err != nil {
			return err
		}
		var ok bool
		if have, ok = number(stats["Ethernet0"]["RX_OK"]); ok && have >= 20 {
			break
		}
	}
	if have < 20 || have > 40 { // beside the pings, ARP and the hosts' multicast
		return fmt.Errorf("Ethernet0 has received %d packets after 20 pings", have)
	}
	return nil
}
