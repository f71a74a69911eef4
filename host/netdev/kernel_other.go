//go:build !linux

package netdev

import "errors"

// Alias marks the devices that are host interfaces of tamtam's.
const Alias = "tamtam host interface"

var errNoLinux = errors.New("host interfaces need Linux")

type noKernel struct{}

// NewKernel returns a kernel that has no devices: they are TAP devices of Linux.
func NewKernel() Kernel { return noKernel{} }

func (noKernel) Open(string, [6]byte) (Tap, error) { return nil, errNoLinux }
func (noKernel) Remove(string) error               { return nil }
func (noKernel) Ours() ([]string, error)           { return nil, nil }
