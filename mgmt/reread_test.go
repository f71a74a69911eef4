package mgmt

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/internal/racetest"
	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// A filed is a server whose users and roles are in files, with a clock that the test moves.
type filed struct {
	*bed
	users, roles string
	now          *atomic.Int64 // in ns since 1970
	trail        *bytes.Buffer
}

func newFiled(t *testing.T) *filed {
	dir := t.TempDir()
	f := &filed{
		users: filepath.Join(dir, "users"), roles: filepath.Join(dir, "roles"), now: &atomic.Int64{}, trail: &bytes.Buffer{},
	}
	f.now.Store(1_700_000_000e9)
	f.write(t, f.users, "root:p:admin\nu:p:r\n")
	f.write(t, f.roles, "r read /tam\n")
	f.bed = newBed(t, func(c *Config) {
		c.UsersFile, c.RolesFile, c.Insecure, c.Addr = f.users, f.roles, false, ""
		c.Clock, c.Audit = func() time.Time { return time.Unix(0, f.now.Load()) }, slog.NewJSONHandler(f.trail, nil)
	})
	return f
}

func (f *filed) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.now.Add(int64(2 * time.Second))
}

func (f *filed) login(name, password string) error {
	_, err := f.server.guard.Login(auth.Credentials{Name: name, Password: password, Given: true, Transport: "gNMI"})
	return err
}

// Changed files are in force at the next request. An invalid file is not in force, and the server reports that.
func TestFilesReadAgain(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	f := newFiled(t)
	hash, err := access.NewUser("u", "new", "r")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.login("u", "p"); err != nil {
		t.Fatal(err)
	}
	ctx := f.as("u") // with the present rights
	f.write(t, f.users, "root:p:admin\n"+hash.Line()+"\n")
	if f.login("u", "new") != nil || f.login("u", "new") != nil || f.login("u", "p") == nil {
		t.Error("the new password is not in force")
	}
	again, err := access.NewUser("u", "newer", "r")
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, f.users, "root:p:admin\n"+again.Line()+"\n")
	if f.login("u", "newer") != nil || f.login("u", "new") == nil {
		t.Error("a password that was verified before still counts")
	}
	for _, broken := range []string{"root:p", "root:p:admin\nu:p:other\n", "", "root:p:admin\nroot:q:admin\n"} {
		f.write(t, f.users, broken)
		if f.login("root", "p") != nil || f.login("u", "newer") != nil {
			t.Errorf("%q is in force", broken)
		}
		if reported := strings.Join(f.server.Troubles(), "; "); !strings.Contains(reported, f.users) ||
			!strings.Contains(reported, "stays in force") {
			t.Errorf("%q: told is %q", broken, reported)
		}
	}
	if err := os.Remove(f.users); err != nil {
		t.Fatal(err)
	}
	f.write(t, f.roles, "r none /\n")
	if f.login("u", "newer") != nil || len(f.server.Troubles()) == 0 {
		t.Error("without the file nobody, or everybody, is let in")
	}
	f.write(t, f.users, "root:p:admin\nu:p:r\n")
	if f.login("u", "p") != nil || len(f.server.Troubles()) != 0 {
		t.Errorf("mended: %v", f.server.Troubles())
	}
	_, err = f.server.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{path("/tam")}})
	if status.Code(err) == codes.PermissionDenied {
		t.Errorf("a request that runs keeps its rights: %v", err)
	}
	_, err = f.server.Get(f.as("u"), &gpb.GetRequest{Path: []*gpb.Path{path("/tam")}})
	wantErr(t, err, "PermissionDenied", "/tam", "role r")
}

