package jetstream

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"
)

const nodes = 3

// startCluster starts three servers with folders below dir. It returns their options, the servers, and a log on all of
// them.
func startCluster(t *testing.T, dir string) (options [nodes]ServerOptions, servers [nodes]*Server, l *Log) {
	t.Helper()
	if os.Getenv("TAMTAM_CLUSTER") == "" {
		t.Skip("TAMTAM_CLUSTER is not set: make cluster-test")
	}
	list, err := StartCluster(nodes, ServerOptions{Dir: dir, Sync: time.Minute,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for i, s := range list {
		options[i], servers[i] = s.options, s
		urls = append(urls, s.URL())
	}
	return options, servers, openLog(t, Options{URLs: urls, Replicas: 3})
}

// Each of three servers is stopped and restarted in turn, while messages are appended: each message is kept once, in
// order.
func TestCluster(t *testing.T) {
	const each = 200
	options, servers, l := startCluster(t, t.TempDir())
	t.Cleanup(func() {
		for _, s := range servers {
			s.Close()
		}
	})
	next := uint64(1)
	add := func() {
		t.Helper()
		for range each {
			id := fmt.Sprint(next)
			if seq, err := l.Append(t.Context(), "t", id, []byte(id)); err != nil || seq != next {
				t.Fatalf("message %s: sequence %d, %v", id, seq, err)
			}
			next++
		}
	}
	add()
	for i := range servers {
		servers[i].Close()
		add()
		again, err := StartServer(options[i])
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = again
		add()
	}
	for from := uint64(1); from < next; {
		got, err := l.Read(t.Context(), "t", from, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			if string(e.Data) != fmt.Sprint(e.Seq) || e.Seq != from {
				t.Fatalf("message %d says %s where %d is due", e.Seq, e.Data, from)
			}
			from++
		}
	}
}

// BenchmarkAppend appends messages of 64 KiB, with and without a sync before each acknowledgement.
func BenchmarkAppend(b *testing.B) {
	for name, sync := range map[string]time.Duration{"synced": 0, "unsynced": time.Minute} {
		b.Run(name, func(b *testing.B) {
			s, err := StartServer(ServerOptions{Dir: b.TempDir(), Sync: sync})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			l, err := Open(b.Context(), Options{Server: s})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			data := make([]byte, 64<<10)
			b.SetBytes(int64(len(data)))
			for n := uint64(1); b.Loop(); n++ {
				if _, err := l.Append(b.Context(), "t", "", data); err != nil {
					b.Fatal(err)
				}
				if n%1000 == 0 {
					if err := l.Acknowledge(b.Context(), "t", n); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
