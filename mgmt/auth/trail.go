package auth

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/internal/printable"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The audit trail has a record for each Set and operation, whatever its result. It also records each refused login and
// access, and each time that users or certificates were read again. A record holds the user, address, protocol, action,
// paths and result. Values are omitted, since they may be secrets. Config.Audit is the destination. Each record has the
// message "audit" and the non-empty ones of the attributes below.

// Names of the attributes in a record of the audit trail.
const (
	AuditUser      = "user"
	AuditRole      = "role"
	AuditFrom      = "from"      // the address, or the local user
	AuditTransport = "transport" // gNMI, RESTCONF, unix socket, process
	AuditOperation = "operation" // set, get, subscribe, login, reload, copy, commit, ...
	AuditPaths     = "paths"     // paths that were changed or refused; the prefix - means deleted, = means replaced
	AuditInput     = "input"     // input of an operation
	AuditResult    = "result"    // gRPC code of the result
	AuditReason    = "reason"    // why it failed
	AuditMore      = "more"      // number of records of this kind that were omitted before this one
)

// Bounds of a record.
const (
	maxAuditPaths  = 20
	maxAuditText   = 300  // bytes of one path, name or address
	maxAuditReason = 1000 // bytes
)

// refusalsPerSecond bounds the recorded refusals, which unauthenticated clients can cause. Further ones are only
// counted. Changes are always recorded.
const refusalsPerSecond = 20

// A Trail writes the audit trail.
type Trail struct {
	to  slog.Handler // nil discards records
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex
	second time.Time // the second in which refusals are counted
	count  int
	more   int    // refusals that were omitted
	failed string // why the last record could not be written; empty if it was written
}

// Also adds a further handler of the records.
func (t *Trail) Also(h slog.Handler) {
	if t.to != nil {
		h = slog.NewMultiHandler(t.to, h)
	}
	t.to = h
}

// refusal reports whether one more refusal is written, and how many were omitted before.
func (t *Trail) refusal() (write bool, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.second) >= time.Second || now.Before(t.second) {
		t.second, t.count = now, 0
	}
	if t.count++; t.count > refusalsPerSecond {
		t.more++
		return false, 0
	}
	more, t.more = t.more, 0
	return true, more
}

// write writes a record; attributes without a value are omitted.
func (t *Trail) write(code codes.Code, attrs ...slog.Attr) {
	if t.to == nil {
		return
	}
	level, more := slog.LevelInfo, 0
	if code != codes.OK {
		level = slog.LevelWarn
	}
	if code == codes.Unauthenticated || code == codes.PermissionDenied || code == codes.ResourceExhausted {
		var ok bool
		if ok, more = t.refusal(); !ok {
			return
		}
	}
	r := slog.NewRecord(t.now(), level, "audit", 0)
	for _, a := range attrs {
		if a.Value.Kind() != slog.KindString {
			r.AddAttrs(a)
		} else if text := a.Value.String(); text != "" {
			r.AddAttrs(slog.String(a.Key, text))
		}
	}
	r.AddAttrs(slog.String(AuditResult, code.String()))
	if more > 0 {
		r.AddAttrs(slog.Int(AuditMore, more))
	}
	t.note(t.to.Handle(context.Background(), r))
}

// note logs when records begin to be lost, and when they can be written again.
func (t *Trail) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.failed
	if t.failed = ""; err != nil {
		t.failed = err.Error()
	}
	switch {
	case t.failed != "" && was == "":
		t.log.Error("the audit trail cannot be written", "error", err)
	case t.failed == "" && was != "":
		t.log.Info("the audit trail is written again")
	}
}

// problem returns why the trail is not written, or "" if it is.
func (t *Trail) problem() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == "" {
		return ""
	}
	return "audit trail: " + t.failed
}

// who returns the attributes of a caller.
func (c *Caller) who() []slog.Attr {
	return []slog.Attr{
		slog.String(AuditUser, auditText(c.Name)), slog.String(AuditRole, string(c.Role)),
		slog.String(AuditFrom, auditText(c.From)), slog.String(AuditTransport, c.Transport),
	}
}

func auditText(text string) string { return tree.Cut(printable.Line(text), maxAuditText) }

// Did records an action of a caller and its result, which may be a refusal.
func (t *Trail) Did(ctx context.Context, operation string, paths []string, input string, err error) {
	if t.to == nil {
		return
	}
	st := status.Convert(err)
	attrs := append(CallerOf(ctx).who(), slog.String(AuditOperation, operation))
	if len(paths) > 0 {
		attrs = append(attrs, slog.Any(AuditPaths, paths))
	}
	reason := tree.Cut(printable.Line(st.Message()), maxAuditReason)
	attrs = append(attrs, slog.String(AuditInput, auditText(input)), slog.String(AuditReason, reason))
	t.write(st.Code(), attrs...)
}

// login records a refused login.
func (t *Trail) login(cred Credentials, why string) {
	c := Caller{Name: cred.Name, From: cred.From, Transport: cred.Transport}
	t.write(codes.Unauthenticated, append(c.who(), slog.String(AuditOperation, "login"), slog.String(AuditReason, why))...)
}

// auditReread records that files were read again, or were refused.
func (g *Guard) auditReread(what string, err error) {
	attrs := []slog.Attr{slog.String(AuditTransport, "process"), slog.String(AuditOperation, "reload of "+what)}
	code := codes.OK
	if err != nil {
		code = codes.InvalidArgument
		attrs = append(attrs, slog.String(AuditReason, tree.Cut(printable.Line(err.Error()), maxAuditReason)))
	}
	g.Trail.write(code, attrs...)
}

// Denied records a refused access; other errors are not recorded.
func (t *Trail) Denied(ctx context.Context, operation string, prefix *gpb.Path, paths []*gpb.Path, err error) {
	if status.Code(err) != codes.PermissionDenied {
		return
	}
	var texts []string
	for _, p := range paths {
		texts = append(texts, auditPath("", prefix, p))
	}
	t.Did(ctx, operation, summary(texts), "", err)
}

// auditPath returns a path of a request in the form of the trail.
func auditPath(mark string, prefix, p *gpb.Path) string {
	text := tree.PathText(&gpb.Path{Elem: slices.Concat(prefix.GetElem(), p.GetElem())})
	if origin := strings.Join([]string{prefix.GetOrigin(), p.GetOrigin()}, ""); origin != "" {
		text = origin + ":" + text
	}
	return mark + auditText(text)
}

// SetPaths returns the paths that a Set changes.
func SetPaths(req *gpb.SetRequest) []string {
	n := len(req.GetDelete()) + len(req.GetReplace()) + len(req.GetUpdate()) + len(req.GetUnionReplace())
	texts := make([]string, 0, min(n, maxAuditPaths)+1)
	add := func(mark string, p *gpb.Path) {
		if len(texts) < maxAuditPaths {
			texts = append(texts, auditPath(mark, req.GetPrefix(), p))
		}
	}
	for _, p := range req.GetDelete() {
		add("-", p)
	}
	for _, u := range req.GetReplace() {
		add("=", u.GetPath())
	}
	for _, u := range slices.Concat(req.GetUpdate(), req.GetUnionReplace()) {
		add("", u.GetPath())
	}
	if more := n - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

// summary returns the first paths, and the number of further ones.
func summary(texts []string) []string {
	if more := len(texts) - maxAuditPaths; more > 0 {
		return append(texts[:maxAuditPaths:maxAuditPaths], fmt.Sprintf("and %d more", more))
	}
	return texts
}
