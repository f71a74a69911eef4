package netdev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/host/cpuport"
	"tamtam/internal/randtest"
)

// A fakeKernel simulates devices without Linux.
type fakeKernel struct {
	taps    map[string]*fakeTap
	left    map[string]bool // devices of an earlier process
	others  string          // name of an interface that is not tamtam's
	flapped []string        // devices that lost their carrier
	held    map[string]*os.File
}

// hold records a file by which hostifd holds a device.
func (k *fakeKernel) hold(name string, f *os.File) {
	if k.held[name] = f; f == nil {
		delete(k.held, name)
	}
}

func (k *fakeKernel) Open(name string, _ [6]byte) (Tap, error) {
	if name == k.others {
		return nil, errors.New("there is an interface of this name")
	}
	delete(k.left, name)
	k.taps[name] = &fakeTap{kernel: k, name: name, sent: make(chan []byte), closed: make(chan struct{}),
		lost: make(chan struct{}), hold: new(os.File)}
	return k.taps[name], nil
}

func (k *fakeKernel) Remove(name string) error {
	delete(k.taps, name)
	delete(k.left, name)
	return nil
}

func (k *fakeKernel) Ours() ([]string, error) {
	return slices.Sorted(maps.Keys(k.left)), nil
}

// carriers returns the existing devices, and whether they have a carrier.
func (k *fakeKernel) carriers() map[string]bool {
	up := map[string]bool{}
	for name, t := range k.taps {
		up[name] = t.carrier
	}
	return up
}

type fakeTap struct {
	kernel  *fakeKernel
	name    string
	sent    chan []byte // frames that Linux sends
	got     [][]byte    // frames that Linux received
	closed  chan struct{}
	lost    chan struct{} // closed when another program has removed the device
	carrier bool
	down    bool
	hold    *os.File
}

func (t *fakeTap) Hold() *os.File { return t.hold }

func (t *fakeTap) Read(b []byte) (int, error) {
	select {
	case f := <-t.sent:
		return copy(b, f), nil
	case <-t.closed:
	case <-t.lost:
	}
	return 0, io.EOF
}

func (t *fakeTap) Write(b []byte) (int, error) {
	if t.down {
		return 0, errors.New("down")
	}
	t.got = append(t.got, bytes.Clone(b))
	return len(b), nil
}

func (t *fakeTap) Close() error {
	t.kernel.left[t.name] = true
	close(t.closed)
	return nil
}

func (t *fakeTap) SetCarrier(on bool) error {
	if t.carrier && !on {
		t.kernel.flapped = append(t.kernel.flapped, t.name)
	}
	t.carrier = on
	return nil
}

func newHost(t *testing.T) (*Host, *fakeKernel) {
	k := &fakeKernel{taps: map[string]*fakeTap{}, left: map[string]bool{}, held: map[string]*os.File{}}
	h := NewHost(k, slog.New(slog.DiscardHandler), k.hold)
	t.Cleanup(func() { h.Close(false) })
	return h, k
}

func set(t *testing.T, h *Host, list ...cpuport.Interface) {
	t.Helper()
	for _, i := range list {
		if err := h.Set(i); err != nil {
			t.Error(err)
		}
	}
}

type fakeLine struct {
	punted chan cpuport.Packet
	sent   chan string // PORT VLAN FRAME
	client *[]string   // frames of the client
}

func (l fakeLine) Receive(ctx context.Context) (cpuport.Packet, error) {
	p, ok := <-l.punted
	if !ok {
		return p, io.EOF
	}
	if p.Len == 0 {
		p.Len = len(p.Data)
	}
	return p, nil
}

func (l fakeLine) Forward(p cpuport.Packet) { *l.client = append(*l.client, string(p.Data)) }

func (l fakeLine) Send(f cpuport.Frame) error {
	l.sent <- fmt.Sprintf("%s %d %s", f.Port, f.VLAN, f.Data)
	return nil
}

