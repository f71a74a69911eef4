package chaos

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/host/cpuport"
	"tamtam/host/hostifd"
	"tamtam/host/netdev"
	"tamtam/internal/racetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// noKernel is a Linux without interfaces, on which no interface can be made.
type noKernel struct{}

var errNoKernel = errors.New("there is no Linux")

func (noKernel) Ours() ([]string, error) { return nil, nil }

func (noKernel) Open(string, [6]byte) (netdev.Tap, error) { return nil, errNoKernel }

func (noKernel) Set(string, hostifd.Device, hostifd.Device, bool) error { return errNoKernel }

func (noKernel) Ask(hostifd.Neighbor) error { return errNoKernel }

func (noKernel) Advice() []string { return nil }

func (noKernel) SetRoutes([]schema.Route) error { return nil }

func (noKernel) Remove(string) error { return nil }

func (noKernel) SetNeighbor(hostifd.Neighbor, bool) error { return errNoKernel }

func (noKernel) Configured() ([]hostifd.Neighbor, error) { return nil, nil }

func (noKernel) RemoveNeighbor(hostifd.Neighbor) error { return nil }

func (noKernel) Links(ctx context.Context, _ func(string, int)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (noKernel) Neighbors(ctx context.Context, _ func(hostifd.Neighbor)) error {
	<-ctx.Done()
	return ctx.Err()
}

// Host interfaces and the switch's own stack never work at the same time. The second client reports which client has
// the CPU port, and gets the port when that client has ended. Devices that cannot be created in Linux are reported too.
func TestHostIfdSharesNoCPUPort(t *testing.T) {
	racetest.Live(t)
	p := bareplant(t)
	hub, path := cpuport.New(), filepath.Join(t.TempDir(), "cpu.sock")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() {
		ended <- daemons.RunSyncd(ctx, p.server.Open(), daemons.ChipConfig{
			Profile: profile.Small(), CPU: hub, CPUPort: path, Devices: noKernel{},
		}, daemons.Common{})
	}()
	line, err := hub.Attach("hostd")
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- daemons.RunHostIfdOn(ctx, p.server.Open(), noKernel{}, path, daemons.Common{}) }()
	p.saysOf("hostifd", "waiting the CPU port at "+path)
	p.saysOf("hostifd", "the CPU port is taken by hostd: never both on one interface; stop that one first")
	devicetest.NoError(t, line.Close())
	p.saysOf("hostifd", "ready")
	ports := swss.NewTable(p.redis.DB(swss.ApplDB), "PORT_TABLE")
	devicetest.NoError(t, ports.Set(t.Context(), "Ethernet0", swss.FieldValues{"lanes": "0", "speed": "1000"}))
	p.saysOf("hostifd", "waiting Ethernet0: there is no Linux")
	if _, err := cpuport.Dial(path, "hostd"); err == nil || !strings.Contains(err.Error(), `"hostifd"`) {
		t.Errorf("hostd beside hostifd: %v, want a refusal that names it", err)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}
