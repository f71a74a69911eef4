package cpuport

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An Interface is a host interface that is no port's: a client such as hostifd has the process of the chip make a
// device of it, and hold it while the chip lives, whatever becomes of the client.
type Interface struct {
	Name string `json:"name"`
	// Gone removes the interface; Name is all that counts then. A device that an earlier process has left goes too.
	Gone bool `json:"gone,omitempty"`
	// VLAN is the VLAN whose router interface this is; 0 if it is that of no VLAN.
	VLAN uint16 `json:"vlan,omitempty"`
	// Members are the ports of a LAG; it has the frames that they receive. Without members, a LAG or a loopback has
	// none.
	Members []string `json:"members,omitempty"`
	// Senders are the members that may send. Frames leave by the first whose port is up.
	Senders []string `json:"senders,omitempty"`
	// LAG is true for a LAG, which has a carrier only while one of Senders is up.
	LAG bool `json:"lag,omitempty"`
	// LACP is true if the client speaks LACP at the members: it has their frames of the slow protocols.
	LACP bool `json:"lacp,omitempty"`
	Up   bool `json:"up,omitempty"` // it has a carrier, as far as the client knows
}

// maxDevice is the longest name of a device of Linux, in bytes.
const maxDevice = 15

// Check returns what is wrong with an interface.
func (i *Interface) Check() error {
	if len(i.Name) == 0 || len(i.Name) > maxDevice {
		return fmt.Errorf("an interface with the name %q, want 1 to %d bytes", i.Name, maxDevice)
	}
	if i.VLAN > 4094 {
		return fmt.Errorf("interface %s: VLAN %d, want 1 to 4094, or 0 for no VLAN", i.Name, i.VLAN)
	}
	return nil
}

// A Keeper makes and holds the devices of host interfaces, in the process of the chip.
type Keeper interface {
	// Begin begins with host interfaces: the line has all frames that the chip punts, until it is closed. What the
	// client is to have, [Line.Forward] gives it.
	Begin(*Line) error
	// Set makes, changes or removes an interface that is no port's.
	Set(Interface) error
}

// Keep lets clients have host interfaces, which k keeps.
func (h *Hub) Keep(k Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeper = k
}

// attachHost is [Hub.Attach] for a client that wants host interfaces. They stay when it has gone, and serve the next
// such client; a client of another kind ends them.
func (h *Hub) attachHost(who string) (*Line, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.taken(); err != nil {
		return nil, err
	}
	if h.keeper == nil {
		return nil, errors.New("this CPU port has no host interfaces")
	}
	if h.host == nil {
		l := h.newLine("host interfaces")
		if err := h.keeper.Begin(l); err != nil {
			return nil, err
		}
		h.host = l
	}
	h.line = h.newLine(who)
	return h.line, nil
}

// Forward gives a packet to the client of host interfaces, if there is one. The data is copied.
func (l *Line) Forward(p Packet) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if l.hub.host == l && l.hub.line != nil {
		l.hub.line.put(p, noPort, noPort)
	}
}

// setInterface does what a message "interface" of the client asks for.
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

// appendInterface appends a message "interface".
func appendInterface(b []byte, i *Interface) []byte {
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // it has nothing that JSON has not
	}
	return append(append(b, kindInterface), text...)
}

// DialInterfaces is [Dial] for a client that has the process of the chip make host interfaces of all ports. It receives
// frames of LACP at members of a LAG with LACP, what the host is to send for the chip, and copies of LLDP, ARP and
// neighbour discovery.
func DialInterfaces(path, who string) (*Conn, error) { return dial(path, who, kindInterfaces) }

// Set makes, changes or removes a host interface that is no port's. Receive returns a refusal.
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
