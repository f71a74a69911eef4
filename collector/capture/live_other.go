//go:build !linux

package capture

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Live reads the frames of an interface of this host as they come; here there is none that can be read.
type Live struct{}

var errNotLinux = errors.New("live interfaces need Linux")

// Listen says that it needs Linux.
func Listen(name string) (*Live, error) {
	return nil, fmt.Errorf("interface %s: %w, this is %s", name, errNotLinux, runtime.GOOS)
}

// Next says that it needs Linux.
func (l *Live) Next(context.Context) (Packet, error) { return Packet{}, errNotLinux }

// Lost says that it needs Linux.
func (l *Live) Lost() (uint64, error) { return 0, errNotLinux }

// Close does nothing.
func (l *Live) Close() error { return nil }
