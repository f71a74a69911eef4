package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// staff holds users of each role.
var staff = []access.User{
	{Name: "root", Password: "p", Role: access.Admin}, {Name: "op", Password: "p", Role: access.Operator},
	{Name: "guest", Password: "p", Role: access.ReadOnly}, {Name: "u", Password: "p", Role: "r"},
}

// as returns the context of a request of a user of the staff.
func (b *bed) as(name string) context.Context {
	b.t.Helper()
	c, err := b.server.guard.Login(auth.Credentials{Name: name, Password: "p", Given: true, Transport: "gNMI",
		From: "192.0.2.1:1"})
	if err != nil {
		b.t.Fatal(err)
	}
	return auth.WithCaller(b.ctx, c)
}

// staffed returns a server with the staff, on which u has the rights that the lines grant.
func staffed(t *testing.T, lines string, edit ...func(*Config)) *bed {
	dir := t.TempDir()
	b := newBed(t, func(c *Config) {
		c.Users, c.Roles, c.Keep = staff, "r none /\n"+lines, dir
		for _, f := range edit {
			f(c)
		}
	})
	b.rows(someSwitch())
	return b
}

// The built-in roles, and a role with a small number of lines, may do what they should and no more.
func TestRoles(t *testing.T) {
	b := staffed(t, "r write /tam/samplers\nr write /tam/collectors/collector[name=c1]\nr read sonic-db:/STATE_DB\n")
	b.rows(map[string]string{
		"CONFIG_DB TACPLUS_SERVER|h":       "passkey=secret",
		"CONFIG_DB DEVICE_METADATA|global": "hostname=sw",
	})
	raw := func(db, table string) *gpb.Path {
		return &gpb.Path{Origin: tree.RawOrigin, Elem: []*gpb.PathElem{{Name: db}, {Name: "localhost"}, {Name: table}}}
	}
	get := func(p *gpb.Path) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.server.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{p}})
			return err
		}
	}
	set := func(reqs ...*gpb.SetRequest) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			for _, req := range reqs {
				_, e := b.server.Set(ctx, req)
				err = errors.Join(err, e)
			}
			return err
		}
	}
	row := func(table, key string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{update("/config-rows/row[table="+table+"][key="+key+"]/config/field",
			`["a=b"]`)}}
	}
	collector := func(name string) []*gpb.SetRequest {
		at := "/tam/collectors/collector[name=" + name + "]"
		return []*gpb.SetRequest{
			{Update: []*gpb.Update{update(at+"/config", `{"ip":"10.0.0.1","port":1}`)}}, {Delete: []*gpb.Path{path(at)}},
		}
	}
	const yes, no = codes.OK, codes.PermissionDenied
	for _, tt := range []struct {
		what            string
		do              func(context.Context) error
		guest, op, u, r codes.Code
	}{
		{"the tree", get(path("/tam/flowgroups")), yes, yes, no, yes},
		{"samplers, of which there are none", get(path("/tam/samplers")), codes.NotFound, codes.NotFound, codes.NotFound,
			codes.NotFound},
		{"rows as they are", get(path("/config-rows/row[table=TACPLUS_SERVER][key=h]")), no, yes, no, yes},
		{"derived tables", get(raw("STATE_DB", "TAM_STATE_FLOWGROUP_TABLE")), yes, yes, yes, yes},
		{"a derived row by its key", get(raw("STATE_DB", "TAM_STATE_FLOWGROUP_TABLE|f1")), yes, yes, yes, yes},
		{"counters as they are", get(raw("COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")), yes, yes, no, yes},
		{"configured tables", get(raw("CONFIG_DB", "PORT")), no, yes, no, yes},
		{"a configured row by its key", get(raw("CONFIG_DB", "TACPLUS_SERVER|h")), no, yes, no, yes},
		{"a feature", set(collector("c1")...), no, yes, yes, yes},
		{"another entry", set(collector("c2")...), no, yes, no, yes},
		{"an empty Set", set(&gpb.SetRequest{}), no, yes, yes, yes},
		{"the machine", set(&gpb.SetRequest{Update: []*gpb.Update{update("/system/config/hostname", `"x"`)}}), no, no, no,
			yes},
		{"a row of the switch", set(row("SCHEDULER", "s")), no, codes.InvalidArgument, no, codes.InvalidArgument},
		{"a row of another daemon", set(row("TACPLUS_SERVER", "x")), no, no, no, yes},
		{"all of a list", set(&gpb.SetRequest{Delete: []*gpb.Path{path("/tam/collectors/collector[name=*]")}}), no, yes, no,
			yes},
		{"the whole tree", set(&gpb.SetRequest{Replace: []*gpb.Update{update("/", `{}`)}}), no, no, no, yes},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for name, want := range map[string]codes.Code{"guest": tt.guest, "op": tt.op, "u": tt.u, "root": tt.r} {
				before := b.config()
				err := tt.do(b.as(name))
				if status.Code(firstOf(err)) != want {
					t.Errorf("%s: %v, want %s", name, err, want)
				}
				if want == no && b.config() != before {
					t.Errorf("%s: CONFIG_DB changed", name)
				}
				if want == no && strings.Contains(fmt.Sprint(err), "secret") {
					t.Errorf("%s is told the secret: %v", name, err)
				}
			}
		})
	}
}

