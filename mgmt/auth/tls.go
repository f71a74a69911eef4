package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
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
	caValidity     = 10 * 365 * 24 * time.Hour
	serverValidity = 365 * 24 * time.Hour
	renewAhead     = 30 * 24 * time.Hour
)

// Credentials returns the credentials of the TCP listener.
func (g *Guard) Credentials() (credentials.TransportCredentials, error) {
	conf, err := g.TLS()
	if err != nil {
		return nil, err
	}
	if conf == nil {
		return insecure.NewCredentials(), nil
	}
	return talkativeTLS{credentials.NewTLS(conf), g.log}, nil
}

// TLS returns the configuration for the clients' connections, or nil if they do not use TLS.
func (g *Guard) TLS() (*tls.Config, error) {
	if g.cfg.Insecure {
		return nil, nil
	}
	certFile, keyFile := g.cfg.CertFile, g.cfg.KeyFile
	if certFile == "" {
		if err := makeCertificates(g.cfg.Dir, time.Now()); err != nil {
			return nil, err
		}
		certFile, keyFile = filepath.Join(g.cfg.Dir, serverFile), filepath.Join(g.cfg.Dir, serverKeyFile)
		g.log.Info("a certificate is generated", "ca", filepath.Join(g.cfg.Dir, caFile))
	}
	if g.pair == nil { // otherwise another protocol has loaded the certificate already
		pair := &reread[*tls.Certificate]{what: "certificate", now: g.now, log: g.log, reported: g.auditReread,
			files: []string{certFile, keyFile}, parse: parsePair}
		if err := pair.begin(); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		g.pair = pair
	}
	conf := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.pair.get(), nil },
	}
	if g.cfg.ClientCAFile != "" {
		conf.ClientAuth = tls.RequireAnyClientCert // the signature is verified below, since the CA may change
		conf.VerifyConnection = func(state tls.ConnectionState) error { return g.verify(state.PeerCertificates) }
	}
	return conf, nil
}

// parsePair parses a certificate and its key.
func parsePair(texts [][]byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(texts[0], texts[1])
	return &cert, err
}

// A clientCA holds the CAs of client certificates.
type clientCA struct {
	pool *x509.CertPool

	mu   sync.Mutex
	good map[[sha256.Size]byte]bool // verified certificates, by their hash
}

// mostVerified bounds the number of certificates that are remembered.
const mostVerified = 4096

// openClientCA reads the CAs of client certificates.
func (g *Guard) openClientCA() error {
	if g.cfg.ClientCAFile == "" {
		return nil
	}
	g.clientCA = &reread[*clientCA]{what: "client CA", now: g.now, log: g.log, reported: g.auditReread,
		files: []string{g.cfg.ClientCAFile}, parse: func(texts [][]byte) (*clientCA, error) {
			pool := x509.NewCertPool()
			if !pool.AppendCertsFromPEM(texts[0]) {
				return nil, fmt.Errorf("no certificate in %s", g.cfg.ClientCAFile)
			}
			return &clientCA{pool: pool, good: map[[sha256.Size]byte]bool{}}, nil
		}}
	if err := g.clientCA.begin(); err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	return nil
}

// verify returns an error unless a client's certificate is signed by the CA in force, and valid now.
func (g *Guard) verify(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("there is none")
	}
	ca, leaf, now := g.clientCA.get(), chain[0], g.now()
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("it has expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	sum := sha256.Sum256(leaf.Raw)
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if ca.good[sum] {
		return nil
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: ca.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	if len(ca.good) >= mostVerified {
		clear(ca.good)
	}
	ca.good[sum] = true
	return nil
}

// proven returns the common name of a client's certificate, with its chain. The name is empty if clients need no
// certificate.
func (g *Guard) proven(state *tls.ConnectionState) (string, []*x509.Certificate, error) {
	if state == nil || g.clientCA == nil {
		return "", nil, nil
	}
	if err := g.verify(state.PeerCertificates); err != nil {
		return "", nil, err
	}
	return state.PeerCertificates[0].Subject.CommonName, state.PeerCertificates, nil
}

// talkativeTLS is TLS that logs failed handshakes.
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
	case errors.Is(err, io.EOF): // a health check that only connects
	case err != nil:
		t.log.Warn("gNMI TLS handshake failed", "peer", c.RemoteAddr(), "error", err)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (t talkativeTLS) Clone() credentials.TransportCredentials {
	return talkativeTLS{t.TransportCredentials.Clone(), t.log}
}

// makeCertificates ensures that dir has a CA and a server certificate signed by it, for this machine and not about to
// expire.
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
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(serverValidity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	_, err = sign(template, &ca, filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile))
	return err
}

// serverNames returns the names and addresses by which clients on this machine, or near it, reach the server.
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
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(caValidity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return sign(template, nil, filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
}

// sign creates a key and a certificate signed by a CA, or by itself, and writes both.
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

// writeFile replaces a file atomically.
func writeFile(name string, data []byte, mode os.FileMode) error {
	tmp := name + ".new"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
