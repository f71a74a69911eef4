package mgmt

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync/atomic"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Probe requests a server's Capabilities, with TLS whatever its certificate, or without TLS. It fails if the server
// does not answer gNMI. A server that demands a login or a client certificate counts as answering. addr is HOST:PORT or
// unix:PATH.
func Probe(ctx context.Context, addr string) error {
	if strings.HasPrefix(addr, ":") {
		addr = "localhost" + addr
	}
	var wanted atomic.Bool // the server requested a client certificate
	secure := credentials.NewTLS(&tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the probe checks only whether a server answers, and sends no secrets
		MinVersion:         tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			wanted.Store(true)
			return &tls.Certificate{}, nil
		},
	})
	withTLS := askOnce(ctx, addr, secure)
	if withTLS == nil {
		return nil
	}
	var without error
	if ctx.Err() == nil && !wanted.Load() {
		without = askOnce(ctx, addr, insecure.NewCredentials())
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("gNMI at %s does not answer", addr)
	case without == nil:
		return nil // or the server closes the connection because there is no client certificate
	}
	return fmt.Errorf("gNMI at %s does not answer: with TLS: %s; without: %s", addr,
		status.Convert(withTLS).Message(), status.Convert(without).Message())
}

func askOnce(ctx context.Context, addr string, creds credentials.TransportCredentials) error {
	target := "passthrough:///" + addr
	if strings.HasPrefix(addr, "unix:") {
		target = addr
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = gpb.NewGNMIClient(conn).Capabilities(ctx, &gpb.CapabilityRequest{})
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return nil
	}
	return err
}
