package dialout

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"tamtam/mgmt/outputs"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// methods maps schemes of targets to services that accept a stream of SubscribeResponses.
var methods = map[string]string{
	"sonic": "/gnmi.sonic.gNMIDialOut/Publish",
	"nokia": "/Nokia.SROS.DialoutTelemetry/Publish",
}

// Schemes returns the services that collectors offer: SONiC's, and Nokia's, which gnmic implements. The suffix s means
// TLS.
func Schemes() map[string]outputs.Scheme {
	return map[string]outputs.Scheme{"sonic": {}, "sonics": {}, "nokia": {}, "nokias": {}}
}

// A Link is the connection to one of several collectors: if one does not answer, the next is tried.
type Link struct {
	to   []outputs.Target
	name string // name of the subscription
	conf *tls.Config
	next int

	conn   *grpc.ClientConn
	stream grpc.ClientStream
	cancel context.CancelFunc
	gone   chan struct{}
	why    error // valid once gone is closed
}

// NewLink returns a link to the first of the collectors that answers. conf is used for collectors with TLS.
func NewLink(to []outputs.Target, name string, conf *tls.Config) *Link {
	return &Link{to: to, name: name, conf: conf}
}

// Connect implements outputs.Link.
func (l *Link) Connect(ctx context.Context) error {
	l.Close()
	to := l.to[l.next%len(l.to)]
	err := l.open(ctx, to)
	if err != nil {
		l.Close()
		l.next++
		if len(l.to) > 1 {
			return fmt.Errorf("%s: %w", to.Address(), err)
		}
	}
	return err
}

func (l *Link) open(ctx context.Context, to outputs.Target) error {
	plain, secured := strings.CutSuffix(to.Scheme, "s")
	creds := insecure.NewCredentials()
	if secured {
		creds = credentials.NewTLS(l.conf)
	}
	var err error
	l.conn, err = grpc.NewClient("passthrough:///"+to.Address(), grpc.WithTransportCredentials(creds), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(outputs.Raw{})))
	if err != nil {
		return err
	}
	live, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), "subscription-name", l.name))
	l.cancel = cancel
	stop := context.AfterFunc(ctx, cancel) // the stream outlives ctx, unless ctx ends during Connect
	defer stop()
	desc := &grpc.StreamDesc{StreamName: "Publish", ClientStreams: true, ServerStreams: true}
	l.stream, err = l.conn.NewStream(live, desc, methods[plain])
	if err != nil {
		return err
	}
	l.gone = make(chan struct{})
	go l.watch(l.stream, l.gone)
	return nil
}

// watch discards the collector's messages until the stream ends.
func (l *Link) watch(stream grpc.ClientStream, gone chan<- struct{}) {
	defer close(gone)
	for {
		if err := stream.RecvMsg(new([]byte)); err != nil {
			l.why = err
			return
		}
	}
}

// Gone implements outputs.Broken.
func (l *Link) Gone() <-chan struct{} { return l.gone }

// Send implements outputs.Link.
func (l *Link) Send(ctx context.Context, data []byte) error {
	if l.stream == nil {
		return errors.New("not connected")
	}
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	err := l.stream.SendMsg(data)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) { // the stream has ended, and reading it returns the reason
		select {
		case <-l.gone:
			if !errors.Is(l.why, io.EOF) {
				return l.why
			}
		case <-ctx.Done():
		}
		return errors.New("the collector has closed the stream")
	}
	return err
}

// Close implements outputs.Link.
func (l *Link) Close() {
	if l.cancel != nil {
		if l.stream != nil {
			l.stream.CloseSend()
		}
		l.cancel()
	}
	if l.gone != nil {
		<-l.gone
	}
	if l.conn != nil {
		l.conn.Close()
	}
	l.conn, l.stream, l.cancel, l.gone = nil, nil, nil, nil
}
