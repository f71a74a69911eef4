package auth

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/rights"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A generated certificate stays as long as it is valid, and is renewed under the same CA.
func TestMakeCertificates(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	now := time.Now()
	if err := makeCertificates(dir, now); err != nil {
		t.Fatal(err)
	}
	ca, before := read(caFile), read(serverFile)
	if err := makeCertificates(dir, now); err != nil || read(serverFile) != before {
		t.Errorf("a good certificate is made anew: %v", err)
	}
	if err := makeCertificates(dir, now.Add(serverValidity)); err != nil || read(caFile) != ca {
		t.Errorf("the CA is another: %v", err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now.Add(serverValidity)}); err != nil {
		t.Errorf("the renewed certificate: %v", err)
	}
}

// A local process whose Unix user is not a user of the server may not act as another user.
func TestSocketOfStranger(t *testing.T) {
	g := New(Config{Users: []access.User{{Name: "root", Password: "p", Role: access.Admin}}},
		func(*access.Roles) (map[access.Role]*rights.View, error) { return nil, nil })
	if err := g.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.loginLocal(unixPeer{uid: 54321}, Credentials{Name: "root"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a process of no user is root: %v", err)
	}
}
