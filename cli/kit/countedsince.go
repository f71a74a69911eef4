package kit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/cli/tree"
)

// Sinces collects the start times of the counters in a printout.
type Sinces struct{ of map[string][]string } // descriptions of counters by start time; the key "" is an unknown time

// Add records the start times of a counter at places, as one entry if they are all equal.
func (s *Sinces) Add(what string, places []string, since map[string]string) {
	if s.of == nil {
		s.of = map[string][]string{}
	}
	times := map[string]bool{}
	for _, p := range places {
		times[WholeSecond(since[p])] = true
	}
	if len(times) == 1 && what != "" {
		places, since = []string{""}, map[string]string{"": since[places[0]]}
	}
	for _, p := range places {
		since := WholeSecond(since[p])
		name := what
		if p != "" {
			name = strings.TrimPrefix(what+" at "+p, " at ")
		}
		s.of[since] = append(s.of[since], name)
	}
}

// WholeSecond returns a time rounded down to a second. Ports have slightly different times, since a starting switch
// creates them one after another.
func WholeSecond(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// AddPorts records the start times of a counter for the ports where it has a value.
func (s *Sinces) AddPorts(what string, ports []tree.Node, read func(tree.Node) (count, since string)) {
	var places []string
	times := map[string]string{}
	for _, p := range ports {
		name := cmp.Or(p.Plain("port"), p.Name())
		if count, since := read(p); count != "" {
			places, times[name] = append(places, name), since
		}
	}
	if len(places) > 0 {
		s.Add(what, places, times)
	}
}

// Lines returns the start times, the oldest first. If all counters have the same start time, it does not list the
// counters. It returns nothing if no time is known.
func (s *Sinces) Lines() (list []string) {
	for _, at := range slices.Sorted(maps.Keys(s.of)) {
		what := ": " + strings.Join(s.of[at], ", ")
		switch {
		case at == "" && len(s.of) > 1:
			list = append(list, "Since when is unknown"+what)
		case at != "" && len(s.of) == 1:
			list = append(list, "Counted since "+at)
		case at != "":
			list = append(list, "Counted since "+at+what)
		}
	}
	return list
}