// Frames of the chip go to the device of their port, PortChannel or VLAN. Frames of link protocols go to the device of
// the port, and hostifd also receives those that it needs. Frames from Linux leave by the port, PortChannel or VLAN of
// their device, from a PortChannel by a member that is up.
func TestFrames(t *testing.T) {
	h, k := newHost(t)
	ports := []Port{{Name: "Ethernet0", Up: true}, {Name: "Ethernet4", Up: true}, {Name: "Ethernet8", Up: true}}
	h.SetPorts(ports, false)
	set(t, h, cpuport.Interface{Name: "PortChannel1", LAG: true, LACP: true, Members: []string{"Ethernet4", "Ethernet8"},
		Senders: []string{"Ethernet4"}, Up: true},
		cpuport.Interface{Name: "Vlan10", VLAN: 10, Up: true}, cpuport.Interface{Name: "Loopback0", Up: true})
	var client []string
	line := fakeLine{make(chan cpuport.Packet), make(chan string, 1), &client}
	served := make(chan error)
	go func() { served <- h.Serve(t.Context(), line) }()
	slow := "abcdefghijkl\x88\x09"
	packet := func(port string, vlan uint16, trap, data string) cpuport.Packet {
		return cpuport.Packet{Port: port, VLAN: vlan, Trap: trap, Data: []byte(data)}
	}
	cut := packet("Ethernet0", 0, "ip2me", "cut")
	cut.Len = 1500
	for _, p := range []cpuport.Packet{
		packet("Ethernet0", 0, "ip2me", "one"), packet("Ethernet4", 0, "arp_req", "two"),
		packet("Ethernet4", 0, "stp", "three"),
		packet("Ethernet0", 10, "arp_req", "abcdefghijkl\x81\x00\x00\x0aXXpayload"), packet("Ethernet0", 20, "ip2me", "five"),
		packet("Ethernet0", 10, "lldp", "six"),
		packet("Ethernet12", 0, "ip2me", "seven"), cut, packet("Ethernet4", 0, "lacp", slow),
		packet("Ethernet0", 0, "lacp", slow),
		packet("Ethernet0", 0, "tam", "report"),
	} {
		line.punted <- p
	}
	close(line.punted)
	if err := <-served; !errors.Is(err, io.EOF) {
		t.Errorf("the chip went: %v", err)
	}
	for name, want := range map[string]string{
		"Ethernet0": "one five six " + slow, "Ethernet4": "three", "PortChannel1": "two", "Vlan10": "abcdefghijklXXpayload",
	} {
		if got := string(bytes.Join(k.taps[name].got, []byte(" "))); got != want {
			t.Errorf("%s received %q, want %q", name, got, want)
		}
	}
	if want := []string{"two", "abcdefghijkl\x81\x00\x00\x0aXXpayload", "six", slow, "report"}; !slices.Equal(client,
		want) {
		t.Errorf("hostifd has %q, want %q", client, want)
	}
	lost := func(want string) {
		t.Helper()
		if got := h.Lost(); got != want {
			t.Errorf("lost %q, want %q", got, want)
		}
	}
	lost("1 cut, 1 of no interface")
	var l Line = line
	h.line.Store(&l)
	for name, want := range map[string]string{"Ethernet0": "Ethernet0 0 x", "PortChannel1": "Ethernet4 0 x",
		"Vlan10": " 10 x", "Ethernet8": "Ethernet8 0 x"} {
		k.taps[name].sent <- []byte("x")
		if got := <-line.sent; got != want {
			t.Errorf("%s sent %q, want %q", name, got, want)
		}
	}
	ports[1].Up = false
	h.SetPorts(ports, false)
	h.fromHost("PortChannel1", []byte("x"))
	h.line.Store(nil)
	h.fromHost("Ethernet0", []byte("x"))
	h.fromHost("Loopback0", []byte("x"))
	lost("1 cut, 1 of no interface, 1 to a chip that is away, 1 to a PortChannel that is down")
}

// An interface of another program is not touched, and reported until it is gone; a device that another program removed
// is created again.
func TestDevicesOfOthers(t *testing.T) {
	h, k := newHost(t)
	k.others = "Ethernet4"
	ports := []Port{{Name: "Ethernet0", Up: true}, {Name: "Ethernet4", Up: true}}
	h.SetPorts(ports, false)
	if got := h.Trouble(); got != "Ethernet4: there is an interface of this name" {
		t.Errorf("trouble %q", got)
	}
	k.others = ""
	first := k.taps["Ethernet0"]
	close(first.lost)
	for h.SetPorts(ports, false); k.taps["Ethernet0"] == first; h.SetPorts(ports, false) {
	}
	if d := cmp.Diff(map[string]bool{"Ethernet0": true, "Ethernet4": true}, k.carriers()); d != "" || h.Trouble() != "" {
		t.Errorf("trouble %q; %s", h.Trouble(), d)
	}
	err := h.Set(cpuport.Interface{Name: "Ethernet8", Up: true})
	if err == nil || !strings.Contains(err.Error(), "it is a port's") {
		t.Errorf("a port without a HOSTIF object: %v", err)
	}
}

