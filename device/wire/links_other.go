//go:build !linux

package wire

// Links are the interfaces of Linux; here there are none.
type Links struct{}

// NewLinks returns none.
func NewLinks() *Links { return &Links{} }

// Close does nothing.
func (*Links) Close(bool) error { return nil }
