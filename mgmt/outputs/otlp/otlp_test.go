package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tamtam/mgmt/metrics"
	"tamtam/mgmt/outputs"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

var families = []metrics.Family{
	{Name: "tamtam_redis_up", Help: "1: Redis answers.", Points: []metrics.Point{{Value: 1}}},
	{Name: "tamtam_port_bytes_total", Help: "Bytes.", Unit: "By", Kind: metrics.Counter,
		Labels: []string{"port", "direction"},
		Points: []metrics.Point{{Labels: []string{"Ethernet0", "in"}, Value: 640, Count: 640, Start: time.Unix(0, 5)},
			{Labels: []string{"Ethernet4", "in"}, Value: math.MaxUint64, Count: math.MaxUint64, Start: time.Unix(0, 5)}}},
	{Name: "tamtam_port_up", Labels: []string{"port"}},
}

// A counter is a cumulative, monotonic Sum with its start time; unknown values are absent.
func TestEncode(t *testing.T) {
	data, err := Encode(Resource{Host: "leaf1", SwitchID: "7", Version: "1"}, families, time.Unix(0, 9))
	if err != nil {
		t.Fatal(err)
	}
	var req collector.ExportMetricsServiceRequest
	if err := proto.Unmarshal(data, &req); err != nil {
		t.Fatal(err)
	}
	want := `{"resourceMetrics":[{"resource":{"attributes":[
	 {"key":"service.name","value":{"stringValue":"tamtam"}},{"key":"service.instance.id","value":{"stringValue":"leaf1"}},
	 {"key":"service.version","value":{"stringValue":"1"}},{"key":"host.name","value":{"stringValue":"leaf1"}},
	 {"key":"tamtam.switch.id","value":{"stringValue":"7"}}]},
	 "scopeMetrics":[{"scope":{"name":"tamtam","version":"1"},"metrics":[
	 {"name":"tamtam.redis_up","description":"1: Redis answers.","gauge":{"dataPoints":[{"timeUnixNano":"9",
	  "asDouble":1}]}},
	 {"name":"tamtam.port_bytes","description":"Bytes.","unit":"By","sum":{"isMonotonic":true,
	  "aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE","dataPoints":[
	  {"startTimeUnixNano":"5","timeUnixNano":"9","asInt":"640","attributes":[{"key":"port",
	   "value":{"stringValue":"Ethernet0"}},
	   {"key":"direction","value":{"stringValue":"in"}}]},
	  {"startTimeUnixNano":"5","timeUnixNano":"9","asDouble":18446744073709551615,
	   "attributes":[{"key":"port","value":{"stringValue":"Ethernet4"}},{"key":"direction",
	    "value":{"stringValue":"in"}}]}]}}]}]}]}`
	var wanted collector.ExportMetricsServiceRequest
	if err := protojson.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(&req, &wanted) {
		t.Errorf("have %s", protojson.Format(&req))
	}
}

// verdict returns the fate of a message: sent, refused, or to be sent again, possibly after some time.
func verdict(err error) (word string, after time.Duration) {
	var refused *outputs.RefusedError
	var busy *outputs.BusyError
	switch {
	case err == nil:
		return "sent", 0
	case errors.As(err, &refused):
		return "refused", 0
	case errors.As(err, &busy):
		return "busy", busy.After
	}
	return "again", 0
}

// retryAfter returns an error with a google.rpc.RetryInfo.
func retryAfter(code codes.Code, seconds uint64) error {
	delay := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), seconds)
	info := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), delay)
	st := status.New(code, "later").Proto()
	st.Details = []*anypb.Any{{TypeUrl: "type.googleapis.com/google.rpc.RetryInfo", Value: info}}
	return status.FromProto(st).Err()
}

// Each gRPC response is handled as OTLP's specification requires.
func TestGRPC(t *testing.T) {
	var answer []byte
	var fails error
	var got []byte
	s := grpc.NewServer(grpc.ForceServerCodec(outputs.Raw{}), grpc.UnknownServiceHandler(
		func(_ any, st grpc.ServerStream) error {
			if m, _ := grpc.MethodFromServerStream(st); m != method {
				return status.Errorf(codes.Unimplemented, "no method %s", m)
			}
			if err := st.RecvMsg(&got); err != nil {
				return err
			}
			if fails != nil {
				return fails
			}
			return st.SendMsg(answer)
		}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Stop()
	to, err := outputs.ParseTarget("grpc://"+l.Addr().String(), Schemes())
	if err != nil {
		t.Fatal(err)
	}
	link := NewLink(to, nil)
	defer link.Close()
	if err := link.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	partly, err := proto.Marshal(&collector.ExportMetricsServiceResponse{
		PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 3, ErrorMessage: "old"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer []byte
		fails  error
		want   string
		after  time.Duration
	}{
		{want: "sent"}, {answer: partly, want: "refused"}, {answer: []byte{0xff}, want: "sent"},
		{fails: status.Error(codes.Unavailable, "no"), want: "again"},
		{fails: retryAfter(codes.Unavailable, 5), want: "busy", after: 5 * time.Second},
		{fails: retryAfter(codes.ResourceExhausted, 1<<50), want: "busy", after: time.Hour},
		{fails: status.Error(codes.ResourceExhausted, "no"), want: "refused"},
		{fails: status.Error(codes.InvalidArgument, "no"), want: "refused"},
		{fails: status.Error(codes.DataLoss, "no"), want: "again"},
	} {
		answer, fails = tt.answer, tt.fails
		word, after := verdict(link.Send(t.Context(), []byte("data")))
		if word != tt.want || after != tt.after || string(got) != "data" {
			t.Errorf("%v %v: %s after %v, want %s after %v; %q came", tt.answer, tt.fails, word, after, tt.want, tt.after, got)
		}
	}
}

// Each HTTP response is handled as OTLP's specification requires.
func TestHTTP(t *testing.T) {
	code, header := 0, ""
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			text, _ := io.ReadAll(z)
			got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(text)
		}
		w.Header().Set("Retry-After", header)
		w.WriteHeader(code)
	}))
	defer s.Close()
	to, err := outputs.ParseTarget(s.URL, Schemes())
	if err != nil {
		t.Fatal(err)
	}
	link := NewLink(to, nil)
	defer link.Close()
	for _, tt := range []struct {
		code   int
		header string
		want   string
		after  time.Duration
	}{
		{200, "", "sent", 0}, {400, "", "refused", 0}, {302, "", "refused", 0}, {503, "", "busy", 0},
		{429, "30", "busy", 30 * time.Second}, {429, "soon", "busy", 0},
	} {
		code, header = tt.code, tt.header
		word, after := verdict(link.Send(t.Context(), []byte("data")))
		if word != tt.want || after != tt.after || got != "POST /v1/metrics application/x-protobuf data" {
			t.Errorf("%d %q: %s after %v, want %s after %v; %q came", tt.code, tt.header, word, after, tt.want, tt.after, got)
		}
	}
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if word, _ := verdict(link.Send(ctx, []byte("data"))); word != "again" {
		t.Errorf("nobody is there: %s", word)
	}
}

// Any bytes of a collector's response are read as far as possible.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{0x0a, 0x02, 0x08, 0x03}, uint64(5))
	f.Add([]byte{0xff, 0xff}, uint64(1)<<63)
	f.Fuzz(func(t *testing.T, answer []byte, seconds uint64) {
		partial(answer)
		field(answer, 1)
		if _, after := verdict(judged(retryAfter(codes.Unavailable, seconds))); after < 0 || after > time.Hour+time.Second {
			t.Errorf("after %v", after)
		}
	})
}
