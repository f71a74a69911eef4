package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"os/user"
	"strconv"
	"sync"

	"tamtam/internal/printable"
	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// overGNMI is the protocol of callers by gRPC.
const overGNMI = "gNMI"

// Tap checks an RPC when only its header has arrived. It authenticates the caller, and refuses the RPC if its source
// has too many calls. So the server stores no messages of unauthenticated clients.
func (g *Guard) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx)
	leave := func() {}
	if p != nil {
		var err error
		if leave, err = g.calls.enter(p.Addr, info.FullMethodName == gpb.GNMI_Subscribe_FullMethodName); err != nil {
			return ctx, err
		}
	}
	c, err := g.authenticate(info.Header, p, info.FullMethodName)
	if err != nil {
		leave()
		return ctx, err
	}
	context.AfterFunc(ctx, leave) // the call is counted until the RPC ends
	return WithCaller(ctx, c), nil
}

// authenticate returns the caller of an RPC: a local peer on the unix socket, a user with password, or the user of the
// client's certificate.
func (g *Guard) authenticate(md metadata.MD, p *peer.Peer, method string) (Caller, error) {
	cred := Credentials{Transport: overGNMI, Asks: method}
	cred.Name, _ = only(md, "username")
	cred.Password, cred.Given = only(md, "password")
	if p != nil {
		if p.Addr != nil {
			cred.From = p.Addr.String()
		}
		switch info := p.AuthInfo.(type) {
		case unixPeer:
			return g.loginLocal(info, cred)
		case credentials.TLSInfo:
			cred.TLS = &info.State
		}
	}
	return g.Login(cred)
}

// loginLocal returns the caller at the unix socket. Root and the server's own user are admin, or any user whose name
// they give. Any other local process acts as the user with the name of its Unix user.
func (g *Guard) loginLocal(p unixPeer, cred Credentials) (Caller, error) {
	own, a := p.own(), g.accounts.get()
	cred.Given = cred.Given && cred.Password != "" // clients send an empty password with the name
	cred.From, cred.Transport = p.String(), "unix socket"
	if own && len(a.list) == 0 {
		cred.Name, cred.Given = "", false // every client is admin anyway
	}
	switch {
	case cred.Given:
		return g.Login(cred)
	case own && cred.Name == "":
		return Caller{Name: p.String(), Role: access.Admin, From: cred.From, Transport: cred.Transport}, nil
	case !own:
		cred.Name = p.name()
	}
	if u, ok := a.users[cred.Name]; ok {
		return a.caller(u, cred), nil
	}
	return Caller{}, g.refuseLogin(cred, "there is no such user")
}

// own reports whether a local process belongs to root or to the server's own user.
func (p unixPeer) own() bool { return p.uid == 0 || p.uid == ownUID() }

// name returns the user name of a local process, or "" if it has none.
func (p unixPeer) name() string {
	u, err := user.LookupId(strconv.FormatUint(uint64(p.uid), 10))
	if err != nil {
		return ""
	}
	return u.Username
}

// Credentials holds a caller's claimed identity, and its proof.
type Credentials struct {
	Name, Password string
	Given          bool                 // true if there is a password
	TLS            *tls.ConnectionState // TLS state of the connection; nil without TLS
	From           string               // source address
	Transport      string               // the protocol, for example gNMI
	Asks           string               // the requested method
}

// Login returns the caller by name and password, or by the name in a verified client certificate.
func (g *Guard) Login(cred Credentials) (Caller, error) {
	cred.Given = cred.Given && cred.Password != ""
	proven, chain, err := g.proven(cred.TLS)
	if err != nil {
		return Caller{}, g.refuseLogin(cred, "the client's certificate is not accepted: "+err.Error())
	}
	a := g.accounts.get()
	if len(a.list) == 0 {
		c := Caller{Name: "anonymous", Role: access.Admin, From: cred.From, Transport: cred.Transport, chain: chain}
		if proven != "" {
			c.Name = proven
		}
		return c, nil
	}
	byCertificate := !cred.Given && proven != ""
	if cred.Name == "" {
		cred.Name = proven
	}
	u, known := a.users[cred.Name]
	switch {
	case cred.Name == "":
		return Caller{}, g.refuseLogin(cred, "user name and password are missing")
	case byCertificate && known && proven == u.Name:
	case cred.Given && a.right(u, known, cred.Password):
	default:
		return Caller{}, g.refuseLogin(cred, "user or password is wrong")
	}
	c := a.caller(u, cred)
	c.chain = chain
	if !byCertificate {
		c.stored = u.Password
	}
	return c, nil
}

// refuseLogin returns the error of a refused login, and logs it.
func (g *Guard) refuseLogin(cred Credentials, why string) error {
	// Health checks call this every few seconds without credentials, which is no attempt to log in.
	if cred.Name != "" || cred.Given || cred.Asks != gpb.GNMI_Capabilities_FullMethodName {
		g.log.Warn(cred.Transport+" login refused", "user", tree.Cut(printable.Line(cred.Name), tree.MaxShown),
			"method", cred.Asks, "peer", cred.From)
		g.Trail.login(cred, why)
	}
	return status.Error(codes.Unauthenticated, why)
}

// caller returns the caller for a user that has logged in.
func (a *accounts) caller(u access.User, cred Credentials) Caller {
	return Caller{
		Name: u.Name, Role: u.Role, From: cred.From, Transport: cred.Transport, View: a.views[u.Role], user: true,
	}
}

// only returns the single value of a metadata key.
func only(md metadata.MD, key string) (string, bool) {
	if v := md.Get(key); len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// passwords checks passwords. A bcrypt hash is slow on purpose, and clients send the password with every RPC. So
// correct ones are remembered, as long as the accounts do not change.
type passwords struct {
	hashing sync.Mutex // permits one hash at a time, so that guessing uses one core at most
	mu      sync.Mutex
	good    map[access.User][sha256.Size]byte
}

// right reports whether got is the user's password. For an unknown user the check takes as long as for a known one.
func (a *accounts) right(u access.User, known bool, got string) bool {
	if !known {
		u = a.list[0]
		for _, o := range a.list {
			if o.Hashed() {
				u = o
				break
			}
		}
		u.Name = ""
	}
	return a.proof.same(u, got) && known
}

// same reports whether got is the user's password.
func (p *passwords) same(u access.User, got string) bool {
	sum := sha256.Sum256([]byte(got))
	if !u.Hashed() {
		want := sha256.Sum256([]byte(u.Password))
		return subtle.ConstantTimeCompare(want[:], sum[:]) == 1
	}
	p.mu.Lock()
	good, ok := p.good[u]
	p.mu.Unlock()
	// a known password need not wait while other clients guess
	if ok && subtle.ConstantTimeCompare(good[:], sum[:]) == 1 {
		return true
	}
	p.hashing.Lock()
	err := bcrypt.CompareHashAndPassword([]byte(u.Password), []byte(got))
	p.hashing.Unlock()
	if err != nil || u.Name == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.good == nil {
		p.good = map[access.User][sha256.Size]byte{}
	}
	p.good[u] = sum
	return true
}
