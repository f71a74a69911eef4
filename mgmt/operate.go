package mgmt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Operations are actions that a client can request besides writing configuration: the rpcs of tamtam-operations. All of
// them go through [Server.Operate], with the rpc's input as RFC 7951 encodes it. RESTCONF requests an operation by a
// POST to /operations/tamtam-operations:NAME (RFC 8040). gNMI has no such request. There an operation is a Set with a
// single update: its path is /operations/NAME, and its value is the input. Results are read in the tree. RESTCONF also
// returns the output of an operation that has one.

// An operation is one rpc. do parses the input and performs the operation. It returns the output as RFC 7951 encodes
// it, or nil if there is none.
type operation struct {
	do    func(s *archiver, ctx context.Context, who string, input []byte) (output []byte, err error)
	looks bool // true if it changes nothing, and so need not wait for operations that change something
}

func operations() map[string]operation {
	return map[string]operation{
		"copy":           parsed(map[string]bool{"source": true, "destination": true}, (*archiver).copy),
		"commit":         parsed(nil, (*archiver).commit),
		"cancel-commit":  parsed(nil, (*archiver).cancelCommit),
		"clear-counters": parsed(map[string]bool{"kind": true}, (*archiver).clearCounters),
		"trace-packet":   asking(syncd, schema.PacketTraceAsk, "trace", map[string]bool{"in": true}),
		"why-flow":       asking(syncd, schema.WhyFlowAsk, "answer", map[string]bool{"src": true, "dst": true}),
		"list-drops":     asking(syncd, schema.DropsAsk, "answer", nil),
		"ping":           asking(hostDaemon, schema.PingAsk, "answer", map[string]bool{"destination": true}),
		"traceroute":     asking(hostDaemon, schema.TracerouteAsk, "answer", map[string]bool{"destination": true}),
	}
}

// parsed returns an operation whose input is the members of T. The members in must are mandatory.
func parsed[T any](must map[string]bool, do func(*archiver, context.Context, string, T) error) operation {
	return operation{do: func(s *archiver, ctx context.Context, who string, input []byte) ([]byte, error) {
		var in T
		if err := parseInput(input, must, &in); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return nil, do(s, ctx, who, in)
	}}
}

