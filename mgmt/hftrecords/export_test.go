package hftrecords

// Bounds, for tests.
const (
	RetryAfter   = retryAfter
	MaxPending   = maxPending
	BlockRecords = blockRecords
)

// Limit sets the number of values that the store keeps.
func (s *Store) Limit(values int) { s.limit = values }

// Unknown returns the number of messages without a session.
func (s *Store) Unknown() uint64 { return s.unknown }

// Waiting returns the number of bytes that are not decoded.
func (s *Store) Waiting() int { return s.size }
