package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tamtam/cli/tree"
	"tamtam/internal/printable"
)

// Client sends requests to one gNMI server, in JSON_IETF.
type Client struct {
	conf Config
	conn *grpc.ClientConn
	GNMI gpb.GNMIClient
}

// Dial prepares the connection. The first request opens it.
func Dial(conf Config) (*Client, error) {
	creds, err := conf.credentials()
	if err != nil {
		return nil, err
	}
	network, address := "tcp", conf.Target
	authority := address
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address, authority = "unix", socket, "localhost"
	}
	conn, err := grpc.NewClient("passthrough:///"+authority,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}),
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(),
		grpc.WithUnaryInterceptor(received),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", conf.Target, err)
	}
	return &Client{conf: conf, conn: conn, GNMI: gpb.NewGNMIClient(conn)}, nil
}

// Request returns a context with the request's timeout and the user's name and password.
func (c *Client) Request(ctx context.Context) (context.Context, context.CancelFunc) {
	return c.requestWithin(ctx, c.conf.Timeout)
}

func (c *Client) requestWithin(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if c.conf.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", c.conf.User, "password", c.conf.Password)
	}
	return context.WithTimeout(ctx, limit)
}

// All returns config and state at a path.
func (c *Client) All(ctx context.Context, path *gpb.Path) (tree.Node, error) {
	return c.One(ctx, gpb.GetRequest_ALL, path)
}

// Configured returns the configuration at a path.
func (c *Client) Configured(ctx context.Context, path *gpb.Path) (tree.Node, error) {
	return c.One(ctx, gpb.GetRequest_CONFIG, path)
}

// Get returns the values at paths. A path without data gives an empty tree.
func (c *Client) Get(ctx context.Context, kind gpb.GetRequest_DataType, paths ...*gpb.Path) ([]tree.Node, error) {
	out := make([]tree.Node, len(paths))
	for i, p := range paths {
		var err error
		if out[i], err = c.One(ctx, kind, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// One returns the value at a path.
func (c *Client) One(ctx context.Context, kind gpb.GetRequest_DataType, path *gpb.Path) (tree.Node, error) {
	return c.UpTo(ctx, 0, kind, path)
}

// UpTo returns the value at a path down to a number of levels. 0 means all levels. A server without support for levels
// returns all.
func (c *Client) UpTo(
	ctx context.Context, levels uint32, kind gpb.GetRequest_DataType, path *gpb.Path,
) (tree.Node, error) {
	reply, err := c.getOne(ctx, levels, kind, path)
	if err != nil {
		return tree.Node{}, err
	}
	return decodeReply(path, reply)
}

// getOne requests one path. Each path has its own request, since a server refuses a whole request if one of its paths
// has no data.
func (c *Client) getOne(
	ctx context.Context, levels uint32, kind gpb.GetRequest_DataType, p *gpb.Path,
) (*gpb.GetResponse, error) {
	ctx, cancel := c.Request(ctx)
	defer cancel()
	req := &gpb.GetRequest{Path: []*gpb.Path{p}, Type: kind, Encoding: gpb.Encoding_JSON_IETF}
	if levels > 0 {
		req.Extension = append(req.Extension, &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_Depth{
			Depth: &gnmi_ext.Depth{Level: levels}}})
	}
	reply, err := c.GNMI.Get(ctx, req)
	if status.Code(err) == codes.NotFound {
		return &gpb.GetResponse{}, nil
	}
	return reply, c.Explain(err)
}

// decodeReply joins the updates of a reply: a single update at the requested path, or one for each list entry below it.
func decodeReply(asked *gpb.Path, reply *gpb.GetResponse) (tree.Node, error) {
	var parts []any
	for _, n := range reply.GetNotification() {
		for _, u := range n.GetUpdate() {
			v, err := decodeValue(u.GetVal())
			if err != nil {
				return tree.Node{}, fmt.Errorf("%s: %w", tree.PathText(asked), err)
			}
			parts = append(parts, v)
		}
	}
	switch {
	case len(parts) == 0:
		return tree.Node{}, nil
	case len(parts) == 1 && !tree.HasWildcard(asked):
		return tree.Of(parts[0]), nil
	}
	return tree.Of(parts), nil
}

func decodeValue(v *gpb.TypedValue) (any, error) {
	var raw []byte
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_JsonIetfVal:
		raw = v.JsonIetfVal
	case *gpb.TypedValue_JsonVal:
		raw = v.JsonVal
	case *gpb.TypedValue_StringVal:
		return v.StringVal, nil
	default:
		return nil, fmt.Errorf("the server answers %T, want JSON_IETF", v)
	}
	out, err := tree.DecodeJSON(string(raw))
	if err != nil {
		return nil, fmt.Errorf("the server's JSON: %w", err)
	}
	return out, nil
}

// OperationPath returns the path at which a Set requests an operation of the switch.
func OperationPath(name string) *gpb.Path { return tree.Path("operations", name) }

// AnswerPath returns the path of the answer to an operation, by the id in its input.
func AnswerPath(id string) *gpb.Path {
	path := tree.Path("STATE_DB", "localhost", "TAMTAM_PACKET_TRACE", id, "trace")
	path.Origin = "sonic-db"
	return path
}

// Change is one step of a Set. A nil value deletes the path.
type Change struct {
	Path    *gpb.Path
	Value   any
	Replace bool
}

// Set applies changes as one transaction.
func (c *Client) Set(ctx context.Context, changes ...Change) error {
	return c.SetWithin(ctx, c.conf.Timeout, changes...)
}

// SetWithin acts like [Client.Set], but with a time limit of its own, for an operation of the switch that takes time.
func (c *Client) SetWithin(ctx context.Context, limit time.Duration, changes ...Change) error {
	req := &gpb.SetRequest{}
	for _, ch := range changes {
		if ch.Value == nil {
			req.Delete = append(req.Delete, ch.Path)
			continue
		}
		raw, err := json.Marshal(ch.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", tree.PathText(ch.Path), err)
		}
		u := &gpb.Update{Path: ch.Path, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: raw}}}
		if ch.Replace {
			req.Replace = append(req.Replace, u)
		} else {
			req.Update = append(req.Update, u)
		}
	}
	ctx, cancel := c.requestWithin(ctx, limit)
	defer cancel()
	_, err := c.GNMI.Set(ctx, req)
	return c.Explain(err)
}

