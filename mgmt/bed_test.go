package mgmt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Lists, statistics and words that tests name.
const (
	interfaceList = "/interfaces/interface"
	vlanList      = "/vlans/vlan"
	routedList    = "/routing/interfaces/interface"
	neighborList  = "/routing/neighbors/neighbor"
	rulePackets   = "SAI_ACL_COUNTER_ATTR_PACKETS"
	ruleOctets    = "SAI_ACL_COUNTER_ATTR_BYTES"
	silentLACP    = "LACP has not reported on it since it was configured: hostd, or hostifd, runs LACP"
)

// A bed is a server on an embedded Redis with a client.
type bed struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	server *Server
	client gpb.GNMIClient
}

// newBed starts a server; edit, if not nil, changes its settings.
func newBed(t testing.TB, edit func(*Config)) *bed {
	return newBedOn(t, swsstest.Start(t), edit)
}

func newBedOn(t testing.TB, r *swss.Redis, edit func(*Config)) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	b := &bed{t: t, ctx: ctx, redis: r}
	cfg := Config{Redis: r, Addr: "127.0.0.1:0", Insecure: true}
	if edit != nil {
		edit(&cfg)
	}
	verified := len(cfg.Users) > 0 && cfg.Insecure // passwords need TLS
	if verified {
		cfg.Insecure, cfg.Dir = false, t.TempDir()
	}
	var err error
	if b.server, err = NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	switch {
	case verified:
		b.client = b.dial(grpc.WithTransportCredentials(credentials.NewTLS(trust(t, cfg.Dir))))
	case cfg.Insecure:
		b.client = b.dial(grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	return b
}

func (b *bed) dial(opts ...grpc.DialOption) gpb.GNMIClient {
	b.t.Helper()
	opts = append(opts, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28), grpc.MaxCallSendMsgSize(1<<28)))
	conn, err := grpc.NewClient("passthrough:///"+b.server.Addr(), opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	return gpb.NewGNMIClient(conn)
}

// rows writes rows: "CONFIG_DB TABLE|key" -> "field=value ...". An empty text deletes the row. Values have no spaces;
// "_" stands for one.
func (b *bed) rows(rows map[string]string) {
	b.t.Helper()
	for _, k := range tree.SortedKeys(rows) {
		name, key, _ := strings.Cut(k, " ")
		db := b.redis.DB(swss.DBName(name))
		if rows[k] == "" {
			if err := db.Client().Del(b.ctx, key).Err(); err != nil {
				b.t.Fatal(err)
			}
			continue
		}
		var args []any
		for _, f := range strings.Fields(rows[k]) {
			field, value, _ := strings.Cut(f, "=")
			args = append(args, field, strings.ReplaceAll(value, "_", " "))
		}
		if err := db.Client().HSet(b.ctx, key, args...).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// row returns a row of CONFIG_DB as "field=value ...", fields sorted, or "" if there is none.
func (b *bed) row(key string) string {
	b.t.Helper()
	hash, err := b.redis.DB(swss.ConfigDB).Client().HGetAll(b.ctx, key).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, f := range tree.SortedKeys(hash) {
		out = append(out, f+"="+hash[f])
	}
	return strings.Join(out, " ")
}

// config returns CONFIG_DB as text, a row per line.
func (b *bed) config() string {
	b.t.Helper()
	keys, err := b.redis.DB(swss.ConfigDB).Client().Keys(b.ctx, "*").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(keys)
	var out strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&out, "%s: %s\n", k, b.row(k))
	}
	return out.String()
}

// path parses "/a/b[k=v][l=w]/c"; in values \ quotes the next character.
func path(text string) *gpb.Path {
	p := &gpb.Path{}
	var el *gpb.PathElem
	for i := 0; i < len(text); {
		switch text[i] {
		case '/':
			i++
			if i == len(text) {
				return p
			}
			j := i
			for j < len(text) && text[j] != '/' && text[j] != '[' {
				j++
			}
			el = &gpb.PathElem{Name: text[i:j]}
			p.Elem = append(p.Elem, el)
			i = j
		case '[':
			eq := i + strings.IndexByte(text[i:], '=')
			key := text[i+1 : eq]
			var v []byte
			for i = eq + 1; i < len(text) && text[i] != ']'; i++ {
				if text[i] == '\\' {
					i++
				}
				v = append(v, text[i])
			}
			i++
			if el.Key == nil {
				el.Key = map[string]string{}
			}
			el.Key[key] = string(v)
		default:
			panic("path " + text)
		}
	}
	return p
}

func ietf(v string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(v)}}
}

func update(p, v string) *gpb.Update { return &gpb.Update{Path: path(p), Val: ietf(v)} }

// get requests one path in JSON_IETF.
func (b *bed) get(p string) (string, error) {
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		return "", err
	}
	var out []string
	for _, u := range resp.GetNotification()[0].GetUpdate() {
		out = append(out, string(u.GetVal().GetJsonIetfVal()))
	}
	return strings.Join(out, "\n"), nil
}

// mustSet executes a Set that must succeed.
func (b *bed) mustSet(req *gpb.SetRequest) *gpb.SetResponse {
	b.t.Helper()
	resp, err := b.client.Set(b.ctx, req)
	if err != nil {
		b.t.Fatalf("Set: %v", err)
	}
	return resp
}

// wantErr checks the code of an error and words in its text.
func wantErr(t testing.TB, err error, code string, words ...string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code().String() != code {
		t.Fatalf("code %s, want %s: %v", st.Code(), code, err)
	}
	for _, w := range words {
		if !strings.Contains(st.Message(), w) {
			t.Errorf("message %q has no %q", st.Message(), w)
		}
	}
}

// sameJSON compares JSON values.
func sameJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("got %s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want %s: %v", want, err)
	}
	gs, _ := json.MarshalIndent(g, "", " ")
	ws, _ := json.MarshalIndent(w, "", " ")
	if string(gs) != string(ws) {
		t.Errorf("got\n%s\nwant\n%s", gs, ws)
	}
}

// someSwitch returns the rows of testdata/some.rows, in the form that [bed.rows] accepts. It is a switch with two
// ports, a flow group and an active session.
func someSwitch() map[string]string {
	text, err := os.ReadFile("testdata/some.rows")
	if err != nil {
		panic(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		w := words(line)
		rows[w[0]+" "+w[1]] = strings.Join(w[2:], " ")
	}
	return rows
}
