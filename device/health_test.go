package device

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A daemon is well while it says so; mgmtd must accept connections besides. What it waits for is told in its words, and
// that of Redis where nobody can write.
func TestHealth(t *testing.T) {
	server := swsstest.StartServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	health := func(name string) error {
		_, err := Health(t.Context(), name, server.Addr, l.Addr().String(), 10*time.Second)
		return err
	}
	r := server.Open()
	for _, name := range daemons {
		if health(name) == nil {
			t.Errorf("%s is well and was never heard of", name)
		}
		h := newHealth(name)
		for _, tt := range []struct{ reason, want string }{
			{"starting", name + " is not ready since "}, {"the moon is full", ": the moon is full"}, {"", ""},
		} {
			h.tell(tt.reason)
			h.renew(t.Context(), r)
			if err := health(name); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %q: %v", name, tt.reason, err)
			}
		}
		h.lives(func(context.Context) error { return errors.New("it hangs") })
		if err := swss.NewTable(r.DB(swss.StateDB), healthTable).Del(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if h.renew(t.Context(), r); health(name) == nil {
			t.Errorf("%s is well and hangs", name)
		}
		h.lives(nil)
		if h.renew(t.Context(), r); health(name) != nil {
			t.Errorf("%s works again: %v", name, health(name))
		}
	}
	l.Close()
	if health("mgmtd") == nil {
		t.Error("mgmtd is well and takes no connection")
	}
	if health("syncd") != nil {
		t.Error("syncd needs no connection")
	}
	config := r.DB(swss.ConfigDB).Client()
	if err := errors.Join(r.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(),
		config.ConfigSet(t.Context(), "maxmemory", "1").Err()); err != nil {
		t.Fatal(err)
	}
	if err := health("syncd"); err == nil || !strings.Contains(err.Error(), "Redis is out of memory") {
		t.Errorf("Redis is full: %v", err)
	}
}
