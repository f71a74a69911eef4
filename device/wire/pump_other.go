//go:build !linux

package wire

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"tamtam/saisim"
)

// Permitted returns an error: only Linux supports wires.
func Permitted() error { return fmt.Errorf("live interfaces need Linux, this is %s", runtime.GOOS) }

// Run advances the chip's time until ctx ends. It returns an error if interfaces must be wired.
func Run(ctx context.Context, cfg Config) error {
	for port, name := range cfg.Wires {
		return fmt.Errorf("port %s: interface %s: live interfaces need Linux, this is %s", port, name, runtime.GOOS)
	}
	const period = 10 * time.Millisecond
	tick := time.NewTicker(period)
	defer tick.Stop()
	cfg.Chip.SetOutput(func(o *saisim.Out) {
		if o.Port == saisim.CPUPort && cfg.Punt != nil {
			cfg.Punt(o)
		}
	})
	for {
		cfg.Chip.Advance(cfg.Chip.CycleAt(time.Since(cfg.Start)))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case f := <-cfg.Inject:
			cfg.Chip.Advance(cfg.Chip.CycleAt(time.Since(cfg.Start)))
			f()
		}
	}
}
