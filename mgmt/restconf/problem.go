package restconf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"tamtam/mgmt/tree"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A problem is an error response (RFC 8040, section 7).
type problem struct {
	code   int // HTTP status code
	errors []oneError
}

// oneError is an entry of the list error in ietf-restconf:errors.
type oneError struct {
	Type    string `json:"error-type"`
	Tag     string `json:"error-tag"`
	Path    string `json:"error-path,omitempty"`
	Message string `json:"error-message"`
}

// The values of error-type.
const (
	inTransport   = "transport"
	inProtocol    = "protocol"
	inApplication = "application"
)

func (p *problem) Error() string {
	texts := make([]string, len(p.errors))
	for i, e := range p.errors {
		texts[i] = e.Message
	}
	return strings.Join(texts, "\n")
}

// GRPCStatus makes mgmt return the problem unchanged.
func (p *problem) GRPCStatus() *status.Status { return status.New(codes.FailedPrecondition, p.Error()) }

// bad returns a problem with the client's URI, header or body.
func bad(code int, tag, format string, args ...any) *problem {
	return &problem{code, []oneError{{Type: inProtocol, Tag: tag, Message: fmt.Sprintf(format, args...)}}}
}

func invalid(format string, args ...any) *problem {
	return bad(http.StatusBadRequest, "invalid-value", format, args...)
}

func malformed(format string, args ...any) *problem {
	return bad(http.StatusBadRequest, "malformed-message", format, args...)
}

func missing(format string, args ...any) *problem {
	return bad(http.StatusNotFound, "invalid-value", format, args...)
}

func unmet(format string, args ...any) *problem {
	return bad(http.StatusPreconditionFailed, "operation-failed", format, args...)
}

func notAllowed(format string, args ...any) *problem {
	return bad(http.StatusMethodNotAllowed, "operation-not-supported", format, args...)
}

// at sets the node of the problem.
func (p *problem) at(t target) *problem {
	p.errors[0].Path = instance(t.root, t.path)
	return p
}

// kinds maps gRPC codes to HTTP codes and to NETCONF error-tags.
var kinds = map[codes.Code]struct {
	code int
	tag  string
}{
	codes.InvalidArgument:    {http.StatusBadRequest, "invalid-value"},
	codes.NotFound:           {http.StatusNotFound, "invalid-value"},
	codes.FailedPrecondition: {http.StatusConflict, "in-use"},
	codes.AlreadyExists:      {http.StatusConflict, "data-exists"},
	codes.Unauthenticated:    {http.StatusUnauthorized, "access-denied"},
	codes.PermissionDenied:   {http.StatusForbidden, "access-denied"},
	codes.ResourceExhausted:  {http.StatusRequestEntityTooLarge, "too-big"},
	codes.Aborted:            {http.StatusConflict, "lock-denied"},
	codes.Unimplemented:      {http.StatusNotImplemented, "operation-not-supported"},
	codes.Unavailable:        {http.StatusServiceUnavailable, "operation-failed"},
}

// explain converts an error of mgmt to a problem. The error's text has a line for each fault, which begins with a path
// if it concerns a node.
func explain(root *tree.Node, err error) *problem {
	if p, ok := err.(*problem); ok {
		return p
	}
	st := status.Convert(err)
	kind, known := kinds[st.Code()]
	if !known {
		kind.code, kind.tag = http.StatusInternalServerError, "operation-failed"
	}
	p := &problem{code: kind.code}
	for line := range strings.SplitSeq(st.Message(), "\n") {
		e := oneError{Type: inApplication, Tag: kind.tag, Message: line}
		if path, rest, ok := cutPath(line); ok {
			if e.Path = instance(root, path); e.Path != "" {
				e.Message = rest
			}
		}
		p.errors = append(p.errors, e)
	}
	return p
}

// write sends the problem as the response.
func (p *problem) write(w http.ResponseWriter) {
	body, _ := json.Marshal(map[string]any{"ietf-restconf:errors": map[string]any{"error": p.errors}})
	h := w.Header()
	h.Set("Content-Type", yangJSON)
	switch p.code {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Basic realm="tamtam"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "5")
	}
	w.WriteHeader(p.code)
	_, _ = w.Write(append(body, '\n'))
}