// A holding is a host with its model: the expected devices and carriers.
type holding struct {
	t      *testing.T
	h      *Host
	k      *fakeKernel
	ports  map[string]bool              // HOSTIF objects: true if up
	stale  map[string]bool              // devices of an earlier chip: true if they have a carrier
	beside map[string]cpuport.Interface // interfaces that hostifd requests
}

func (x *holding) look(fresh bool) {
	var list []Port
	for _, name := range slices.Sorted(maps.Keys(x.ports)) {
		list = append(list, Port{Name: name, Up: x.ports[name]})
		delete(x.stale, name)
	}
	x.h.SetPorts(list, fresh)
}

func (x *holding) want() map[string]bool {
	want := maps.Clone(x.ports)
	maps.Copy(want, x.stale)
	for name, i := range x.beside {
		want[name] = i.Up && (!i.LAG || slices.ContainsFunc(i.Senders, func(port string) bool {
			up, known := x.ports[port]
			return up || !known
		}))
	}
	return want
}

var (
	randomPorts  = []string{"Ethernet0", "Ethernet4", "Ethernet8"}
	randomBeside = []string{"PortChannel1", "PortChannel2", "Vlan10", "Loopback0"}
)

func some(r *rand.Rand, list []string) (few []string) {
	for _, name := range list {
		if r.IntN(2) == 0 {
			few = append(few, name)
		}
	}
	return few
}

// act performs a random operation. A HOSTIF object is added, removed or changed, or hostifd requests or removes an
// interface. Or a restarted hostifd requests all of them again, or removes a port, or the chip is replaced.
func (x *holding) act(r *rand.Rand) string {
	name := randomPorts[r.IntN(len(randomPorts))]
	other := randomBeside[r.IntN(len(randomBeside))]
	switch r.IntN(7) {
	case 0:
		delete(x.ports, name)
		x.look(false)
		return "no HOSTIF object of " + name
	case 1, 2:
		x.ports[name] = r.IntN(3) > 0
		x.look(false)
		return fmt.Sprintf("HOSTIF object of %s, up %v", name, x.ports[name])
	case 3:
		i := cpuport.Interface{Name: other, Up: r.IntN(3) > 0, LAG: strings.HasPrefix(other, "Port")}
		if i.LAG {
			i.Members = some(r, randomPorts)
			i.Senders = some(r, i.Members)
		}
		if r.IntN(4) == 0 {
			i = cpuport.Interface{Name: other, Gone: true}
		}
		if x.beside[other] = i; i.Gone {
			delete(x.beside, other)
		}
		set(x.t, x.h, i)
		return fmt.Sprintf("hostifd asks for %+v", i)
	case 4:
		for _, name := range slices.Sorted(maps.Keys(x.beside)) {
			set(x.t, x.h, x.beside[name])
		}
		return "hostifd begins anew"
	case 5:
		delete(x.stale, name)
		set(x.t, x.h, cpuport.Interface{Name: name, Gone: true})
		return "hostifd does not want " + name
	}
	maps.Copy(x.stale, x.ports)
	clear(x.ports)
	x.look(true)
	return "another chip"
}

// Whatever the operations, the devices are the expected ones, and none loses a carrier that it should have.
func TestRandomHolding(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 368_200, Count: 200, Short: 40}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		h, k := newHost(t)
		x := &holding{t, h, k, map[string]bool{}, map[string]bool{}, map[string]cpuport.Interface{}}
		for range 40 {
			before := x.want()
			k.flapped = nil
			what := x.act(r)
			after := x.want()
			if d := cmp.Diff(after, k.carriers()); d != "" {
				t.Fatalf("%s: %s", what, d)
			}
			for name, tap := range k.taps {
				if k.held[name] != tap.hold || len(k.held) != len(k.taps) {
					t.Fatalf("%s: hostifd holds %v, want it to hold %v", what, k.held, k.taps)
				}
			}
			for _, name := range k.flapped {
				if before[name] && after[name] {
					t.Fatalf("%s: %s lost its carrier", what, name)
				}
			}
		}
		if err := h.Close(false); err != nil || len(k.taps) > 0 || len(k.left) > 0 || len(k.held) > 0 {
			t.Errorf("at the end there are %v, left over %v, held %v, %v", k.taps, k.left, k.held, err)
		}
	})
}
