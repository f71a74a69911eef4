package hft

import (
	"fmt"
	"slices"
)

// Labels holds the labels of the objects of a stream. An object keeps its label when it leaves the stream, and no other
// object gets it.
type Labels struct {
	labels map[string]uint16
}

// Assign returns the labels of objects, in their order. Objects without a label get the next ones, from 1, in the order
// of their names, as in SONiC. An error means that there is no label for another object; then none was given.
func (l *Labels) Assign(objects []string) ([]uint16, error) {
	fresh := map[string]bool{}
	for _, name := range objects {
		if l.labels[name] == 0 {
			fresh[name] = true
		}
	}
	if len(l.labels)+len(fresh) > MaxLabel {
		return nil, fmt.Errorf("hft: %d objects that have no label, and %d labels were given: want at most %d in a stream; "+
			"delete and create its group to begin another", len(fresh), len(l.labels), MaxLabel)
	}
	if l.labels == nil {
		l.labels = map[string]uint16{}
	}
	names := make([]string, 0, len(fresh))
	for name := range fresh {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		l.labels[name] = uint16(len(l.labels) + 1)
	}
	result := make([]uint16, len(objects))
	for i, name := range objects {
		result[i] = l.labels[name]
	}
	return result, nil
}

// firstTemplate is the least id of a template.
const firstTemplate = 256

// TemplateIDs gives templates their ids. SONiC's countersyncd distinguishes the templates of all streams by their id
// alone, so all streams of a switch share one TemplateIDs. The zero value has all ids.
type TemplateIDs struct {
	next uint16
	used [1 << 16]bool
}

// Take returns the first of n consecutive ids that no template has. An id that was given back is used again as late as
// possible. Take returns false if there are none.
func (t *TemplateIDs) Take(n int) (first uint16, ok bool) {
	if n == 0 {
		return 0, true
	}
	at, run := int(max(t.next, firstTemplate)), 0
	for range 2 * (len(t.used) - firstTemplate) {
		if at == len(t.used) {
			at, run = firstTemplate, 0
		}
		if run++; t.used[at] {
			run = 0
		}
		at++
		if run == n {
			for i := range n {
				t.used[at-1-i] = true
			}
			t.next = uint16(at)
			return uint16(at - n), true
		}
	}
	return 0, false
}

// Release gives n ids back.
func (t *TemplateIDs) Release(first uint16, n int) {
	for i := range n {
		t.used[int(first)+i] = false
	}
}
