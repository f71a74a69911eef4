//go:build !linux

package doctor

import "errors"

func freeBytes(string) (uint64, error) {
	return 0, errors.New("free space is not asked for on this system")
}
