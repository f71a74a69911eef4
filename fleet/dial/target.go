package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Options configure the connections to gNMI servers; they are the same for all targets.
type Options struct {
	// Insecure means cleartext. It excludes the other TLS fields. A unix socket is always cleartext.
	Insecure bool
	// SkipVerify means TLS that trusts any server.
	SkipVerify bool
	// CAFile names a file with the PEM certificates of the authorities that may sign the servers' certificates; empty
	// means the system's authorities.
	CAFile string
	// CertFile and KeyFile are the client's own PEM certificate and key.
	CertFile, KeyFile string
	// User and Password are sent with every request if User is set.
	User, Password string
}

// Check returns an error if the options contradict each other, or name files that cannot be used.
func (o Options) Check() error {
	_, err := o.credentials()
	return err
}

// credentials reads the TLS files. It returns an error that names options that contradict each other.
func (o Options) credentials() (credentials.TransportCredentials, error) {
	if o.User == "" && o.Password != "" {
		return nil, errors.New("a password needs a user")
	}
	if o.Insecure {
		if o.SkipVerify || o.CAFile != "" || o.CertFile != "" || o.KeyFile != "" {
			return nil, errors.New("insecure means no TLS, but skip-verify, tls-ca, tls-cert or tls-key is given: want either")
		}
		return insecure.NewCredentials(), nil
	}
	if o.SkipVerify && o.CAFile != "" {
		return nil, errors.New("skip-verify accepts any certificate, but tls-ca is given: want only one of them")
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.SkipVerify}
	var err error
	if conf.RootCAs, err = o.authorities(); err != nil {
		return nil, err
	}
	if conf.Certificates, err = o.certificates(); err != nil {
		return nil, err
	}
	return credentials.NewTLS(conf), nil
}

// authorities reads the certificates of the authorities that may sign the servers' certificates. It returns nil for the
// system's.
func (o Options) authorities() (*x509.CertPool, error) {
	if o.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls-ca %s: no PEM certificate in it", o.CAFile)
	}
	return pool, nil
}

// certificates reads the client's own certificate, if there is one.
func (o Options) certificates() ([]tls.Certificate, error) {
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("tls-cert and tls-key: want both or neither")
	}
	if o.CertFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert %s, tls-key %s: %w", o.CertFile, o.KeyFile, err)
	}
	return []tls.Certificate{pair}, nil
}

// client returns a connection, which is established by the first request.
func (o Options) client(address string) (*grpc.ClientConn, error) {
	network, authority := "tcp", address
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address, authority = "unix", socket, "localhost"
		o = Options{Insecure: true, User: o.User, Password: o.Password}
	}
	creds, err := o.credentials()
	if err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+authority,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}),
		grpc.WithTransportCredentials(creds), grpc.WithNoProxy(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}))
}

func (o Options) subscribe(
	ctx context.Context, conn *grpc.ClientConn, sessions []string,
) (gpb.GNMI_SubscribeClient, error) {
	if o.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", o.User, "password", o.Password)
	}
	stream, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		return nil, err
	}
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_JSON_IETF}
	for _, s := range sessions {
		for _, below := range []string{"config", "periods"} {
			list.Subscription = append(list.Subscription,
				&gpb.Subscription{Mode: gpb.SubscriptionMode_ON_CHANGE, Path: sessionPath(s, below)})
		}
	}
	return stream, stream.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
}

func sessionPath(session string, below ...string) *gpb.Path {
	p := &gpb.Path{Elem: []*gpb.PathElem{
		{Name: "tam"}, {Name: "alt-mark-sessions"},
		{Name: "alt-mark-session", Key: map[string]string{"name": session}},
	}}
	for _, name := range below {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}
