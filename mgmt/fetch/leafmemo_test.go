package fetch

import (
	"strconv"
	"testing"

	"tamtam/mgmt/tree"
)

// However many entries were seen, and whoever has not heard that they are gone, some are remembered.
func TestMemosAreBounded(t *testing.T) {
	m, g := newMemos(), &tree.List{}
	for i := range 2*maxMemos + 1 {
		m.Of(g, strconv.Itoa(i))
	}
	if n := m.Size(g); n != 1 {
		t.Errorf("%d entries are remembered, want the one after two times %d", n, maxMemos)
	}
}
