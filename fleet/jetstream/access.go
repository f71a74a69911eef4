package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// An Access authenticates the processes of a log to each other: one user with a password, and TLS. The servers of a
// cluster authenticate each other in the same way. The zero value means no authentication, which is allowed on loopback
// addresses only.
type Access struct {
	User, Password string
	// CertFile and KeyFile are a server's certificate and its key, PEM.
	CertFile, KeyFile string
	// CAFile is the CA of the servers' certificates, PEM; "" means the system's CAs.
	CAFile string
}

// Check returns an error if a server at these addresses, or a client of these URLs, would communicate beyond loopback
// without a user or without TLS.
func (a Access) Check(listens, connects []string) error {
	if (a.User == "") != (a.Password == "") {
		return errors.New("a user without a password, or a password without a user: want both")
	}
	if (a.CertFile == "") != (a.KeyFile == "") {
		return fmt.Errorf("certificate %q and key %q: want both, or neither", a.CertFile, a.KeyFile)
	}
	for _, address := range listens {
		if address != "" && !local(address) && (a.User == "" || a.CertFile == "") {
			return fmt.Errorf("%s: other hosts may reach it, read and delete all: want 127.0.0.1, or a user with a password "+
				"and a certificate", address)
		}
	}
	for _, text := range connects {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return fmt.Errorf("%q: want a URL like nats://HOST:PORT", text)
		}
		if a.User != "" && u.Scheme != "tls" && a.CAFile == "" && !local(u.Host) {
			return fmt.Errorf("%s: the password would be sent without TLS: want tls://%s, or the CA of the server's certificate",
				text, u.Host)
		}
	}
	return nil
}

// local reports whether HOST:PORT can be reached only from this machine.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// pool returns the certificates of CAFile, nil for the system's.
func (a Access) pool() (*x509.CertPool, error) {
	if a.CAFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s has no certificate: want PEM", a.CAFile)
	}
	return pool, nil
}

func (a Access) admit(o *server.Options) error {
	o.Username, o.Password = a.User, a.Password
	o.Cluster.Username, o.Cluster.Password = a.User, a.Password
	if a.User != "" {
		for _, r := range o.Routes {
			r.User = url.UserPassword(a.User, a.Password)
		}
	}
	if a.CertFile == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
	if err != nil {
		return fmt.Errorf("the log's certificate: %w", err)
	}
	pool, err := a.pool()
	if err != nil {
		return fmt.Errorf("the CA of the log's certificates: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12}
	o.TLS, o.TLSConfig, o.TLSTimeout = true, config, tlsWithin
	o.Cluster.TLSConfig, o.Cluster.TLSTimeout = config.Clone(), tlsWithin
	return nil
}

// tlsWithin is the time limit for a client's TLS handshake, in seconds.
const tlsWithin = 5

// options returns the options of a client. Within a process there is no TLS.
func (a Access) options(inProcess bool) (list []nats.Option, err error) {
	if a.User != "" {
		list = append(list, nats.UserInfo(a.User, a.Password))
	}
	if inProcess || a.CAFile == "" {
		return list, nil
	}
	pool, err := a.pool()
	if err != nil {
		return nil, fmt.Errorf("the CA of the log's certificates: %w", err)
	}
	return append(list, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})), nil
}
