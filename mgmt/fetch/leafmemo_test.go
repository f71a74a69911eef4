package fetch

import (
	"strconv"
	"testing"

	"tamtam/mgmt/tree"
)

// The number of remembered entries is bounded, however many were read, even if their deletion is not noticed.
func TestMemosAreBounded(t *testing.T) {
	m, g := newMemos(), &tree.List{}
	for i := range 2*maxMemos + 1 {
		m.Of(g, strconv.Itoa(i))
	}
	if n := m.Size(g); n != 1 {
		t.Errorf("%d entries are remembered, want the one after two times %d", n, maxMemos)
	}
}
