package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// ListenUnix listens on a socket for this user only, or for all users. It replaces a socket that is no longer served,
// and creates the directory if needed.
func ListenUnix(path string, all bool) (net.Listener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("socket %s is served by another process", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	mode := os.FileMode(0o600)
	if all {
		mode = 0o666
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// unixCredentials admits root, the server's own user, and local users for whom known returns true.
type unixCredentials struct{ known func(unixPeer) bool }

// unixPeer is a local process.
type unixPeer struct {
	credentials.CommonAuthInfo
	uid uint32
}

// AuthType implements credentials.AuthInfo.
func (unixPeer) AuthType() string { return "unix" }

func (p unixPeer) String() string { return fmt.Sprintf("uid %d", p.uid) }

// ClientHandshake implements credentials.TransportCredentials.
func (unixCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("unix credentials are the server's")
}

// ServerHandshake implements credentials.TransportCredentials.
func (u unixCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	raw := c
	if g, ok := c.(*guest); ok {
		raw = g.Conn
	}
	uid, err := peerUID(raw)
	if err != nil {
		return nil, nil, err
	}
	p := unixPeer{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, uid}
	if !p.own() && !u.known(p) {
		return nil, nil, fmt.Errorf("uid %d is neither root nor the server's user, nor a user of it", uid)
	}
	return c, p, nil
}

// Info implements credentials.TransportCredentials.
func (unixCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix"}
}

// Clone implements credentials.TransportCredentials.
func (u unixCredentials) Clone() credentials.TransportCredentials { return u }

// OverrideServerName implements credentials.TransportCredentials.
func (unixCredentials) OverrideServerName(string) error { return nil }

// knownBy are the credentials of a listener that is a door. A connection whose handshake succeeds becomes known at the
// door.
type knownBy struct {
	credentials.TransportCredentials
	door *Door
}

// KnownAt returns credentials whose clients become known at a door.
func KnownAt(door *Door, c credentials.TransportCredentials) credentials.TransportCredentials {
	return knownBy{c, door}
}

// Local returns the credentials of the unix socket.
func (g *Guard) Local() credentials.TransportCredentials { return unixCredentials{g.isUser} }

// ServerHandshake implements credentials.TransportCredentials.
func (k knownBy) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := k.TransportCredentials.ServerHandshake(c)
	if err == nil && !k.door.Know(c) {
		conn.Close()
		return nil, nil, fmt.Errorf("%s: no place for one more connection", c.RemoteAddr())
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (k knownBy) Clone() credentials.TransportCredentials {
	return knownBy{k.TransportCredentials.Clone(), k.door}
}

// ownUID returns the user that the server runs as.
func ownUID() uint32 { return uint32(os.Getuid()) }

// Listen listens at an address, "HOST:PORT". localhost means all loopback addresses of this machine, so that clients
// may use either. With port 0 the system chooses one port for both.
func Listen(addr string) ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "localhost" {
		l, err := net.Listen("tcp", addr)
		return []net.Listener{l}, err
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	six, err := net.Listen("tcp6", net.JoinHostPort("::1", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		l.Close()
		return nil, err
	}
	if err != nil { // this machine has no IPv6
		return []net.Listener{l}, nil
	}
	return []net.Listener{l, six}, nil
}

// Local reports whether an address, "HOST:PORT", can be reached only from this machine.
func Local(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isUser reports whether the user of a local process is a user of the server.
func (g *Guard) isUser(p unixPeer) bool {
	_, ok := g.accounts.get().users[p.name()]
	return ok
}
