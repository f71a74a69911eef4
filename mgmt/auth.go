package mgmt

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"sync"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	name, err := s.authorize(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(WithUser(ctx, name), req)
}

func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if _, err := s.authorize(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, ss)
}

// authorize checks one RPC: who the caller is, then what the caller may do.
func (s *Server) authorize(ctx context.Context, method string) (name string, err error) {
	name, role, err := s.authenticate(ctx)
	if err != nil {
		s.log.Warn("gNMI login refused", "user", name, "method", method, "peer", peerAddr(ctx))
		return name, err
	}
	if method == gpb.GNMI_Set_FullMethodName && role != RoleAdmin {
		return name, status.Errorf(codes.PermissionDenied, "user %s is %s: Set needs %s", name, role, RoleAdmin)
	}
	return name, nil
}

// authenticate finds the user of an RPC: a local peer on the unix socket, a
// name with its password, or a name that the client's certificate proves.
func (s *Server) authenticate(ctx context.Context) (name string, role Role, err error) {
	p, _ := peer.FromContext(ctx)
	if p != nil {
		if local, ok := p.AuthInfo.(unixPeer); ok {
			return local.String(), RoleAdmin, nil
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	name, _ = only(md, "username")
	password, given := only(md, "password")
	return s.Login(Credentials{name, password, given, certificateName(p)})
}

// Credentials are what a caller says to be, and what proves it.
type Credentials struct {
	Name, Password string
	Given          bool   // there is a password
	Proven         string // common name of the client's certificate, which was verified; "": there is none
}

// Login finds a user: by name and password, or by the name that a client certificate proves. The error has the code
// Unauthenticated.
func (s *Server) Login(c Credentials) (name string, role Role, err error) {
	if len(s.cfg.Users) == 0 {
		return "anonymous", RoleAdmin, nil
	}
	if name = c.Name; name == "" {
		name = c.Proven
	}
	if name == "" {
		return "", "", status.Error(codes.Unauthenticated, "user name and password are missing")
	}
	i := slices.IndexFunc(s.cfg.Users, func(u User) bool { return u.Name == name })
	if i < 0 {
		s.passwords.same(User{Password: s.cfg.Users[0].Password}, c.Password) // takes as long as for a user that exists
		return name, "", status.Error(codes.Unauthenticated, "user or password is wrong")
	}
	u := s.cfg.Users[i]
	if !c.Given && c.Proven == u.Name || c.Given && s.passwords.same(u, c.Password) {
		return u.Name, u.Role, nil
	}
	return name, "", status.Error(codes.Unauthenticated, "user or password is wrong")
}

// only is the single value of a metadata key.
func only(md metadata.MD, key string) (string, bool) {
	if v := md.Get(key); len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// passwords checks passwords. A bcrypt hash takes long on purpose, and clients send the password
// with every RPC, so correct passwords are remembered.
type passwords struct {
	mu   sync.Mutex // one hash at a time, so that guessing takes one core at most
	good map[string][sha256.Size]byte
}

// hashed reports whether a password of the users' file is a bcrypt hash.
func hashed(password string) bool {
	return strings.HasPrefix(password, "$2a$") || strings.HasPrefix(password, "$2b$") ||
		strings.HasPrefix(password, "$2y$")
}

// same reports whether got is the user's password.
func (p *passwords) same(u User, got string) bool {
	sum := sha256.Sum256([]byte(got))
	if !hashed(u.Password) {
		want := sha256.Sum256([]byte(u.Password))
		return subtle.ConstantTimeCompare(want[:], sum[:]) == 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if good, ok := p.good[u.Name]; ok && subtle.ConstantTimeCompare(good[:], sum[:]) == 1 {
		return true
	}
	if bcrypt.CompareHashAndPassword([]byte(u.Password), []byte(got)) != nil || u.Name == "" {
		return false
	}
	if p.good == nil {
		p.good = map[string][sha256.Size]byte{}
	}
	p.good[u.Name] = sum
	return true
}

// certificateName is the common name of a client certificate that was
// verified; empty: there is none.
func certificateName(p *peer.Peer) string {
	if p == nil {
		return ""
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return ""
	}
	return info.State.VerifiedChains[0][0].Subject.CommonName
}

func peerAddr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}
