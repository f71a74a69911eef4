package jetstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// certificate writes a self-signed certificate of 127.0.0.1, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "log"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	err = errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bytes}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// A server with a user and a certificate serves clients that have both, in its process and beyond. A client without the
// password, or without TLS, gets nothing.
func TestAccess(t *testing.T) {
	cert, key := certificate(t)
	known := Access{User: "fleet", Password: "secret", CertFile: cert, KeyFile: key, CAFile: cert}
	s := startServer(t, ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Sync: time.Minute, Access: known})
	for _, o := range []Options{{Server: s}, {URLs: []string{s.URL()}}} {
		o.Access = known
		l := openLog(t, o)
		if _, err := l.Append(t.Context(), "t", "", []byte("x")); err != nil {
			t.Error(err)
		}
	}
	for name, a := range map[string]Access{
		"no user":        {CAFile: cert},
		"wrong password": {User: "fleet", Password: "guess", CAFile: cert},
	} {
		l, err := Open(t.Context(), Options{URLs: []string{s.URL()}, Access: a})
		if err == nil {
			l.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v: want %v", name, err, nats.ErrAuthorization)
		}
	}
	if c, err := nats.Connect(s.URL(), nats.UserInfo("fleet", "secret")); err == nil {
		c.Close()
		t.Error("a client that does not trust the certificate is connected")
	}
}

// Beyond loopback a server must have a user and a certificate, and no client sends a password without TLS.
func TestAccessCheck(t *testing.T) {
	user, both := Access{User: "u", Password: "p"}, Access{User: "u", Password: "p", CertFile: "c", KeyFile: "k"}
	for _, tt := range []struct {
		a                Access
		listens, connect string
		want             string
	}{
		{Access{}, "127.0.0.1:1", "", ""},
		{Access{}, "[::1]:1", "", ""},
		{Access{}, "localhost:1", "nats://a:1", ""},
		{Access{}, "0.0.0.0:1", "", "0.0.0.0:1: other hosts may reach it"},
		{Access{}, ":1", "", ":1: other hosts may reach it"},
		{Access{}, "log1:1", "", "log1:1: other hosts may reach it"},
		{user, "10.0.0.1:1", "", "10.0.0.1:1: other hosts may reach it"},
		{Access{CertFile: "c", KeyFile: "k"}, "10.0.0.1:1", "", "10.0.0.1:1: other hosts may reach it"},
		{both, "10.0.0.1:1", "", ""},
		{user, "", "nats://10.0.0.1:1", "nats://10.0.0.1:1: the password would be sent without TLS"},
		{user, "", "tls://10.0.0.1:1", ""},
		{user, "", "nats://127.0.0.1:1", ""},
		{Access{User: "u", Password: "p", CAFile: "c"}, "", "nats://10.0.0.1:1", ""},
		{Access{User: "u"}, "", "", "a user without a password"},
		{Access{CertFile: "c"}, "", "", `certificate "c" and key ""`},
	} {
		var connects []string
		if tt.connect != "" {
			connects = []string{tt.connect}
		}
		err := tt.a.Check([]string{tt.listens}, connects)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v listens at %q, connects to %q: %v, want %q", tt.a, tt.listens, tt.connect, err, tt.want)
		}
	}
}
