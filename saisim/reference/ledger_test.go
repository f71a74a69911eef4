package reference_test

import (
	"fmt"

	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// A ledger keeps accounts beside the chip's, and must agree with them.
type ledger struct{ saisim.Books }

// Injected implements [saisim.Ledger].
func (l *ledger) Injected(uint64) { l.Books.Injected++ }

// Copied implements [saisim.Ledger].
func (l *ledger) Copied(_ uint64, n int) { l.Copies += uint64(n) }

// Dropped implements [saisim.Ledger].
func (l *ledger) Dropped(_ uint64, why drop.Reason) { l.Books.Dropped[why]++ }

// check compares a ledger with the chip's accounts.
func (l *ledger) check(b saisim.Books) error {
	if l.Books.Injected != b.Injected || l.Copies != b.Copies || l.Books.Dropped != b.Dropped {
		return fmt.Errorf("the ledger has\n%+v\nand the books\n%+v", l.Books, b)
	}
	return nil
}
