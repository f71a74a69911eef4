package device

import (
	"net"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A daemon is well while its key is there; mgmtd must accept connections besides.
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
	for _, name := range daemons {
		if health(name) == nil {
			t.Errorf("%s is well and was never heard of", name)
		}
		r := server.Open()
		if err := r.DB(swss.StateDB).Client().Set(t.Context(), healthKey(name), "ok", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := health(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.Close()
	if health("mgmtd") == nil {
		t.Error("mgmtd is well and takes no connection")
	}
	if health("syncd") != nil {
		t.Error("syncd needs no connection")
	}
}
