package device

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"tamtam/device/packettrace"
	"tamtam/mgmt"
)

// Northbound serves the switch: gNMI at a socket in dir, which must have no other use, and the operations that query
// the chip. Clients dial target; stop ends it.
func (s *Sim) Northbound(ctx context.Context, dir string) (target string, stop func() error, err error) {
	socket := filepath.Join(dir, "mgmt.sock")
	server, err := mgmt.NewServer(mgmt.Config{Redis: s.Redis, Socket: socket, Dir: dir})
	if err != nil {
		return "", nil, err
	}
	unasked, err := packettrace.Start(ctx, s.Redis, s.Chip, slog.New(slog.DiscardHandler))
	if err != nil {
		server.Close()
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	return "unix:" + socket, func() error {
		cancel()
		unasked()
		if err := <-served; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}
