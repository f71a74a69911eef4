package device

import (
	"context"
	"errors"

	"tamtam/orch"
)

// Internals for the external tests of this directory.
var (
	FactoryPorts = factoryPorts
	InOrder      = inOrder
	WiredInOrder = wiredInOrder
)

// Feed plays captures through the chip. It ends after the last packet, or with the error that failed returns.
func (s *Sim) Feed(ctx context.Context, list []Input, failed func() error) error {
	in, err := openInputs(list)
	if err != nil {
		return err
	}
	defer in.close()
	origin, err := in.first()
	if err := errors.Join(err, in.bind(s.Chip, nil, nil)); err != nil {
		return err
	}
	return s.feed(ctx, in, origin, failed)
}

// HostDaemons returns the daemons of a switch with a host and sFlow by name.
func (s *Sim) HostDaemons() map[string]*orch.Daemon {
	return map[string]*orch.Daemon{"hostd": s.host.d, "sflowd": s.sflow.d}
}
