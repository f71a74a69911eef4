//go:build !linux

package device

import (
	"errors"
	"fmt"
	"runtime"
)

// A rawPort is a live interface; this system has none that can be wired.
type rawPort struct {
	name string
	lost uint64
}

var errNoWires = errors.New("live interfaces need Linux")

func openRawPort(name string) (*rawPort, error) {
	return nil, fmt.Errorf("interface %s: %w, this is %s", name, errNoWires, runtime.GOOS)
}

func (p *rawPort) link() bool            { return false }
func (p *rawPort) read() ([]byte, error) { return nil, errNoWires }
func (p *rawPort) write([]byte) error    { return errNoWires }
func (p *rawPort) close() error          { return nil }
