//go:build !linux

package lab

import "errors"

// useHugePages returns an error, because only Linux's pages can be made huge.
func useHugePages(uintptr) error { return errors.ErrUnsupported }