// Explain converts a gRPC error into a sentence for the user.
func (c *Client) Explain(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	// Further lines are aligned with the first, which follows "%Error: ".
	text := strings.ReplaceAll(printable.Lines(st.Message()), "\n", "\n        ")
	switch st.Code() {
	case codes.Unavailable:
		if errors.As(err, new(answeredError)) {
			return fmt.Errorf("the gNMI server at %s cannot answer that now: %s", c.conf.Target, text)
		}
		return fmt.Errorf("no answer from the gNMI server at %s: %s%s", c.conf.Target, c.hint(text), lastCause(text))
	case codes.DeadlineExceeded:
		timeout := c.conf.Timeout.Round(time.Millisecond)
		return fmt.Errorf("no answer from the gNMI server at %s within %s", c.conf.Target, timeout)
	case codes.Canceled:
		return errors.New("interrupted")
	case codes.Unauthenticated:
		return fmt.Errorf("the server refuses user %q: %s", c.conf.User, text)
	case codes.PermissionDenied:
		return deniedError{fmt.Sprintf("permission denied for user %q: %s", c.conf.User, text)}
	case codes.Unimplemented:
		return fmt.Errorf("not supported by this server: %s", text)
	}
	if text == "" {
		text = st.Code().String()
	}
	return errors.New(text)
}

// An answeredError is an error that the server returned. Errors of a client without a connection can have the same
// codes.
type answeredError struct{ error }

func (e answeredError) Unwrap() error { return e.error }

// GRPCStatus returns the server's status. Without this method, status.FromError would wrap the error in a client's
// text.
func (e answeredError) GRPCStatus() *status.Status { return status.Convert(e.error) }

// received intercepts calls and marks errors that the server returned. It recognises such errors by the headers of the
// response.
func received(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	var head, trail metadata.MD
	err := call(ctx, method, req, reply, cc, append(opts, grpc.Header(&head), grpc.Trailer(&trail))...)
	if err != nil && len(head)+len(trail) > 0 {
		return answeredError{err}
	}
	return err
}

// A deniedError reports an operation that the user's role does not permit.
type deniedError struct{ text string }

func (e deniedError) Error() string { return e.text }

// UnlessDenied returns err, or nil if err means that the user may not see the data.
func UnlessDenied(err error) error {
	var denied deniedError
	if errors.As(err, &denied) {
		return nil
	}
	return err
}

// hint returns the probable cause of a failed connection in terms of the user's options.
func (c *Client) hint(text string) string {
	switch {
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return "it speaks cleartext (use --insecure): "
	case strings.Contains(text, "unknown authority"):
		return "its certificate is not signed by a known CA (name the CA file, or skip verification): "
	case strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		return "TLS: "
	case c.conf.Insecure && (strings.Contains(text, "server preface") || strings.Contains(text, "connection reset")):
		return "it may speak TLS (leave out --insecure): "
	}
	return ""
}

// lastCause removes gRPC's own wrapping from a connection error.
func lastCause(text string) string {
	text = strings.TrimSuffix(text, `"`)
	if _, after, ok := strings.Cut(text, "desc = "); ok {
		text = strings.TrimPrefix(after, `"transport: `)
	}
	return text
}

func (c *Client) Close() error { return c.conn.Close() }
