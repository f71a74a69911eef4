package mgmt

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"tamtam/mgmt/access"
	"tamtam/swss/swsstest"
)

// Idle connections are closed when they are too many, and clients are still served. If there are users, a client must
// be a user and must use TLS.
func TestLooksListen(t *testing.T) {
	r := swsstest.Start(t)
	engine, err := NewServer(Config{Redis: r, Dir: t.TempDir(),
		Users: []access.User{{Name: "ada", Password: "secret", Role: access.Admin}}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for _, open := range []bool{true, false} {
		s, err := LooksOf(engine).Listen("127.0.0.1:0", open, &http.Server{ReadTimeout: time.Minute,
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx) }()
		shut := make(chan struct{}, 300)
		for range 100 {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			go func() {
				_, _ = c.Read(make([]byte, 1)) // the connection receives no data, only its end
				shut <- struct{}{}
			}()
		}
		for range 100 - 16 { // connections of one source
			<-shut
		}
		ask := func(name, password string) int {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			defer client.CloseIdleConnections()
			scheme := "http://"
			if !open {
				scheme = "https://"
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+s.Addr()+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			if name != "" {
				req.SetBasicAuth(name, password)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		without := http.StatusOK
		if !open {
			without = http.StatusUnauthorized
			if code := ask("ada", "guess"); code != http.StatusUnauthorized {
				t.Errorf("a wrong password: status %d", code)
			}
			if code := ask("ada", "secret"); code != http.StatusOK {
				t.Errorf("a user: status %d", code)
			}
		}
		if code := ask("", ""); code != without {
			t.Errorf("without a login: status %d, want %d", code, without)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
