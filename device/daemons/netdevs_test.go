package daemons

import (
	"io"
	"maps"
	"net"
	"os"
	"testing"

	"tamtam/host/netdev"
	"tamtam/saisim"
)

// A carrierKernel is a Linux that records, by name, whether each device has a carrier.
type carrierKernel struct{ up map[string]bool }

// A carrierTap is a device of a carrierKernel, which receives no frames.
type carrierTap struct {
	io.ReadWriteCloser
	k    carrierKernel
	name string
}

func (k carrierKernel) Open(name string, _ [6]byte) (netdev.Tap, error) {
	end, _ := net.Pipe()
	return carrierTap{end, k, name}, nil
}

func (carrierKernel) Ours() ([]string, error) { return nil, nil }
func (carrierKernel) Remove(string) error     { return nil }

func (t carrierTap) SetCarrier(on bool) error { t.k.up[t.name] = on; return nil }

func (carrierTap) Hold() *os.File { return nil }

// When syncd continues with a new chip, host interfaces keep their carriers until they have objects again.
func TestCarriersStayWithAnotherChip(t *testing.T) {
	k := carrierKernel{up: map[string]bool{}}
	n := newNetdevs(k, logOf(Common{}))
	n.host = netdev.NewHost(k, n.log, func(string, *os.File) {})
	defer n.host.Close(false)
	has := func(what string, want map[string]bool, list ...saisim.HostInterface) {
		t.Helper()
		if list != nil {
			n.changed(list)
			n.look()
		}
		if !maps.Equal(k.up, want) {
			t.Errorf("%s: carriers %v, want %v", what, k.up, want)
		}
	}
	both := map[string]bool{"Ethernet0": true, "Ethernet4": false}
	has("at first", both, saisim.HostInterface{Name: "Ethernet0", Up: true}, saisim.HostInterface{Name: "Ethernet4"})
	n.reset()
	has("another chip", both)
	n.look()
	has("it has no objects yet", both)
	has("it has one", both, saisim.HostInterface{Name: "Ethernet4"})
	has("it has both", map[string]bool{"Ethernet0": false, "Ethernet4": false},
		saisim.HostInterface{Name: "Ethernet0"}, saisim.HostInterface{Name: "Ethernet4"})
}
