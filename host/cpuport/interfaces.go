package cpuport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
)

// An Interface is a host interface that is not for a port. At the request of a client such as hostifd, the process of
// the chip creates a device for it. It holds the device while the chip runs, even if the client ends.
type Interface struct {
	Name string `json:"name"`
	// Gone removes the interface; then only Name is used. A device of an earlier process is removed, too.
	Gone bool `json:"gone,omitempty"`
	// VLAN is the VLAN whose router interface this is; 0 if there is none.
	VLAN uint16 `json:"vlan,omitempty"`
	// Members are the ports of a LAG, which receives their frames. A LAG without members, and a loopback, receive no
	// frames.
	Members []string `json:"members,omitempty"`
	// Senders are the members that may send. Frames leave by the first whose port is up.
	Senders []string `json:"senders,omitempty"`
	// LAG is true for a LAG, which has a carrier only while one of Senders is up.
	LAG bool `json:"lag,omitempty"`
	// LACP is true if the client runs LACP at the members: it receives their frames of the slow protocols.
	LACP bool `json:"lacp,omitempty"`
	Up   bool `json:"up,omitempty"` // true if it has a carrier, as far as the client can decide
}

// maxDevice is the maximum length of a device name in Linux, in bytes.
const maxDevice = 15

// Check returns an error if the interface is invalid.
func (i *Interface) Check() error {
	if len(i.Name) == 0 || len(i.Name) > maxDevice {
		return fmt.Errorf("an interface with the name %q, want 1 to %d bytes", i.Name, maxDevice)
	}
	if i.VLAN > 4094 {
		return fmt.Errorf("interface %s: VLAN %d, want 1 to 4094, or 0 for no VLAN", i.Name, i.VLAN)
	}
	return nil
}

// A Keeper creates and holds the devices of host interfaces, in the process of the chip.
type Keeper interface {
	// Begin starts host interfaces: the line receives all frames that the chip punts, until it is closed. Frames for
	// the client are passed on by [Line.Forward].
	Begin(*Line) error
	// Set creates, changes or removes an interface that is not for a port.
	Set(Interface) error
}

// Keep enables host interfaces, which k keeps, for clients.
func (h *Hub) Keep(k Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeper = k
}

// attachHost attaches a client that requests host interfaces, like [Hub.Attach]. They stay when it disconnects, and
// serve the next such client; a client of another kind ends them.
func (h *Hub) attachHost(who string) (*Line, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkFree(); err != nil {
		return nil, err
	}
	if err := h.begin(); err != nil {
		return nil, err
	}
	h.line = h.newLine(who)
	h.line.holds = true
	return h.line, nil
}

// BeginInterfaces starts the host interfaces of ports without a client. A later client that requests host interfaces
// uses the same; one of another kind ends them.
func (h *Hub) BeginInterfaces() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begin()
}

// begin starts the host interfaces if they have not been started.
func (h *Hub) begin() error {
	if h.keeper == nil {
		return errors.New("this CPU port has no host interfaces")
	}
	if h.host != nil {
		return nil
	}
	l := h.newLine("host interfaces")
	if err := h.keeper.Begin(l); err != nil {
		return err
	}
	h.host = l
	return nil
}

// holds has files of devices, which the client of host interfaces receives to hold them, too: a device keeps its
// carrier while any process has such a file. It has its own lock, since a keeper holds locks when it calls.
type holds struct {
	mu    sync.Mutex
	files map[string]*os.File
	moved chan struct{} // closed when files change; nil if no caller waits
}

// Hold sends the file of a device to the current client of host interfaces, and to each later one. A nil file means
// that the device is gone.
func (l *Line) Hold(name string, f *os.File) {
	h := &l.hub.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[string]*os.File{}
	}
	if h.files[name] = f; f == nil {
		delete(h.files, name)
	}
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// look returns the current files, and a channel that is closed when they change.
func (h *holds) look() (map[string]*os.File, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.moved == nil {
		h.moved = make(chan struct{})
	}
	return maps.Clone(h.files), h.moved
}

// give sends a client all current and later files, until ctx ends. A file that was closed cannot be sent: its device is
// gone, or another file follows.
func (h *holds) give(ctx context.Context, c *net.UnixConn) {
	given := map[string]*os.File{}
	for ctx.Err() == nil {
		files, moved := h.look()
		for name := range given {
			if files[name] == nil {
				delete(given, name)
				_, _ = c.Write(appendName([]byte{kindHeld, 0}, name)) // ctx ends if the client has disconnected
			}
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if f := files[name]; given[name] != f {
				given[name] = f
				_ = writeFile(c, appendName([]byte{kindHeld, 1}, name), f)
			}
		}
		select {
		case <-ctx.Done():
		case <-moved:
		}
	}
}

func (x *Conn) held(b []byte, f *os.File) error {
	r := reader{b: b}
	there, name := r.next(1, "there")[0] == 1, r.name("name")
	err := r.err("held")
	if err == nil && there && f == nil {
		err = &Refusal{"a file of the device " + name + " did not arrive: there are too many open files"}
	}
	if (err != nil || !there || x.hold == nil) && f != nil {
		f.Close()
		f = nil
	}
	if err == nil && x.hold != nil {
		x.hold(name, f)
	}
	return err
}

// Forward sends a packet to the client of host interfaces, if there is one. The data is copied.
func (l *Line) Forward(p Packet) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if l.hub.host == l && l.hub.line != nil {
		l.hub.line.put(p, noPort, noPort)
	}
}

// setInterface executes a message "interface" of the client.
func (h *Hub) setInterface(b []byte) error {
	var i Interface
	if err := json.Unmarshal(b, &i); err != nil {
		return fmt.Errorf("a message \"interface\": %w", err)
	}
	if err := i.Check(); err != nil {
		return err
	}
	h.mu.Lock()
	k, hosts := h.keeper, h.host != nil
	h.mu.Unlock()
	if k == nil || !hosts {
		return fmt.Errorf("interface %s: this client has no host interfaces", i.Name)
	}
	return k.Set(i)
}

func appendInterface(b []byte, i *Interface) []byte {
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // all fields can be encoded
	}
	return append(append(b, kindInterface), text...)
}

// DialInterfaces connects like [Dial], for a client that makes the process of the chip create host interfaces for all
// ports. It receives LACP frames at members of a LAG with LACP, frames that the host must send for the chip, and copies
// of LLDP, ARP and neighbour discovery. Receive calls hold with a file of each device: while that is open the device
// keeps its carrier, even if the process of the chip is killed. A later file for the device, or nil, means that the
// earlier one is of no use any more.
func DialInterfaces(path, who string, hold func(name string, f *os.File)) (*Conn, error) {
	return dial(path, who, kindInterfaces, hold)
}

// Set creates, changes or removes a host interface that is not for a port. Receive returns a refusal.
func (x *Conn) Set(i Interface) error {
	if err := i.Check(); err != nil {
		return err
	}
	b := appendInterface(nil, &i)
	if len(b) > maxMessage {
		return fmt.Errorf("interface %s: %d members, which are too many for a message", i.Name, len(i.Members))
	}
	_, err := x.c.Write(b)
	return err
}
