package mgmt

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// securityChecks returns the checks of TLS and users.
func securityChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"A1": checkTransport, "A2": checkTransport,
		"A3": checkCertificates, "A4": checkCertificates, "A7": checkCertificates,
		"A5": checkUsers, "A6": checkUsers, "A8": checkUsers, "A9": checkUsers, "A10": checkUsers,
	}
}

func checkTransport(b *bed) {
	dir := b.t.TempDir()
	x := newBed(b.t, func(c *Config) { c.Insecure, c.Dir = false, dir })
	wantErr(b.t, capabilities(x, x.dial(grpc.WithTransportCredentials(insecure.NewCredentials()))), "Unavailable")
	conf := trust(b.t, dir)
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conf.MinVersion, conf.MaxVersion = version, version
		conn, err := tls.Dial("tcp", x.server.Addr(), conf)
		if err == nil {
			conn.Close()
		}
		if (err == nil) != want {
			b.t.Errorf("TLS %x: %v", version, err)
		}
	}
}

func checkCertificates(b *bed) {
	t := b.t.(*testing.T)
	now := time.Now()
	dir, clients := t.TempDir(), t.TempDir()
	guest := clientCert(t, clients, "guest", now)
	x := newBed(t, func(c *Config) {
		c.Insecure, c.Dir, c.ClientCAFile, c.Users = false, dir, filepath.Join(clients, "ca.pem"), someUsers
	})
	dial := func(certs ...tls.Certificate) gpb.GNMIClient {
		conf := trust(t, dir)
		conf.Certificates = certs
		return x.dial(grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	}
	wantErr(t, capabilities(x, dial()), "Unavailable")
	wantErr(t, capabilities(x, dial(clientCert(t, t.TempDir(), "guest", now))), "Unavailable")
	expired := clientCert(t, clients, "guest", now.Add(-2*time.Hour))
	wantErr(t, capabilities(x, dial(expired)), "Unavailable")
	client := dial(guest)
	_, err := client.Capabilities(metadata.AppendToOutgoingContext(x.ctx, "username", "guest"), &gpb.CapabilityRequest{})
	wantErr(t, err, "OK")
	_, err = client.Capabilities(metadata.AppendToOutgoingContext(x.ctx, "username", "root"), &gpb.CapabilityRequest{})
	wantErr(t, err, "Unauthenticated")
}

// checkUsers checks that every RPC needs credentials if there are users.
func checkUsers(b *bed) {
	x := newBed(b.t, func(c *Config) { c.Users = someUsers })
	x.rows(someSwitch())
	before := x.config()
	for _, c := range []struct{ name, password, read, set string }{
		{"root", "s3:cret", "OK", "OK"}, {"guest", "guest", "OK", "PermissionDenied"},
		{"root", "S3:cret", "Unauthenticated", "Unauthenticated"}, {"", "", "Unauthenticated", "Unauthenticated"},
		{"guest", "guest", "OK", "PermissionDenied"},
	} {
		y := *x
		if c.name != "" {
			y.ctx = metadata.AppendToOutgoingContext(x.ctx, "username", c.name, "password", c.password)
		}
		_, err := y.client.Capabilities(y.ctx, &gpb.CapabilityRequest{})
		wantErr(b.t, err, c.read)
		_, err = y.client.Get(y.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(matched)}})
		wantErr(b.t, err, c.read)
		wantErr(b.t, y.onceOf(matched), c.read)
		_, err = y.client.Set(y.ctx, &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/nowhere")}})
		if c.set == "OK" {
			c.set = "NotFound"
		}
		wantErr(b.t, err, c.set)
		if text := status.Convert(err).Message(); text == "" || strings.Contains(strings.ToLower(text), "cret") {
			b.t.Errorf("error %q", text)
		}
	}
	if after := x.config(); after != before {
		b.t.Errorf("changed:\n%s", after)
	}
}

// onceOf returns the error of a ONCE.
func (b *bed) onceOf(p string) error {
	rpc, err := b.client.Subscribe(b.ctx)
	if err != nil {
		return err
	}
	list := &gpb.SubscribeRequest_Subscribe{Subscribe: listOf(onceMode, subOf(0, p))}
	_ = rpc.Send(&gpb.SubscribeRequest{Request: list}) // if it failed, Recv returns the reason
	_, err = rpc.Recv()
	return err
}
