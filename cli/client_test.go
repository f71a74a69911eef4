package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"tamtam/cli/kit"
)

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		conf kit.Config
		want string
	}{
		{kit.Config{}, "target is empty"},
		{kit.Config{Target: "localhost"}, "want HOST:PORT"},
		{kit.Config{Target: "h:1", Insecure: true, SkipVerify: true}, "insecure (cleartext) excludes"},
		{kit.Config{Target: "h:1", SkipVerify: true, CAFile: "x"}, "skip-verify"},
		{kit.Config{Target: "h:1", CertFile: "x"}, "belong together"},
		{kit.Config{Target: "h:1", Password: "x"}, "a password needs a user"},
		{kit.Config{Target: "h:1", CAFile: "/nonexistent"}, "CA file: open /nonexistent"},
	} {
		if _, err := New(tt.conf); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.conf, err, tt.want)
		}
	}
}

// certificate makes a self-signed certificate for 127.0.0.1, and writes it as PEM.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestConnections(t *testing.T) {
	pair, ca := certificate(t)
	_, otherCA := certificate(t)
	listen := func(opts ...grpc.ServerOption) (*fakeServer, string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f := &fakeServer{tree: map[string]any{}, password: "secret"}
		f.load(t, testFile(t, "tam.json"))
		serve(t, f, l, opts...)
		return f, l.Addr().String()
	}
	_, secure := listen(grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	_, clear := listen()
	for _, tt := range []struct {
		name string
		conf kit.Config
		want string // part of the error; empty means success
	}{
		{"verified", kit.Config{Target: secure, CAFile: ca, User: "admin", Password: "secret"}, ""},
		{"unverified", kit.Config{Target: secure, SkipVerify: true, User: "admin", Password: "secret"}, ""},
		{"cleartext", kit.Config{Target: clear, Insecure: true, User: "admin", Password: "secret"}, ""},
		{"bad password", kit.Config{Target: secure, CAFile: ca, User: "admin", Password: "x"},
			`he server refuses user "admin": wrong password`},
		{"unknown CA", kit.Config{Target: secure, CAFile: otherCA}, "not signed by a known CA"},
		{"wrong name", kit.Config{Target: secure, CAFile: ca, ServerName: "sonic"}, "x509"},
		{"TLS to cleartext", kit.Config{Target: clear, SkipVerify: true}, "it speaks cleartext (use --insecure)"},
		{"cleartext to TLS", kit.Config{Target: secure, Insecure: true}, "it may speak TLS (leave out --insecure)"},
		{"nobody there", kit.Config{Target: "127.0.0.1:1", Insecure: true}, "o answer from the gNMI server at 127.0.0.1:1: "},
		{"no such socket", kit.Config{Target: "unix:/nonexistent"}, "o answer from the gNMI server at unix:/nonexistent: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.conf.Out = &out
			s, err := New(tt.conf)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = s.Exec(t.Context(), "show tam switch | json")
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%v", err)
			case tt.want == "" && !json.Valid(out.Bytes()):
				t.Errorf("not JSON: %s", out.String())
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// BenchmarkShow measures the time from line to output over a socket.
func BenchmarkShow(b *testing.B) {
	socket := filepath.Join(b.TempDir(), "gnmi")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	f := &fakeServer{tree: map[string]any{}}
	var v any
	if err := json.Unmarshal([]byte(testFile(b, "tam.json")), &v); err != nil {
		b.Fatal(err)
	}
	f.tree = v.(map[string]any)
	srv := grpc.NewServer()
	gpb.RegisterGNMIServer(srv, f)
	go srv.Serve(l)
	defer srv.Stop()
	var out bytes.Buffer
	s, err := New(kit.Config{Target: "unix:" + socket, Out: &out})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		out.Reset()
		if err := s.Exec(b.Context(), "show tam tail-stamping sessions http_236"); err != nil {
			b.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), "Stamped Count      : 7600") {
		b.Fatal(out.String())
	}
}