// firstOf returns the first of joined errors.
func firstOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// Operations are granted by name. Replacing the configuration requires the right to write the rows that differ.
func TestRolesOfOperations(t *testing.T) {
	b := staffed(t, "r write /operations/clear-counters\nr read /operations/copy\n")
	do := func(name, operation, input string) codes.Code {
		t.Helper()
		_, err := b.server.Operate(b.as(name), operation, []byte(input))
		return status.Code(err)
	}
	for _, tt := range []struct {
		name, operation, input string
		want                   codes.Code
	}{
		{"guest", "clear-counters", `{"kind":"all"}`, codes.PermissionDenied},
		{"guest", "commit", `{}`, codes.PermissionDenied},
		{"u", "clear-counters", `{"kind":"all"}`, codes.OK},
		{"u", "commit", `{}`, codes.PermissionDenied},
		{"u", "copy", `{"source":"running","destination":"startup"}`, codes.PermissionDenied},
		{"op", "clear-counters", `{"kind":"all"}`, codes.OK},
		{"op", "copy", `{"source":"running","destination":"startup"}`, codes.OK},
		{"op", "copy", `{"source":"startup","destination":"running"}`, codes.OK},
	} {
		if got := do(tt.name, tt.operation, tt.input); got != tt.want {
			t.Errorf("%s by %s: %s, want %s", tt.operation, tt.name, got, tt.want)
		}
	}
	const back = `{"source":"startup","destination":"running"}`
	sampler := &gpb.SetRequest{Update: []*gpb.Update{update("/tam/samplers/sampler[name=s]/config/sampling-rate", "1")}}
	if _, err := b.server.Set(b.as("op"), sampler); err != nil {
		t.Fatal(err)
	}
	if got := do("op", "copy", back); got != codes.OK || b.row("TAM_SAMPLINGRATE_TABLE|s") != "" {
		t.Errorf("the operator takes his own change back: %s", got)
	}
	b.rows(map[string]string{"CONFIG_DB TACPLUS_SERVER|h": "passkey=secret"})
	if got := do("op", "copy", back); got != codes.PermissionDenied || b.row("TACPLUS_SERVER|h") == "" {
		t.Errorf("the operator takes another's row away: %s", got)
	}
	if got := do("root", "copy", back); got != codes.OK || b.row("TACPLUS_SERVER|h") != "" {
		t.Errorf("the administrator takes it away: %s", got)
	}
}

// An error does not name objects that the role may not see.
func TestErrorsHide(t *testing.T) {
	b := staffed(t, "r write /tam/flowgroups\nr write /tam/collectors\nr write /interfaces/interface[name=Ethernet0]\n")
	_, err := b.server.Set(b.as("u"), &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]")}})
	wantErr(t, err, "FailedPrecondition", "in use by "+tree.Hidden)
	if strings.Contains(err.Error(), "s1") {
		t.Errorf("the session is named: %v", err)
	}
	_, err = b.server.Set(b.as("op"), &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]")}})
	wantErr(t, err, "FailedPrecondition", "in use by tailstamping-session s1")
	// Breakout creates and removes other interfaces.
	_, err = b.server.Set(b.as("u"), &gpb.SetRequest{Update: []*gpb.Update{
		update("/interfaces/interface[name=Ethernet0]/breakout/config", `{"mode":"4x25G"}`)}})
	if status.Code(err) == codes.OK {
		t.Error("the role has made other interfaces")
	}
}

