//go:build !linux

package capture

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Live reads the frames of an interface of this host as they arrive. It is not supported on this system.
type Live struct{}

var errNotLinux = errors.New("live interfaces need Linux")

// Listen returns an error, because it needs Linux.
func Listen(name string) (*Live, error) {
	return nil, fmt.Errorf("interface %s: %w, this is %s", name, errNotLinux, runtime.GOOS)
}

// Next returns an error, because it needs Linux.
func (l *Live) Next(context.Context) (Packet, error) { return Packet{}, errNotLinux }

// Lost returns an error, because it needs Linux.
func (l *Live) Lost() (uint64, error) { return 0, errNotLinux }

// Close does nothing.
func (l *Live) Close() error { return nil }
