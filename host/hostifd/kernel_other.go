//go:build !linux

package hostifd

import "errors"

// NewKernel fails: host interfaces are TAP devices of Linux.
func NewKernel() (Kernel, error) { return nil, errors.New("host interfaces need Linux") }
