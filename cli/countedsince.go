package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/cli/tree"
)

// sinces collects since when what a printout shows is counted.
type sinces struct{ of map[string][]string } // what, by time; "": nobody tells

// add notes it of something that is counted at places: once, if it is the same at all of them.
func (s *sinces) add(what string, places []string, since map[string]string) {
	if s.of == nil {
		s.of = map[string][]string{}
	}
	times := map[string]bool{}
	for _, p := range places {
		times[wholeSecond(since[p])] = true
	}
	if len(times) == 1 && what != "" {
		places, since = []string{""}, map[string]string{"": since[places[0]]}
	}
	for _, p := range places {
		since := wholeSecond(since[p])
		name := what
		if p != "" {
			name = strings.TrimPrefix(what+" at "+p, " at ")
		}
		s.of[since] = append(s.of[since], name)
	}
}

// wholeSecond is a time to the second: ports of a switch that starts are made one after the other.
func wholeSecond(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// addPorts notes it of what is counted at ports, of those where there is a count.
func (s *sinces) addPorts(what string, ports []tree.Node, read func(tree.Node) (count, since string)) {
	var places []string
	times := map[string]string{}
	for _, p := range ports {
		name := cmp.Or(p.Plain("port"), p.Name())
		if count, since := read(p); count != "" {
			places, times[name] = append(places, name), since
		}
	}
	if len(places) > 0 {
		s.add(what, places, times)
	}
}

// lines are the oldest time first; of one time alone it is not said what is counted since then. Where nobody tells of
// anything, nothing is said.
func (s *sinces) lines() (list []string) {
	for _, at := range slices.Sorted(maps.Keys(s.of)) {
		what := ": " + strings.Join(s.of[at], ", ")
		switch {
		case at == "" && len(s.of) > 1:
			list = append(list, "Since when is not known"+what)
		case at != "" && len(s.of) == 1:
			list = append(list, "Counted since "+at)
		case at != "":
			list = append(list, "Counted since "+at+what)
		}
	}
	return list
}
