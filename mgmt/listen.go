package mgmt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/credentials"
)

// listenUnix listens on a socket for this user alone, replacing one that nobody serves any more. It
// creates the directory if needed.
func listenUnix(path string) (net.Listener, error) {
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
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// unixCredentials lets in root and the server's own user.
type unixCredentials struct{}

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
func (unixCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	uid, err := peerUID(c)
	if err != nil {
		return nil, nil, err
	}
	if uid != 0 && uid != uint32(os.Getuid()) {
		return nil, nil, fmt.Errorf("uid %d is neither root nor the server's user", uid)
	}
	return c, unixPeer{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, uid}, nil
}

// Info implements credentials.TransportCredentials.
func (unixCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix"}
}

// Clone implements credentials.TransportCredentials.
func (u unixCredentials) Clone() credentials.TransportCredentials { return u }

// OverrideServerName implements credentials.TransportCredentials.
func (unixCredentials) OverrideServerName(string) error { return nil }

// knownBy are credentials of a listener that is a door: who has shown them is known there.
type knownBy struct {
	credentials.TransportCredentials
	door *Door
}

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
