//go:build !linux

package wire

// Links has no function on systems other than Linux.
type Links struct{}

// NewLinks returns a Links without function.
func NewLinks() *Links { return &Links{} }

// Close does nothing.
func (*Links) Close(bool) error { return nil }