// A gNMI RPC without an authenticated caller may do nothing.
func TestUnauthenticatedCaller(t *testing.T) {
	b := staffed(t, "")
	_, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path("/tam")}})
	wantErr(t, err, "Unauthenticated")
	v := (&rights.View{Role: "none"})
	if v.Some(b.server.model.Root, nil, access.Read) || v.Anything(b.server.model) || v.May("commit") == nil {
		t.Error("nobody may something")
	}
}

// Lines without meaning are refused at the start, with their number and the valid nodes.
func TestWrongRoles(t *testing.T) {
	redis := newBed(t, nil).redis
	for _, tt := range []struct{ lines, want string }{
		{"r read /tam/nothing", "line 1: /tam/nothing: /tam has no node \"nothing\"; it has"},
		{"r read /tam/samplers/sampler[size=1]", "has no key"},
		{"r read cli:/x", `there is no origin "cli"`},
		{"r write sonic-db:/CONFIG_DB", "want none or read"},
		{"r read sonic-db:/SOME_DB", "there is no database"},
		{"r read sonic-db:/CONFIG_DB/PORT/Ethernet0", "want none or read of sonic-db:/DATABASE/TABLE"},
		{"x read /", "user u: there is no role"},
	} {
		_, err := NewServer(Config{Redis: redis, Users: staff, Roles: tt.lines})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.lines, err, tt.want)
		}
	}
}

// The trail contains one record per action: the user, address, action, paths and result, but no value.
func TestTrail(t *testing.T) {
	f := newFiled(t)
	f.rows(someSwitch())
	records := func() (all []map[string]any) {
		for line := range strings.Lines(f.trail.String()) {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, r)
		}
		f.trail.Reset()
		return all
	}
	want := func(what string, wants ...string) {
		t.Helper()
		got := records()
		if len(got) != 1 {
			t.Fatalf("%s: %d records, want one: %v", what, len(got), got)
		}
		for _, w := range wants {
			if key, value, _ := strings.Cut(w, "="); fmt.Sprint(got[0][key]) != value {
				t.Errorf("%s: %s is %v, want %s", what, key, got[0][key], value)
			}
		}
	}
	who := []string{"msg=audit", "user=root", "role=admin", "from=192.0.2.1:1", "transport=gNMI"}
	_, err := f.server.Set(f.as("root"), &gpb.SetRequest{
		Delete: []*gpb.Path{path("/tam/tailstamping-sessions/tailstamping-session[name=s1]")},
		Update: []*gpb.Update{update("/system/config/hostname", `"s3cret"`)},
	})
	if err != nil || strings.Contains(f.trail.String(), "s3cret") {
		t.Errorf("%v: %s", err, f.trail)
	}
	want("a Set", append(who, "operation=set", "result=OK", "level=INFO",
		"paths=[-/tam/tailstamping-sessions/tailstamping-session[name=s1] /system/config/hostname]")...)
	_, _ = f.server.Set(f.as("u"), &gpb.SetRequest{Update: []*gpb.Update{update("/system/config/hostname", `"s3cret"`)}})
	want("one that is refused", "user=u", "role=r", "operation=set", "result=PermissionDenied", "level=WARN",
		"paths=[/system/config/hostname]")
	_, _ = f.server.Get(f.as("u"), &gpb.GetRequest{Path: []*gpb.Path{path("/system")}})
	want("an access that is refused", "operation=get", "paths=[/system]", "result=PermissionDenied")
	_, _ = f.server.Operate(f.as("root"), "clear-counters", []byte(`{"kind":"all"}`))
	want("an operation", "operation=clear-counters", `input={"kind":"all"}`, "result=OK")
	_ = f.login("u", "s3cret")
	want("a login", "user=u", "operation=login", "result=Unauthenticated", "reason=user or password is wrong")
	_, _ = f.server.Get(f.as("root"), &gpb.GetRequest{Path: []*gpb.Path{path("/tam")}})
	if got := records(); len(got) > 0 {
		t.Errorf("what is only read: %v", got)
	}
	f.write(t, f.users, "root:p:admin\n")
	_ = f.login("root", "p")
	want("files read again", "operation=reload of users and roles", "result=OK")
	const refusals = 20 // per second
	for range 3 * refusals {
		_ = f.login("root", "wrong")
	}
	if got := records(); len(got) != refusals {
		t.Errorf("%d records of one second, want %d", len(got), refusals)
	}
	f.now.Add(int64(time.Second))
	_ = f.login(strings.Repeat("x", 100000)+"\n", "wrong")
	text := f.trail.String()
	want("the next second", fmt.Sprintf("more=%d", 2*refusals))
	if len(text) > 1000 {
		t.Errorf("a record has %d bytes", len(text))
	}
}

