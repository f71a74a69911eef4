package sender

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/mgmt/outputs"
	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
)

// An authority signs certificates of servers.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{T: t}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	made := a.sign(template)
	a.key = made.PrivateKey.(*ecdsa.PrivateKey)
	a.cert = made.Leaf
	return a
}

// sign makes a certificate from a template; the first one is self-signed.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// server returns the configuration of a server with a certificate for an address.
func (a *authority) server(ip net.IP, from, to time.Time) *tls.Config {
	cert := a.sign(&x509.Certificate{IPAddresses: []net.IP{ip}, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
}

// A counter counts the octets received over TLS, and the connections that were opened.
type counter struct {
	net.Listener
	octets, begun atomic.Int64
}

func (l *counter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.begun.Add(1)
	return &counted{Conn: c, of: l}, nil
}

type counted struct {
	net.Conn
	of *counter
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.octets.Add(int64(n))
	return n, err
}

// A still is a source whose one value never changes.
type still struct{}

func (still) Follow(
	ctx context.Context, _ *gpb.SubscriptionList, send func(*gpb.SubscribeResponse) error,
) error {
	if err := send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{
		SyncResponse: true}}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// receivers returns a receiver of each kind, by the scheme of its target. Receivers accept any data.
func receivers(t *testing.T) map[string]func(net.Listener) {
	overGRPC := func(answers bool) func(net.Listener) {
		s := grpc.NewServer(grpc.ForceServerCodec(outputs.Raw{}), grpc.UnknownServiceHandler(
			func(_ any, st grpc.ServerStream) error {
				for {
					if err := st.RecvMsg(new([]byte)); err != nil {
						return err
					}
					if answers {
						return st.SendMsg([]byte{})
					}
				}
			}))
		t.Cleanup(s.Stop)
		return func(l net.Listener) { _ = s.Serve(l) }
	}
	web := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_,
			_ = io.Copy(io.Discard, r.Body)
	})}
	t.Cleanup(func() { web.Close() })
	lines := func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}
	return map[string]func(net.Listener){
		"grpcs": overGRPC(true), "https": func(l net.Listener) { _ = web.Serve(l) }, "tls": lines,
		"sonics": overGRPC(false), "nokias": overGRPC(false),
	}
}

// An output with TLS sends only to a receiver with a currently valid certificate of a trusted CA for its address. With
// any other certificate, the output reports the fault and sends no octet.
func TestTLS(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	local, now := net.IPv4(127, 0, 0, 1), time.Now()
	past, soon := now.Add(-time.Hour), now.Add(time.Hour)
	old := ours.server(local, past, soon)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	servers := []struct {
		name, want string // the expected reason; "" means that the certificate is valid
		conf       *tls.Config
	}{
		{"right", "", ours.server(local, past, soon)},
		{"another CA", "certificate signed by unknown authority", other.server(local, past, soon)},
		{"another name", "127.0.0.1", ours.server(net.IPv4(127, 0, 0, 2), past, soon)},
		{"expired", "certificate has expired or is not yet valid", ours.server(local, past, now.Add(-time.Minute))},
		{"not yet", "certificate has expired or is not yet valid", ours.server(local, soon, soon.Add(time.Hour))},
		{"TLS 1.1", "protocol version not supported", old},
	}
	roots := x509.NewCertPool()
	roots.AddCert(ours.cert)
	flags := Flags{Period: time.Hour, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	type receiver struct {
		*counter
		name, server, want string
	}
	var all []receiver
	dials := map[string][]string{}
	for scheme, receive := range receivers(t) {
		for _, s := range servers {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			c := &counter{Listener: tls.NewListener(l, s.conf)}
			go receive(c)
			host, port, _ := net.SplitHostPort(l.Addr().String())
			to := outputs.Target{Scheme: scheme, Host: host, Port: port}
			name := nameOf(kindOTLP, to)
			switch scheme {
			case "grpcs", "https":
				flags.OTLP = append(flags.OTLP, to)
			case "tls":
				flags.Syslog, name = append(flags.Syslog, to), nameOf(kindSyslog, to)
			default:
				id := scheme + port
				dials["DestinationGroup_"+id] = []string{"dst_addr=" + l.Addr().String(), "protocol=" + scheme}
				dials["Subscription_"+id] = []string{"dst_group=" + id, "paths=/interfaces", "report_type=stream"}
				name = kindDialOut + "-" + id
			}
			all = append(all, receiver{c, name, scheme + ", " + s.name, s.want})
		}
	}
	b := newBench(t, flags)
	b.sender.cfg.From = still{}
	for key, row := range dials {
		b.put(swss.ConfigDB, schema.CfgTelemetryClient, key, row...)
	}
	b.put(swss.StateDB, schema.StateTAMTailStamp, "bad", "status=failed", "reason=no") // a change that syslog reports
	b.run()
	for _, r := range all {
		b.row(r.name, func(row swss.FieldValues) bool {
			if r.want == "" {
				return row[schema.OutputStatus] == schema.OutputActive && row[schema.OutputSent] != "0" && r.octets.Load() > 0
			}
			return row[schema.OutputStatus] == schema.OutputFailed && strings.Contains(row[schema.OutputReason], r.want) &&
				row[schema.OutputSent] == "0"
		})
	}
	for _, r := range all {
		if r.want != "" && (r.octets.Load() > 0 || r.begun.Load() == 0) {
			t.Errorf("%s: %d octets were sent by %d connections", r.server, r.octets.Load(), r.begun.Load())
		}
	}
}