// Sessions of a user end if the user is removed or has another password. A user with other rights must subscribe again.
func TestSessionsEnd(t *testing.T) {
	for _, tt := range []struct{ name, users, roles, want string }{
		{"removed", "root:p:admin\n", "r read /tam\n", "Unauthenticated"},
		{"another password", "root:p:admin\nu:q:r\n", "r read /tam\n", "Unauthenticated"},
		{"another role", "root:p:admin\nu:p:operator\n", "r read /tam\n", "Unavailable"},
		{"other lines", "root:p:admin\nu:p:r\n", "r read /tam/samplers\n", "Unavailable"},
		{"as before", "# x\nroot:p:admin\nu:p:r\n", "# y\nr read /tam\n", "Canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFiled(t)
			ctx, cancel := context.WithCancelCause(f.as("u"))
			defer cancel(nil)
			ctx, leave := f.server.guard.Attend(ctx)
			defer leave()
			f.write(t, f.roles, tt.roles)
			f.write(t, f.users, tt.users)
			if stays := f.server.guard.EndSessions(); stays != (tt.want == "Canceled") {
				t.Errorf("the session is there: %v", stays)
			}
			cancel(context.Canceled)
			<-ctx.Done()
			if got := status.FromContextError(context.Cause(ctx)); tt.want == "Canceled" && got.Code() != codes.Canceled {
				t.Errorf("ended by %v", context.Cause(ctx))
			}
			if tt.want != "Canceled" {
				wantErr(t, context.Cause(ctx), tt.want)
			}
		})
	}
}

// A Subscribe ends with the reason when its user is no longer admitted.
func TestSubscribeOfRemovedUser(t *testing.T) {
	f := newFiled(t)
	f.rows(someSwitch())
	rpc := &quiet{ctx: f.as("u"), list: listOf(gpb.SubscriptionList_STREAM,
		subOf(onChange, "/tam/flowgroups/flowgroup[name=*]/config"))}
	ended := make(chan error, 1)
	go func() { ended <- f.server.Subscribe(rpc) }()
	f.write(t, f.users, "root:p:admin\n")
	wantErr(t, <-ended, "Unauthenticated", "user u is not there any more")
}

// A quiet client of Subscribe accepts all messages.
type quiet struct {
	gpb.GNMI_SubscribeServer
	ctx  context.Context
	list *gpb.SubscriptionList
}

func (q *quiet) Context() context.Context { return q.ctx }

func (q *quiet) Send(*gpb.SubscribeResponse) error { return nil }

func (q *quiet) Recv() (*gpb.SubscribeRequest, error) {
	if list := q.list; list != nil {
		q.list = nil
		return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}, nil
	}
	<-q.ctx.Done()
	return nil, q.ctx.Err()
}

// The CA of client certificates is read again. Certificates of another CA are then refused, on open connections too.
func TestClientCAReadAgain(t *testing.T) {
	now := time.Now()
	dir, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	certs := map[string]tls.Certificate{"first": clientCert(t, first, "root", now),
		"second": clientCert(t, second, "root", now)}
	file := filepath.Join(dir, "clients.pem")
	use := func(from string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(from, "ca.pem"))
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	use(first)
	var later atomic.Int64 // offset from now
	b := newBed(t, func(c *Config) {
		c.Insecure, c.Dir, c.ClientCAFile, c.Users = false, dir, file, staff[:1]
		c.Clock = func() time.Time { return now.Add(time.Duration(later.Load())) }
	})
	lookAgain := func() { later.Add(int64(2 * time.Second)) } // the next request looks at the file again
	clients := map[string]gpb.GNMIClient{}
	for name, cert := range certs {
		conf := trust(t, dir)
		conf.Certificates = []tls.Certificate{cert}
		clients[name] = b.dial(grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	}
	if err := capabilities(b, clients["first"]); err != nil {
		t.Fatal(err)
	}
	wantErr(t, capabilities(b, clients["second"]), "Unavailable")
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookAgain()
	if err := capabilities(b, clients["first"]); err != nil {
		t.Errorf("a broken file is in force: %v", err)
	}
	if got := strings.Join(b.server.Troubles(), "; "); !strings.Contains(got, "client CA: no certificate in "+file) {
		t.Errorf("told is %q", got)
	}
	use(second)
	lookAgain()
	wantErr(t, capabilities(b, clients["first"]), "Unauthenticated", "not accepted")
	conf := trust(t, dir)
	conf.Certificates = []tls.Certificate{certs["second"]}
	if err := capabilities(b, b.dial(grpc.WithTransportCredentials(credentials.NewTLS(conf)))); err != nil {
		t.Error(err)
	}
	// A certificate is not served without its key.
	shown := func() []byte {
		t.Helper()
		conn, err := tls.Dial("tcp", b.server.Addr(), conf)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Raw
	}
	before := shown()
	if err := os.WriteFile(filepath.Join(dir, "server.key"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookAgain()
	if !bytes.Equal(shown(), before) || !strings.Contains(strings.Join(b.server.Troubles(), "; "), "certificate: ") {
		t.Errorf("told is %q", b.server.Troubles())
	}
}
