package rows

import (
	"context"

	"tamtam/collector/result"
)

// A lacking store knows whether it removed rows.
type lacking interface {
	// Lacks returns why rows of a time may be missing.
	Lacks(from, to int64) ([]string, error)
}

// A Store is the part of a [result.Store] that the page needs.
type Store interface {
	// Each calls yield with the batches that may have rows in the requested time, until it returns false.
	Each(ctx context.Context, from, to int64, yield func(*result.Batch) bool) error
}
