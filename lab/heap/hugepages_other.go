//go:build !linux

package heap

import "errors"

// UseHugePages returns an error, because only Linux's pages can be made huge.
func UseHugePages(uintptr) error { return errors.ErrUnsupported }
