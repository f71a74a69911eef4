package mgmt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// A commandClient sends requests through a command-line client instead of the generated stubs, except Subscribe.
type commandClient struct {
	gpb.GNMIClient
	args func(what string, req proto.Message) ([]string, error) // returns the command line for a request, program first
}

// clientOfEnvironment returns gnmi_cli if TAMTAM_GNMI_CLI names it, gnmic if TAMTAM_GNMIC does, and otherwise the
// generated client.
func clientOfEnvironment(t *testing.T, b *bed) gpb.GNMIClient {
	if program := os.Getenv("TAMTAM_GNMI_CLI"); program != "" {
		return &commandClient{b.client, func(what string, req proto.Message) ([]string, error) {
			text, err := prototext.Marshal(req)
			if len(text) == 0 && what != "capabilities" { // an empty request
				err = errCannotAsk
			}
			return []string{program, "-address", b.server.Addr(), "-insecure", "-" + what, "-proto", string(text)}, err
		}}
	}
	if program := os.Getenv("TAMTAM_GNMIC"); program != "" {
		dir := t.TempDir()
		return &commandClient{b.client, func(what string, req proto.Message) ([]string, error) {
			args := []string{program, "-a", b.server.Addr(), "--insecure", "--no-prefix", "--format", "prototext", what}
			switch req := req.(type) {
			case *gpb.GetRequest:
				return gnmicGet(args, req)
			case *gpb.SetRequest:
				file := filepath.Join(dir, "set.txt")
				text, err := prototext.Marshal(req)
				if err != nil {
					return nil, err
				}
				return append(args, "--set-proto-request-file", file), os.WriteFile(file, text, 0o600)
			}
			return args, nil
		}}
	}
	return b.client
}

// gnmicGet returns gnmic's arguments for a Get, or an error if gnmic cannot express it.
func gnmicGet(args []string, req *gpb.GetRequest) ([]string, error) {
	text := func(p *gpb.Path) string {
		if p.GetOrigin() == "" {
			return tree.PathText(p)
		}
		return p.GetOrigin() + ":" + tree.PathText(p)
	}
	if len(req.GetExtension()) > 0 || len(req.GetPath()) == 0 {
		return nil, errCannotAsk
	}
	args = append(args, "--encoding", strings.ToLower(req.GetEncoding().String()), "--type",
		strings.ToLower(req.GetType().String()))
	if p := req.GetPrefix(); p != nil {
		args = append(args, "--prefix", text(p), "--target", p.GetTarget())
	}
	for _, p := range req.GetPath() {
		args = append(args, "--path", text(p))
	}
	for _, m := range req.GetUseModels() {
		if m.GetVersion() != "" {
			return nil, errCannotAsk
		}
		args = append(args, "--model", m.GetName())
	}
	return args, nil
}

var errCannotAsk = fmt.Errorf("this client cannot ask that")

// said matches the status in a program's error output.
var said = regexp.MustCompile(`(?s)code = (\w+) desc = (.*)`)

// ask runs the program. A request that the program cannot express is sent by the stubs.
func ask[R, A proto.Message](
	ctx context.Context, c *commandClient, what string, req R, answer A,
	stub func(context.Context, R, ...grpc.CallOption) (A, error),
) (A, error) {
	args, err := c.args(what, req)
	if err == errCannotAsk {
		return stub(ctx, req)
	}
	if err != nil {
		return answer, err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		m := said.FindStringSubmatch(errs.String() + out.String())
		if m == nil {
			return answer, fmt.Errorf("%s: %w: %s%s", strings.Join(args, " "), err, errs.String(), out.String())
		}
		var code codes.Code
		for code = codes.OK; code <= codes.Unauthenticated && code.String() != m[1]; code++ {
		}
		return answer, status.Error(code, strings.TrimSpace(m[2]))
	}
	return answer, prototext.Unmarshal(out.Bytes(), answer)
}

// Capabilities sends the request through the program.
func (c *commandClient) Capabilities(
	ctx context.Context, req *gpb.CapabilityRequest, _ ...grpc.CallOption,
) (*gpb.CapabilityResponse, error) {
	return ask(ctx, c, "capabilities", req, &gpb.CapabilityResponse{}, c.GNMIClient.Capabilities)
}

// Get sends the request through the program.
func (c *commandClient) Get(ctx context.Context, req *gpb.GetRequest, _ ...grpc.CallOption) (*gpb.GetResponse, error) {
	return ask(ctx, c, "get", req, &gpb.GetResponse{}, c.GNMIClient.Get)
}

// Set sends the request through the program.
func (c *commandClient) Set(ctx context.Context, req *gpb.SetRequest, _ ...grpc.CallOption) (*gpb.SetResponse, error) {
	return ask(ctx, c, "set", req, &gpb.SetResponse{}, c.GNMIClient.Set)
}

// gnmi_cli can subscribe once, by polling and by streaming.
func TestSubscribeThroughGnmiCLI(t *testing.T) {
	program := os.Getenv("TAMTAM_GNMI_CLI")
	if program == "" {
		t.Skip("TAMTAM_GNMI_CLI names no gnmi_cli")
	}
	b := newBed(t, nil)
	b.rows(samplers("1", "2"))
	query := []string{"-address", b.server.Addr(), "-insecure", "-dt", "single", "-q",
		"/tam/samplers/sampler[name=*]/config/sampling-rate"}
	for mode, more := range map[string][]string{
		// streaming ends with an error, because the program is stopped
		"once": nil, "polling": {"-pi", "10ms", "-count", "2"}, "streaming": {"-sd", "1s"},
	} {
		out, err := exec.CommandContext(b.ctx, program, append(append(query, "-qt", mode), more...)...).CombinedOutput()
		one, two := strings.Contains(string(out), "/a/config/sampling-rate"),
			strings.Contains(string(out), "/b/config/sampling-rate")
		if !one || !two || err != nil && mode != "streaming" {
			t.Errorf("%s: %v:\n%s", mode, err, out)
		}
	}
}
