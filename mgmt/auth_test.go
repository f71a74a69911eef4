package mgmt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

var someUsers = []access.User{
	{Name: "root", Password: "s3:cret", Role: access.Admin}, {Name: "guest", Password: "guest", Role: access.ReadOnly},
}

// trust returns a client's TLS configuration that trusts the generated CA.
func trust(t testing.TB, dir string) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

func capabilities(b *bed, client gpb.GNMIClient) error {
	_, err := client.Capabilities(b.ctx, &gpb.CapabilityRequest{})
	return err
}

func TestGeneratedCertificate(t *testing.T) {
	dir := t.TempDir()
	b := newBed(t, func(c *Config) { c.Insecure, c.Dir = false, dir })
	conf := trust(t, dir)
	if err := capabilities(b, b.dial(grpc.WithTransportCredentials(credentials.NewTLS(conf)))); err != nil {
		t.Error(err)
	}
	host, _ := os.Hostname()
	for _, name := range []string{"localhost", host, "127.0.0.1", "::1"} {
		conf := trust(t, dir)
		conf.ServerName = name
		conn, err := tls.Dial("tcp", b.server.Addr(), conf)
		if err != nil {
			t.Errorf("as %s: %v", name, err)
			continue
		}
		conn.Close()
	}
	t.Run("old TLS", func(t *testing.T) {
		conf := trust(t, dir)
		conf.MinVersion, conf.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if conn, err := tls.Dial("tcp", b.server.Addr(), conf); err == nil {
			conn.Close()
			t.Error("TLS 1.1 is let in")
		}
	})
	t.Run("plaintext", func(t *testing.T) {
		wantErr(t, capabilities(b, b.dial(grpc.WithTransportCredentials(insecure.NewCredentials()))), "Unavailable")
	})
	t.Run("keys are secret", func(t *testing.T) {
		for _, f := range []string{"ca.key", "server.key"} {
			if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", f, info.Mode(), err)
			}
		}
	})
}

// clientCert returns a client certificate that is valid for two hours around now. It is signed by the CA in dir, which
// is created if missing.
func clientCert(t testing.TB, dir, name string, now time.Time) tls.Certificate {
	t.Helper()
	made := func(template, parent *x509.Certificate, signer any) tls.Certificate {
		t.Helper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if parent == nil {
			parent, signer = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key"))
	if err != nil {
		ca = made(&x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA of clients"}, NotBefore: now.Add(-time.Hour),
			NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}, nil, nil)
		key, err := x509.MarshalPKCS8PrivateKey(ca.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for name, block := range map[string]*pem.Block{
			"ca.pem": {Type: "CERTIFICATE", Bytes: ca.Certificate[0]}, "ca.key": {Type: "PRIVATE KEY", Bytes: key},
		} {
			if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return made(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, ca.PrivateKey)
}

func TestMutualTLS(t *testing.T) {
	now := time.Now()
	dir, clients, strangers := t.TempDir(), t.TempDir(), t.TempDir()
	guest := clientCert(t, clients, "guest", now)
	b := newBed(t, func(c *Config) {
		c.Insecure, c.Dir, c.ClientCAFile, c.Users = false, dir, filepath.Join(clients, "ca.pem"), someUsers
	})
	dial := func(certs ...tls.Certificate) gpb.GNMIClient {
		conf := trust(t, dir)
		conf.Certificates = certs
		return b.dial(grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	}
	if err := capabilities(b, dial(guest)); err != nil {
		t.Errorf("a certificate is enough: %v", err)
	}
	_, err := dial(guest).Set(b.ctx, &gpb.SetRequest{})
	wantErr(t, err, "PermissionDenied", "guest", "read-only")
	as := metadata.AppendToOutgoingContext(b.ctx, "username", "guest")
	if _, err := dial(guest).Capabilities(as, &gpb.CapabilityRequest{}); err != nil {
		t.Errorf("name and certificate: %v", err)
	}
	as = metadata.AppendToOutgoingContext(b.ctx, "username", "root")
	_, err = dial(guest).Capabilities(as, &gpb.CapabilityRequest{})
	wantErr(t, err, "Unauthenticated")
	wantErr(t, capabilities(b, dial()), "Unavailable")
	wantErr(t, capabilities(b, dial(clientCert(t, strangers, "guest", now))), "Unavailable")
	wantErr(t, capabilities(b, dial(clientCert(t, t.TempDir(), "guest", now.Add(-48*time.Hour)))), "Unavailable")
}

func TestPasswords(t *testing.T) {
	b := newBed(t, func(c *Config) { c.Users = someUsers })
	b.rows(someSwitch())
	for _, c := range []struct {
		name       string
		md         []string
		read, sets string // expected status codes
	}{
		{"admin", []string{"username", "root", "password", "s3:cret"}, "OK", "OK"},
		{"read-only", []string{"username", "guest", "password", "guest"}, "OK", "PermissionDenied"},
		{"wrong password", []string{"username", "root", "password", "guest"}, "Unauthenticated", "Unauthenticated"},
		{"unknown user", []string{"username", "toor", "password", "guest"}, "Unauthenticated", "Unauthenticated"},
		{"name without password", []string{"username", "root"}, "Unauthenticated", "Unauthenticated"},
		{"nobody", nil, "Unauthenticated", "Unauthenticated"},
		{"two names", []string{"username", "root", "username", "guest", "password", "guest"}, "Unauthenticated",
			"Unauthenticated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(b.ctx, c.md...)
			_, err := b.client.Capabilities(ctx, &gpb.CapabilityRequest{})
			wantErr(t, err, c.read)
			_, err = b.client.Get(ctx, &gpb.GetRequest{})
			wantErr(t, err, c.read)
			before := b.config()
			_, err = b.client.Set(ctx, &gpb.SetRequest{Update: []*gpb.Update{update("/tam/switch/config/switch-id", "1")}})
			wantErr(t, err, c.sets)
			if err != nil && (b.config() != before || strings.Contains(err.Error(), "cret")) {
				t.Errorf("CONFIG_DB changed, or the secret is told: %v", err)
			}
			rpc, err := b.client.Subscribe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
				Subscribe: listOf(gpb.SubscriptionList_ONCE, subOf(0, rates))}})
			_, err = rpc.Recv()
			wantErr(t, err, c.read)
		})
	}
}

func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	b := newBed(t, func(c *Config) { c.Users, c.Socket = someUsers, socket })
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := gpb.NewGNMIClient(conn)
	if _, err := client.Set(b.ctx, &gpb.SetRequest{}); err != nil {
		t.Errorf("the server's own user is admin: %v", err)
	}
	if _, err := NewServer(Config{Redis: b.redis, Socket: socket}); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("two servers on one socket: %v", err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("a server that is refused removes the socket of another: %v", err)
	}
	stream, err := reflectpb.NewServerReflectionClient(conn).ServerReflectionInfo(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	stream.Send(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}})
	resp, err := stream.Recv()
	if err != nil || !strings.Contains(resp.String(), "gnmi.gNMI") {
		t.Errorf("reflection: %v %v", resp, err)
	}
}

func TestStaleSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	s, err := NewServer(Config{Redis: swsstest.Start(t), Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestSocketInNewDirectory(t *testing.T) {
	s, err := NewServer(Config{Redis: swsstest.Start(t), Socket: filepath.Join(t.TempDir(), "new", "s"), Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestImpossibleSettings(t *testing.T) {
	r := swsstest.Start(t)
	for _, c := range []struct {
		cfg   Config
		words []string
	}{
		{Config{Insecure: true, CertFile: "c", KeyFile: "k"}, []string{"Insecure", "CertFile"}},
		{Config{Insecure: true, ClientCAFile: "c"}, []string{"Insecure", "ClientCAFile"}},
		{Config{Insecure: true, Users: someUsers}, []string{"Insecure", "Users", "clear"}},
		{Config{CertFile: "c"}, []string{"CertFile", "KeyFile"}},
		{Config{KeyFile: "c"}, []string{"CertFile", "KeyFile"}},
		{Config{Addr: "127.0.0.1:0"}, []string{"Dir", "CertFile"}},
		{Config{Addr: "127.0.0.1:0", CertFile: "nowhere", KeyFile: "nowhere"}, []string{"certificate"}},
	} {
		c.cfg.Redis = r
		_, err := NewServer(c.cfg)
		if err == nil {
			t.Errorf("%+v is accepted", c.cfg)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v does not name %s", err, w)
			}
		}
	}
}

// bcryptOfGuest is a bcrypt hash of the password "guest".
const bcryptOfGuest = "$2a$04$pIIaVUp1/bAFUAV8O1WTAe73Z36pCHs4QxiqwnHCeAnE5mnTzeOqm"

func TestHashedPasswords(t *testing.T) {
	b := newBed(t, func(c *Config) {
		c.Users = []access.User{{Name: "guest", Password: bcryptOfGuest, Role: access.ReadOnly}, someUsers[0]}
	})
	for _, c := range []struct{ name, password, code string }{
		{"guest", "guest", "OK"},
		{"guest", "guest", "OK"}, // from the cache
		{"guest", "Guest", "Unauthenticated"},
		{"guest", bcryptOfGuest, "Unauthenticated"},
		{"guest", "", "Unauthenticated"},
		{"nobody", "guest", "Unauthenticated"},
		{"", "guest", "Unauthenticated"},
		{"root", "s3:cret", "OK"},
		{"guest", "guest", "OK"},
	} {
		_, err := b.client.Capabilities(metadata.AppendToOutgoingContext(b.ctx, "username", c.name, "password", c.password),
			&gpb.CapabilityRequest{})
		wantErr(t, err, c.code)
	}
}

func TestLimits(t *testing.T) {
	b := newBed(t, nil)
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{
		update("/tam", `"`+strings.Repeat("x", maxRequest)+`"`)}})
	wantErr(t, err, "ResourceExhausted")
	for range auth.Places() { // others read and do not end
		if err := b.server.reading.Enter(b.ctx, "another"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err = b.server.Get(ctx, &gpb.GetRequest{})
	wantErr(t, err, "Canceled")
	for range maxSubscribers {
		b.server.subscribers <- struct{}{}
	}
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.wantEnd("ResourceExhausted", "Subscribe RPCs")
}