// Without a login the server listens on this machine only, unless configured otherwise.
func TestListensForWhom(t *testing.T) {
	for _, tt := range []struct {
		addr  string
		local bool
	}{
		{"localhost:1", true}, {"127.0.0.1:1", true}, {"127.9.9.9:1", true}, {"[::1]:1", true},
		{"[::ffff:127.0.0.1]:1", true},
		{":1", false}, {"0.0.0.0:1", false}, {"[::]:1", false}, {"192.0.2.1:1", false}, {"switch1:1", false},
		{"localhost.example:1", false},
		{"nonsense", false},
	} {
		if got := auth.Local(tt.addr); got != tt.local {
			t.Errorf("%s is local: %v", tt.addr, got)
		}
		err := Config{}.MayListen(tt.addr)
		if (err == nil) != tt.local || err != nil && !strings.Contains(err.Error(), "--users") {
			t.Errorf("%s: %v", tt.addr, err)
		}
		for _, c := range []Config{{NoLogin: true}, {Users: staff}, {UsersFile: "f"}, {ClientCAFile: "f"}} {
			if err := c.MayListen(tt.addr); err != nil {
				t.Errorf("%s: %v", tt.addr, err)
			}
		}
	}
	b := newBed(t, nil)
	for _, c := range []Config{{Addr: ":0", Insecure: true}, {Addr: "127.0.0.1:0", Insecure: true, NoLogin: true,
		ClientCAFile: "x"}} {
		c.Redis = b.redis
		if s, err := NewServer(c); err == nil {
			s.Close()
			t.Errorf("%+v is accepted", c)
		}
	}
	ls, err := auth.Listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ls {
		if !auth.Local(l.Addr().String()) || l.Addr().String()[strings.LastIndex(l.Addr().String(), ":"):] !=
			ls[0].Addr().String()[strings.LastIndex(ls[0].Addr().String(), ":"):] {
			t.Errorf("localhost is %s, beside %s", l.Addr(), ls[0].Addr())
		}
		l.Close()
	}
}

// At the unix socket the server's own user is admin, or the named user.
func TestSocketAsUser(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	b := newBed(t, func(c *Config) {
		c.Users, c.Roles, c.Socket, c.Addr, c.Insecure = staff, "r read /tam\n", socket, "", false
	})
	client := dialSocket(t, socket)
	for _, tt := range []struct {
		md   []string
		code string
	}{
		{nil, "OK"},
		{[]string{"username", "op"}, "PermissionDenied"},
		{[]string{"username", "root", "password", ""}, "OK"},
		{[]string{"username", "op", "password", "wrong"}, "Unauthenticated"},
		{[]string{"username", "root", "password", "p"}, "OK"},
		{[]string{"username", "stranger"}, "Unauthenticated"},
	} {
		_, err := client.Set(metadata.AppendToOutgoingContext(b.ctx, tt.md...),
			&gpb.SetRequest{Update: []*gpb.Update{update("/system/config/hostname", `"x"`)}})
		if status.Code(err).String() != tt.code {
			t.Errorf("%v: %v, want %s", tt.md, err, tt.code)
		}
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v: want a socket for all, of whom only users are let in", info.Mode(), err)
	}
}

// dialSocket returns a client at a unix socket.
func dialSocket(t *testing.T, socket string) gpb.GNMIClient {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return gpb.NewGNMIClient(conn)
}
