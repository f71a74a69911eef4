package restconf

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt"
	"tamtam/mgmt/access"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A bed is a server on an embedded Redis.
type bed struct {
	t      testing.TB
	redis  *swss.Redis
	server *Server
}

func newBed(t testing.TB, users ...access.User) *bed {
	t.Helper()
	r := swsstest.Start(t)
	engine, err := mgmt.NewServer(mgmt.Config{Redis: r, Users: users, Insecure: len(users) == 0, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	s, err := New(Config{Engine: engine, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &bed{t, r, s}
}

// rows writes rows of databases: "CONFIG_DB TABLE|key" -> "field=value ...".
func (b *bed) rows(rows map[string]string) {
	b.t.Helper()
	for k, fields := range rows {
		name, key, _ := strings.Cut(k, " ")
		var args []any
		for f := range strings.FieldsSeq(fields) {
			field, value, _ := strings.Cut(f, "=")
			args = append(args, field, value)
		}
		if err := b.redis.DB(swss.DBName(name)).Client().HSet(b.t.Context(), key, args...).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// config returns CONFIG_DB as text, a row per line.
func (b *bed) config() string {
	b.t.Helper()
	c := b.redis.DB(swss.ConfigDB).Client()
	keys, err := c.Keys(b.t.Context(), "*").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(keys)
	var out strings.Builder
	for _, k := range keys {
		if k == swss.KeyMark {
			continue
		}
		row, err := c.HGetAll(b.t.Context(), k).Result()
		if err != nil {
			b.t.Fatal(err)
		}
		text, _ := json.Marshal(row)
		out.WriteString(k + " " + string(text) + "\n")
	}
	return out.String()
}

// do sends one request: "METHOD /path", headers as "Name: value".
func (b *bed) do(request, body string, headers ...string) *http.Response {
	b.t.Helper()
	method, uri, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(b.t.Context(), method, uri, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", yangJSON)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Content-Type" {
			r.Header.Del(name)
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w.Result()
}

// textOf reads the body of a response.
func textOf(t testing.TB, r *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(raw))
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
	if !bytes.Equal(gs, ws) {
		t.Errorf("got\n%s\nwant\n%s", gs, ws)
	}
}

// serve runs the server at its address until the test ends.
func (b *bed) serve() (url string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Serve(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Error(err)
			}
		case <-time.After(time.Minute):
			b.t.Error("the server does not end")
		}
	})
	return strings.TrimSuffix(b.server.web.URL(), "/")
}
