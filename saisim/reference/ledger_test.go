package reference_test

import (
	"fmt"

	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// A ledger keeps accounts beside the chip's, and must agree with them.
type ledger struct{ saisim.FrameCounts }

// Injected implements [saisim.Ledger].
func (l *ledger) Injected(uint64) { l.FrameCounts.Injected++ }

// Copied implements [saisim.Ledger].
func (l *ledger) Copied(_ uint64, n int) { l.Copies += uint64(n) }

// Dropped implements [saisim.Ledger].
func (l *ledger) Dropped(_ uint64, why drop.Reason) { l.FrameCounts.Dropped[why]++ }

// check compares a ledger with the chip's accounts.
func (l *ledger) check(b saisim.FrameCounts) error {
	if l.FrameCounts.Injected != b.Injected || l.Copies != b.Copies || l.FrameCounts.Dropped != b.Dropped {
		return fmt.Errorf("the ledger has\n%+v\nand the books\n%+v", l.FrameCounts, b)
	}
	return nil
}
