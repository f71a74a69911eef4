package web

import (
	"slices"
	"testing"
)

// Clusters of a graph, and segments of a path, count the packets of the whole path again. Only the whole counts.
func TestWholePaths(t *testing.T) {
	all := map[seriesKey]*series{}
	for _, k := range []seriesKey{
		{flow: "video", from: "leaf1", to: "leaf2"},
		{flow: "video", cluster: "1", from: "leaf1", to: "spine1+spine2"},
		{flow: "video", cluster: "2", from: "spine1+spine2", to: "leaf2"},
		{flow: "web", from: "a", to: "b"}, {flow: "web", from: "b", to: "c"}, {flow: "web", from: "a", to: "c"},
		{flow: "voice", from: "c", to: "a"},
	} {
		all[k] = &series{seriesKey: k}
	}
	var got []string
	for _, x := range wholePaths(all) {
		got = append(got, x.flow+" "+x.from+" "+x.to)
	}
	slices.Sort(got)
	if want := []string{"video leaf1 leaf2", "voice c a", "web a c"}; !slices.Equal(got, want) {
		t.Errorf("whole paths %q, want %q", got, want)
	}
}
