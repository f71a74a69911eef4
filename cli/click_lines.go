package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/cli/forwarding"
	"tamtam/cli/kit"
	"tamtam/cli/trimming"
)

// A clickForm is a command of SONiC whose equivalent lines are computed from the words after its own words. The error
// is the reason why no lines are equivalent.
type clickForm struct {
	theirs string
	lines  func(words []string) ([]string, error)
}

func clickForms() []clickForm {
	return []clickForm{
		{"config route add", clickedRoute("", addedRoute)},
		{"config route del", clickedRoute("no ", deletedRoute)},
		{"config mirror_session add", clickedMirror(erspanWords[:7])},
		{"config mirror_session erspan add", clickedMirror(erspanWords)},
		{"config mirror_session span add", clickedMirror(spanWords)},
		{"config sflow collector add", clickedCollector},
		{"config switch-hash global", forwarding.ClickedHash},
		{"config switch-trimming global", trimming.ClickedConfig},
		{"config dropcounters install", clickedDropCounter(true, "")},
		{"config dropcounters enable-monitor", clickedMonitor("enable")},
		{"config dropcounters enable_monitor", clickedMonitor("enable")},
		{"config dropcounters disable-monitor", clickedMonitor("disable")},
		{"config dropcounters disable_monitor", clickedMonitor("disable")},
		{"config dropcounters add-reasons", clickedDropCounter(false, "")},
		{"config dropcounters add_reasons", clickedDropCounter(false, "")},
		{"config dropcounters remove-reasons", clickedDropCounter(false, "no ")},
		{"config dropcounters remove_reasons", clickedDropCounter(false, "no ")},
	}
}

// The forms of the two commands for routes.
const (
	addedRoute   = "prefix A.B.C.D/M nexthop A.B.C.D[,A.B.C.D] [dev IFACE] | dev IFACE | dev null"
	deletedRoute = "prefix A.B.C.D/M [nexthop A.B.C.D [dev IFACE] | dev IFACE | dev null]"
)

// clickedRoute returns "ip route" lines for SONiC's "config route", which handles both families and several next hops
// at once. All next hops are checked before any line is returned. Otherwise the first line could have been run when the
// second one is refused.
func clickedRoute(no, form string) func([]string) ([]string, error) {
	return func(words []string) ([]string, error) {
		route, nextHops, err := routeWords(words, no == "")
		if err == nil && len(nextHops) > 1 && no != "" {
			err = fmt.Errorf("one way at a time can be deleted, not %d", len(nextHops))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: want config route ... %s", err, form)
		}
		lines := []string{"configure"}
		for _, w := range nextHops {
			lines = append(lines, no+route+w)
		}
		return lines, nil
	}
}

// routeWords parses prefix [vrf default] PREFIX nexthop [vrf default] WAYS. It returns "ip route PREFIX" and, for each
// next hop, the words after it. If need is false and there is no next hop, it returns one empty text, which stands for
// all next hops.
func routeWords(words []string, need bool) (route string, nextHops []string, err error) {
	if len(words) > 0 && words[0] == "prefix" {
		words, err = skipVRF(words[1:])
	} else {
		words = nil
	}
	if err != nil {
		return "", nil, err
	}
	if len(words) == 0 {
		return "", nil, errors.New("the prefix is missing")
	}
	prefix, err := netip.ParsePrefix(words[0])
	if err != nil {
		return "", nil, fmt.Errorf("%q is no prefix", words[0])
	}
	route = "ip route " + words[0]
	if prefix.Addr().Is6() {
		route = "ipv6 route " + words[0]
	}
	if len(words) == 1 && !need {
		return route, []string{""}, nil
	}
	if len(words) < 3 || words[1] != "nexthop" {
		return "", nil, errors.New("the nexthop is missing")
	}
	if words, err = skipVRF(words[2:]); err == nil {
		nextHops, err = parseNextHops(words)
	}
	return route, nextHops, err
}

// skipVRF removes "vrf default". It returns an error for any other VRF.
func skipVRF(words []string) ([]string, error) {
	if len(words) < 2 || words[0] != "vrf" {
		return words, nil
	}
	if words[1] != "default" {
		return nil, fmt.Errorf("vrf %q: the shell has routes of the VRF default only; use row STATIC_ROUTE", words[1])
	}
	return words[2:], nil
}

