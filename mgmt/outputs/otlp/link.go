// Package otlp sends the metrics of a switch to an OpenTelemetry collector, by OTLP over gRPC or HTTP.
//
// What belongs here: families of package metrics in OTLP's form, and the collector's responses. Counters are cumulative
// Sums, as they are in the switch: a lost message costs only resolution.
package otlp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tamtam/mgmt/outputs"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // "gzip", below
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Schemes returns the transports to a collector: gRPC or HTTP, in the clear or by TLS.
func Schemes() map[string]outputs.Scheme {
	return map[string]outputs.Scheme{
		"grpc": {Port: "4317"}, "grpcs": {Port: "4317"},
		"http": {Port: "4318", Path: true}, "https": {Port: "4318", Path: true},
	}
}

// NewLink returns a link to a collector. conf is for the schemes with TLS.
func NewLink(to outputs.Target, conf *tls.Config) outputs.Link {
	switch to.Scheme {
	case "http", "https":
		return newHTTP(to, conf)
	}
	l := &overGRPC{addr: "passthrough:///" + to.Address(), creds: insecure.NewCredentials()}
	if to.Scheme == "grpcs" {
		l.creds = credentials.NewTLS(conf)
	}
	return l
}

// method is the gRPC method of OTLP.
const method = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

type overGRPC struct {
	addr  string
	creds credentials.TransportCredentials
	conn  *grpc.ClientConn
}

// Connect makes the client; only sending shows whether a collector exists.
func (l *overGRPC) Connect(context.Context) (err error) {
	l.Close()
	l.conn, err = grpc.NewClient(l.addr, grpc.WithTransportCredentials(l.creds),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(outputs.Raw{}), grpc.UseCompressor("gzip")))
	return err
}

func (l *overGRPC) Close() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

func (l *overGRPC) Send(ctx context.Context, data []byte) error {
	var answer []byte
	if err := l.conn.Invoke(ctx, method, data, &answer); err != nil {
		return judged(err)
	}
	return partial(answer)
}

// judged classifies an error by OTLP's specification: whether the message may be sent again, and when.
func judged(err error) error {
	st, _ := status.FromError(err)
	switch st.Code() {
	case codes.Unavailable:
		if after, ok := retryInfo(st); ok {
			return &outputs.BusyError{Err: err, After: after}
		}
		return err
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return err
	case codes.ResourceExhausted:
		if after, ok := retryInfo(st); ok {
			return &outputs.BusyError{Err: err, After: after}
		}
	}
	return &outputs.RefusedError{Err: err}
}

// retryInfo returns the only field of google.rpc.RetryInfo: a Duration, seconds and nanoseconds.
func retryInfo(st *status.Status) (after time.Duration, ok bool) {
	for _, d := range st.Proto().GetDetails() {
		if d.GetTypeUrl() != "type.googleapis.com/google.rpc.RetryInfo" {
			continue
		}
		delay, _ := field(d.GetValue(), 1)
		_, seconds := field(delay, 1)
		_, nanos := field(delay, 2)
		const most = uint64(time.Hour / time.Second)
		return time.Duration(min(seconds, most))*time.Second + time.Duration(min(nanos, uint64(time.Second))), true
	}
	return 0, false
}

// field returns the last value of a field of an encoded message.
func field(message []byte, want protowire.Number) (data []byte, n uint64) {
	for len(message) > 0 {
		num, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, 0
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(num, typ, message); size < 0 {
			return nil, 0
		}
		if num == want && typ == protowire.BytesType {
			data, _ = protowire.ConsumeBytes(message)
		}
		if num == want && typ == protowire.VarintType {
			n, _ = protowire.ConsumeVarint(message)
		}
		message = message[size:]
	}
	return data, n
}

// partial reads an ExportMetricsServiceResponse. Rejected points must not be sent again.
func partial(answer []byte) error {
	var r collector.ExportMetricsServiceResponse
	if err := proto.Unmarshal(answer, &r); err != nil {
		return nil // it was accepted, whatever the response contains
	}
	if n := r.GetPartialSuccess().GetRejectedDataPoints(); n > 0 {
		return &outputs.RefusedError{Err: fmt.Errorf("the collector rejects %d data points: %.200q", n,
			r.GetPartialSuccess().GetErrorMessage())}
	}
	return nil
}

func newHTTP(to outputs.Target, conf *tls.Config) *outputs.HTTPLink {
	if to.Path == "" {
		to.Path = "/v1/metrics"
	}
	return outputs.NewHTTP(to, conf, "application/x-protobuf", true, func(resp *http.Response, answer []byte) error {
		if resp.StatusCode == http.StatusOK {
			return partial(answer)
		}
		return &outputs.RefusedError{Err: errors.New(resp.Status)}
	})
}