// parseInput decodes an object whose member names may be prefixed by the module.
func parseInput(input []byte, must map[string]bool, into any) error {
	var members map[string]json.RawMessage
	if len(bytes.TrimSpace(input)) > 0 {
		if err := json.Unmarshal(input, &members); err != nil {
			return fmt.Errorf("input: want a JSON object: %w", err)
		}
		if twice := configfile.Doubled(input); len(twice) > 0 {
			return fmt.Errorf("input: %w", errors.Join(twice...))
		}
	}
	if inner, ok := members[rights.OperationsModule+":input"]; ok && len(members) == 1 { // RFC 8040, 3.6
		return parseInput(inner, must, into)
	}
	local := map[string]json.RawMessage{}
	for name, v := range members {
		short := strings.TrimPrefix(name, rights.OperationsModule+":")
		if _, again := local[short]; again {
			return fmt.Errorf("%s is there twice", short)
		}
		if short != strings.ToLower(short) { // encoding/json would match it to the lower-case name
			return fmt.Errorf("unknown field %q", short)
		}
		local[short] = v
	}
	for _, name := range slices.Sorted(maps.Keys(must)) {
		if _, there := local[name]; !there {
			return fmt.Errorf("%s is missing", name)
		}
	}
	text, err := json.Marshal(local)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("%s: %s, want %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// Operate performs an operation for the caller, and returns its output, or nil if it has none. An error has a gRPC
// status code.
func (s *Server) Operate(ctx context.Context, name string, input []byte) (output []byte, err error) {
	name = strings.TrimPrefix(name, rights.OperationsModule+":")
	all := operations()
	op, ok := all[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "/operations/%s: there is no such operation, want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	defer func(ctx context.Context) { s.guard.Trail.Did(ctx, name, nil, string(input), err) }(ctx)
	who := auth.UserOf(ctx)
	if err := op.allowed(ctx, name); err != nil {
		return nil, err
	}
	ctx, leave, err := s.gate.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !op.looks {
		s.setting.Lock()
		defer s.setting.Unlock()
	}
	if output, err = op.do(s.kept, ctx, who, input); err != nil {
		s.log.Warn("operation refused", "operation", name, "user", who, "error", err)
		return nil, s.operationError(ctx, name, err)
	}
	s.log.Info("operation done", "operation", name, "user", who, "input", string(input))
	return output, nil
}

// allowed refuses a caller whose role may not perform an operation. The output of a read-only operation may mix all
// kinds of data. So a role with a line that hides any data may not perform it.
func (o operation) allowed(ctx context.Context, name string) error {
	v := auth.ViewOf(ctx)
	if err := v.May(name); err != nil {
		return err
	}
	if v != nil && v.Blind && o.looks {
		return status.Errorf(codes.PermissionDenied,
			"/%s/%s: its answer names whatever it meets, and role %s has a line that takes some of it away",
			rights.OperationsNode, name, v.Role)
	}
	return nil
}

// operationError gives an error its code, and prefixes the operation's name.
func (s *Server) operationError(ctx context.Context, name string, err error) error {
	st, ok := status.FromError(err)
	switch {
	case ok:
	case tree.IsUnavailable(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		st = status.Convert(s.dbError(ctx, err))
	default:
		st = status.New(codes.FailedPrecondition, err.Error())
	}
	return status.Errorf(st.Code(), "%s: %s", name, st.Message())
}

// operationOf returns the operation that a Set requests; is reports whether it requests one.
func operationOf(req *gpb.SetRequest) (name string, input []byte, is bool, err error) {
	at := func(p *gpb.Path) []*gpb.PathElem { return slices.Concat(req.GetPrefix().GetElem(), p.GetElem()) }
	of := func(p *gpb.Path) bool {
		elems := at(p)
		return len(elems) > 0 && strings.TrimPrefix(elems[0].GetName(), rights.OperationsModule+":") == rights.OperationsNode
	}
	updates := slices.Concat(req.GetUpdate(), req.GetReplace(), req.GetUnionReplace())
	n := 0
	for _, u := range updates {
		n += count(of(u.GetPath()))
	}
	for _, d := range req.GetDelete() {
		n += count(of(d))
	}
	if n == 0 {
		return "", nil, false, nil
	}
	refuse := func(format string, args ...any) (string, []byte, bool, error) {
		return "", nil, true, status.Errorf(codes.InvalidArgument, format, args...)
	}
	if n > 1 || len(updates)+len(req.GetDelete()) > 1 || len(req.GetUpdate()) != 1 {
		return refuse("/operations: want one update that is alone in its Set")
	}
	elems := at(req.GetUpdate()[0].GetPath())
	if len(elems) != 2 || len(elems[1].GetKey()) > 0 {
		return refuse("/operations: want the path /operations/NAME")
	}
	switch v := req.GetUpdate()[0].GetVal().GetValue().(type) {
	case *gpb.TypedValue_JsonIetfVal:
		input = v.JsonIetfVal
	case *gpb.TypedValue_JsonVal:
		input = v.JsonVal
	case nil:
	default:
		return refuse("/operations/%s: want the input as JSON or JSON_IETF", elems[1].GetName())
	}
	return elems[1].GetName(), input, true, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// OperationNames returns the names of the operations, with their module, sorted.
func OperationNames() []string {
	names := bareOperations()
	for i, name := range names {
		names[i] = rights.OperationsModule + ":" + name
	}
	return names
}

// bareOperations returns the names of the operations without their module, sorted.
func bareOperations() []string { return slices.Sorted(maps.Keys(operations())) }