// parseNextHops parses [A[,A]] [dev IFACE[,IFACE]]. The two lists are parallel, and the shorter one is filled with
// empty values.
func parseNextHops(words []string) (nextHops []string, err error) {
	var addresses, names []string
	if len(words) > 0 && words[0] != "dev" {
		addresses, words = strings.Split(words[0], ","), words[1:]
	}
	switch {
	case len(words) == 2 && words[0] == "dev":
		names = strings.Split(words[1], ",")
	case len(words) > 0:
		return nil, fmt.Errorf("%q is not understood", strings.Join(words, " "))
	}
	n := max(len(addresses), len(names))
	addresses = append(addresses, make([]string, n-len(addresses))...)
	names = append(names, make([]string, n-len(names))...)
	for i := range n {
		nextHop, err := formatNextHop(addresses[i], names[i])
		if err != nil {
			return nil, err
		}
		nextHops = append(nextHops, nextHop)
	}
	if n == 0 {
		return nil, errors.New("the nexthop is missing")
	}
	return nextHops, nil
}

// formatNextHop returns one next hop in the form of "ip route PREFIX".
func formatNextHop(address, name string) (string, error) {
	if _, err := netip.ParseAddr(address); address != "" && err != nil {
		return "", fmt.Errorf("%q is no address", address)
	}
	switch {
	case name == "null" && address == "":
		return " blackhole", nil
	case name == "null":
		return "", fmt.Errorf("packets go to %s or nowhere, not both", address)
	case name == "" && address == "":
		return "", errors.New("a nexthop is empty")
	case name == "":
		return " " + address, nil
	}
	name, err := parseRouted(name)
	return " " + strings.TrimSpace(address+" interface "+name), err
}

// A mirrorWord is a positional word of SONiC's commands for mirror sessions, and the shell's word for it.
type mirrorWord struct{ theirs, ours string }

var (
	erspanWords = []mirrorWord{
		{"<session_name>", ""}, {"<src_ip>", "src-ip"}, {"<dst_ip>", "dst-ip"}, {"<dscp>", "dscp"}, {"<ttl>", "ttl"},
		{"[gre_type]", "gre-type"}, {"[queue]", "queue"}, {"[src_port]", "src-port"}, {"[direction]", "direction"},
	}
	spanWords = []mirrorWord{
		{"<session_name>", ""}, {"<dst_port>", "dst-port"}, {"[src_port]", "src-port"}, {"[direction]", "direction"},
		{"[queue]", "queue"},
	}
)

// clickedMirror returns the "mirror-session" line for SONiC's words. The switch has no equivalent for SONiC's options.
func clickedMirror(form []mirrorWord) func([]string) ([]string, error) {
	return func(words []string) ([]string, error) {
		var places []string
		for _, w := range form {
			places = append(places, w.theirs)
		}
		wanted := strings.Join(places, " ")
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }); i >= 0 {
			return nil, fmt.Errorf("%s: a mirror session of this switch copies every packet whole: want %s", words[i], wanted)
		}
		if need := strings.Count(wanted, "<"); len(words) < need || len(words) > len(form) {
			return nil, fmt.Errorf("%d words: want %s", len(words), wanted)
		}
		kind := "ERSPAN"
		if len(form) == len(spanWords) {
			kind = "SPAN"
		}
		line := "mirror-session " + kit.Quote(words[0]) + " type " + kind
		for i, w := range words[1:] {
			if form[i+1].ours == "direction" {
				w = strings.ToUpper(w)
			}
			line += " " + form[i+1].ours + " " + kit.Quote(w)
		}
		return []string{"configure", line}, nil
	}
}

// clickedCollector returns the "sflow collector" line for SONiC's words. Their options may be anywhere in the line.
func clickedCollector(words []string) ([]string, error) {
	const form = "want config sflow collector add <name> <ip> [--port N] [--vrf default|mgmt]"
	line, places := "", []string{}
	for i := 0; i < len(words); i++ {
		option, value, with := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(words[i], "--"):
			places = append(places, kit.Quote(words[i]))
			continue
		case option != "--port" && option != "--vrf":
			return nil, fmt.Errorf("%s: %s", option, form)
		case !with && i+1 < len(words):
			i++
			value = words[i]
		case !with:
			return nil, fmt.Errorf("%s has no value: %s", option, form)
		}
		line += " " + option[2:] + " " + kit.Quote(value)
	}
	if len(places) != 2 {
		return nil, fmt.Errorf("%d words: %s", len(places), form)
	}
	return []string{"configure", "sflow collector " + places[0] + " ip " + places[1] + line}, nil
}
