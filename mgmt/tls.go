package mgmt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Files in Config.Dir.
const (
	caFile        = "ca.pem"
	caKeyFile     = "ca.key"
	serverFile    = "server.pem"
	serverKeyFile = "server.key"
)

const (
	caLife     = 10 * 365 * 24 * time.Hour
	serverLife = 365 * 24 * time.Hour
	renewAhead = 30 * 24 * time.Hour
)

// credentials returns what the TCP listener requires of its clients.
func (s *Server) credentials() (credentials.TransportCredentials, error) {
	conf, err := s.TLS()
	if err != nil {
		return nil, err
	}
	if conf == nil {
		return insecure.NewCredentials(), nil
	}
	return talkativeTLS{credentials.NewTLS(conf), s.log}, nil
}

// TLS returns what the server is configured to have before its clients' connections; nil: nothing.
func (s *Server) TLS() (*tls.Config, error) {
	if s.cfg.Insecure {
		return nil, nil
	}
	certFile, keyFile := s.cfg.CertFile, s.cfg.KeyFile
	if certFile == "" {
		if err := makeCertificates(s.cfg.Dir, time.Now()); err != nil {
			return nil, err
		}
		certFile, keyFile = filepath.Join(s.cfg.Dir, serverFile), filepath.Join(s.cfg.Dir, serverKeyFile)
		s.log.Info("gNMI certificate is generated", "ca", filepath.Join(s.cfg.Dir, caFile))
	}
	pair := &keyPair{certFile: certFile, keyFile: keyFile}
	if _, err := pair.get(nil); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	if s.cfg.ClientCAFile != "" {
		pemData, err := os.ReadFile(s.cfg.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("client CA: %w", err)
		}
		conf.ClientCAs = x509.NewCertPool()
		if !conf.ClientCAs.AppendCertsFromPEM(pemData) {
			return nil, fmt.Errorf("client CA: no certificate in %s", s.cfg.ClientCAFile)
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return conf, nil
}

// talkativeTLS is TLS that logs when a client does not speak it.
type talkativeTLS struct {
	credentials.TransportCredentials
	log *slog.Logger
}

// ServerHandshake implements credentials.TransportCredentials.
func (t talkativeTLS) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.TransportCredentials.ServerHandshake(c)
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		t.log.Warn("gNMI client speaks plaintext, this port is TLS", "peer", c.RemoteAddr())
	case errors.Is(err, io.EOF): // connected and left without a word: a health check
	case err != nil:
		t.log.Warn("gNMI TLS handshake failed", "peer", c.RemoteAddr(), "error", err)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (t talkativeTLS) Clone() credentials.TransportCredentials {
	return talkativeTLS{t.TransportCredentials.Clone(), t.log}
}

// A keyPair is a certificate that is read again when its file changes.
type keyPair struct {
	certFile, keyFile string

	mu      sync.Mutex
	changed time.Time
	cert    *tls.Certificate
}

func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.certFile)
	if err == nil && k.cert != nil && info.ModTime().Equal(k.changed) {
		return k.cert, nil
	}
	var cert tls.Certificate
	if err == nil {
		cert, err = tls.LoadX509KeyPair(k.certFile, k.keyFile)
	}
	if err != nil {
		if k.cert != nil { // while files are being replaced
			return k.cert, nil
		}
		return nil, err
	}
	k.cert, k.changed = &cert, info.ModTime()
	return k.cert, nil
}

// makeCertificates makes sure that dir has a CA and a server certificate signed by it, for this
// machine and not about to expire.
func makeCertificates(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, addrs := serverNames()
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if errors.Is(err, os.ErrNotExist) || err == nil && now.After(ca.Leaf.NotAfter.Add(-renewAhead)) {
		ca, err = makeCA(dir, now)
	}
	if err != nil {
		return fmt.Errorf("generated CA: %w", err)
	}
	old, err := tls.LoadX509KeyPair(filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile))
	if err == nil && old.Leaf.CheckSignatureFrom(ca.Leaf) == nil && now.Before(old.Leaf.NotAfter.Add(-renewAhead)) &&
		!slices.ContainsFunc(names, func(n string) bool { return old.Leaf.VerifyHostname(n) != nil }) {
		return nil
	}
	template := &x509.Certificate{
		Subject: pkix.Name{Organization: []string{"tamtam"}, CommonName: names[0]}, DNSNames: names, IPAddresses: addrs,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(serverLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	_, err = sign(template, &ca, filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile))
	return err
}

// serverNames returns the names that clients on this machine and next to it use.
func serverNames() ([]string, []net.IP) {
	names := []string{"localhost"}
	if host, err := os.Hostname(); err == nil && host != "localhost" {
		names = append(names, host)
	}
	return names, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
}

func makeCA(dir string, now time.Time) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"tamtam"}, CommonName: "tamtam generated CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return sign(template, nil, filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
}

// sign makes a key and a certificate by a CA, or by itself, and writes both.
func sign(template *x509.Certificate, ca *tls.Certificate, certFile, keyFile string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return tls.Certificate{}, err
	}
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	err = errors.Join(
		writeFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600),
		writeFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(certFile, keyFile)
}

// writeFile replaces a file whole.
func writeFile(name string, data []byte, mode os.FileMode) error {
	tmp := name + ".new"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
