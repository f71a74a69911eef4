package door

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt"
	"tamtam/mgmt/access"
)

// A house is a door with users, roles and a clock that a test moves.
type house struct {
	*testing.T
	dir  string
	now  time.Time
	door *Door
}

func (h *house) file(name string) string { return filepath.Join(h.dir, name) }

func (h *house) write(name, text string) {
	h.Helper()
	if err := os.WriteFile(h.file(name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

const (
	someUsers = "rita:r:read-only\ncarl:c:counters\nada:a:admin\n"
	someRoles = "counters read sonic-db:/COUNTERS_DB\n"
)

func (h *house) config() Config {
	return Config{Addr: "127.0.0.1:0", Mgmt: mgmt.Config{UsersFile: h.file("users"), RolesFile: h.file("roles"),
		Dir:   h.dir,
		Clock: func() time.Time { return h.now }}}
}

func newHouse(t *testing.T) *house {
	h := &house{T: t, dir: t.TempDir(), now: time.Unix(1e9, 0)}
	h.write("users", someUsers)
	h.write("roles", someRoles)
	return h
}

// open serves something behind the door, until the test ends.
func (h *house) open(cfg Config) {
	h.Helper()
	var err error
	if h.door, err = Listen(cfg); err != nil {
		h.Fatal(err)
	}
	ctx, stop := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })
	go func() { ended <- h.door.Serve(ctx, h.door.Behind(inside)) }()
	h.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			h.Error(err)
		}
	})
}

// ask sends a request by a new connection; trust is a file of certificates.
func (h *house) ask(name, password, host, trust string, with ...tls.Certificate) (code int, text string) {
	h.Helper()
	pool := x509.NewCertPool()
	if pem, err := os.ReadFile(h.file(trust)); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: with}}
	defer transport.CloseIdleConnections()
	q, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.door.URL(), nil)
	if err != nil {
		h.Fatal(err)
	}
	if name != "" {
		q.SetBasicAuth(name, password)
	}
	q.Host = host
	r, err := transport.RoundTrip(q)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.Fatal(err)
	}
	if asks := r.Header.Get("WWW-Authenticate") != ""; asks != (r.StatusCode == http.StatusUnauthorized) {
		h.Errorf("%s: %d, and a login is asked for: %v", name, r.StatusCode, asks)
	}
	return r.StatusCode, string(body)
}

// Only users of the file whose role may read the data of the page are admitted, by TLS. A removed user is refused.
func TestUsers(t *testing.T) {
	h := newHouse(t)
	h.open(h.config())
	if !strings.HasPrefix(h.door.URL(), "https://") {
		t.Errorf("%s: passwords are read by others", h.door.URL())
	}
	try := func(name, password string, want int, why string) {
		t.Helper()
		if code, text := h.ask(name, password, "", "ca.pem"); code != want || !strings.Contains(text, why) {
			t.Errorf("%s, %s: %d %s, want %d %s", name, password, code, text, want, why)
		}
	}
	try("rita", "r", 200, "inside")
	try("ada", "a", 200, "inside")
	try("rita", "wrong", 401, "user or password is wrong")
	try("rita", "", 401, "user or password is wrong")
	try("eve", "r", 401, "user or password is wrong")
	try("", "", 401, "user name and password are missing")
	try("carl", "c", 403, "sonic-db:/STATE_DB: role counters may not read it")
	h.write("users", "carl:c:read-only\n")
	h.now = h.now.Add(2 * time.Second)
	try("rita", "r", 401, "user or password is wrong")
	try("carl", "c", 200, "inside")
	h.write("users", "carl\n") // the former content stays in force
	h.now = h.now.Add(2 * time.Second)
	try("carl", "c", 200, "inside")
	if code, text := h.ask("carl", "c", "", "users"); code != 0 || !strings.Contains(text, "certificate") {
		t.Errorf("a certificate that nobody vouches for: %d %s", code, text)
	}
}

// Clients see the configured certificate, and later the one that replaces it.
func TestCertificateReread(t *testing.T) {
	h := newHouse(t)
	make := func(name string) { // as another server makes it
		dir := h.file(name)
		l, err := Listen(Config{Addr: "127.0.0.1:0", Mgmt: mgmt.Config{UsersFile: h.file("users"), RolesFile: h.file("roles"),
			Dir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		for from, to := range map[string]string{"server.pem": "cert", "server.key": "key"} {
			text, err := os.ReadFile(filepath.Join(dir, from))
			if err != nil {
				t.Fatal(err)
			}
			h.write(to, string(text))
		}
	}
	sees := func(trust string, want bool) {
		t.Helper()
		if code, text := h.ask("rita", "r", "", trust); (code == 200) != want {
			t.Errorf("by %s: %d %s", trust, code, text)
		}
	}
	make("one")
	cfg := h.config()
	cfg.Mgmt.CertFile, cfg.Mgmt.KeyFile = h.file("cert"), h.file("key")
	h.open(cfg)
	sees("one/ca.pem", true)
	make("two")
	h.now = h.now.Add(2 * time.Second)
	sees("one/ca.pem", false)
	sees("two/ca.pem", true)
	h.write("cert", "no PEM") // the former content stays
	h.now = h.now.Add(2 * time.Second)
	sees("two/ca.pem", true)
}

// signed returns a certificate for a name, by a CA that is written to a file.
func (h *house) signed(file, name string) tls.Certificate {
	h.Helper()
	make := func(name string, by *x509.Certificate, key ed25519.PrivateKey) ([]byte, ed25519.PrivateKey) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			h.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
			NotAfter:  time.Now().Add(time.Hour),
			NotBefore: time.Unix(0, 0), IsCA: by == nil, BasicConstraintsValid: true,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if by == nil {
			by, key = c, private
		}
		text, err := x509.CreateCertificate(rand.Reader, c, by, public, key)
		if err != nil {
			h.Fatal(err)
		}
		return text, private
	}
	text, key := make("a CA", nil, nil)
	ca, err := x509.ParseCertificate(text)
	if err != nil {
		h.Fatal(err)
	}
	h.write(file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})))
	own, private := make(name, ca, key)
	return tls.Certificate{Certificate: [][]byte{own}, PrivateKey: private}
}

// If a CA of client certificates is configured, clients without such a certificate are refused. The name in the
// certificate is the user's name, and replaces the password.
func TestClientCertificate(t *testing.T) {
	h := newHouse(t)
	rita, eve := h.signed("clients.pem", "rita"), h.signed("others.pem", "rita")
	cfg := h.config()
	cfg.Mgmt.ClientCAFile = h.file("clients.pem")
	h.open(cfg)
	if code, text := h.ask("", "", "", "ca.pem", rita); code != 200 || text != "inside" {
		t.Errorf("by her certificate: %d %s, want what is inside", code, text)
	}
	for name, with := range map[string][]tls.Certificate{"none": nil, "one of another CA": {eve}} {
		if code, text := h.ask("rita", "r", "", "ca.pem", with...); code != 0 || !strings.Contains(text, "certificate") {
			t.Errorf("%s: %d %s, want no connection", name, code, text)
		}
	}
	h.write("users", "carl:c:read-only\n")
	h.now = h.now.Add(2 * time.Second)
	if code, text := h.ask("", "", "", "ca.pem", rita); code != 401 {
		t.Errorf("by the certificate of who is no user any more: %d %s, want 401", code, text)
	}
	open := Config{Addr: "127.0.0.1:0", Mgmt: mgmt.Config{ClientCAFile: h.file("clients.pem"), NoLogin: true}}
	if err := open.Check(); err == nil || !strings.Contains(err.Error(), "want users or --no-login") {
		t.Errorf("a CA, and no login: %v", err)
	}
}

// Invalid settings are refused with a reason.
func TestRefused(t *testing.T) {
	h := newHouse(t)
	h.write("bad-users", "rita\n")
	h.write("bad-roles", "counters reads /\n")
	h.write("no-role", "rita:r:nobody\n")
	h.write("hashless.pem", "no PEM")
	for want, change := range map[string]func(*Config){
		"can be reached by other hosts": func(c *Config) { c.Addr, c.Mgmt.UsersFile, c.Mgmt.RolesFile = ":0", "", "" },
		"and there are no users":        func(c *Config) { c.Mgmt.UsersFile = "" },
		"want both, or neither":         func(c *Config) { c.Mgmt.CertFile = "c" },
		"want users or --no-login":      func(c *Config) { c.Mgmt.NoLogin = true },
		"bad-users: line 1":             func(c *Config) { c.Mgmt.UsersFile = h.file("bad-users") },
		"bad-roles: line 1":             func(c *Config) { c.Mgmt.RolesFile = h.file("bad-roles") },
		`there is no role "nobody"`:     func(c *Config) { c.Mgmt.UsersFile = h.file("no-role") },
		"nowhere: no such file":         func(c *Config) { c.Mgmt.UsersFile = h.file("nowhere") },
		"certificate:": func(c *Config) {
			c.Mgmt.CertFile, c.Mgmt.KeyFile = h.file("hashless.pem"), h.file("hashless.pem")
		},
	} {
		cfg := h.config()
		change(&cfg)
		if d, err := Listen(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				d.Close()
			}
		}
	}
}

// Without a login, a request must name this machine. An address that other machines reach is open only if configured
// so.
func TestAlone(t *testing.T) {
	h := newHouse(t)
	h.open(Config{Addr: "127.0.0.1:0"})
	for host, want := range map[string]int{"": 200, "localhost": 200, "127.0.0.1:8480": 200, "[::1]": 200,
		"LocalHost:80": 200, "localhost.evil.example": 421, "evil.example": 421} {
		if code, text := h.ask("", "", host, ""); code != want {
			t.Errorf("%s: %d %s, want %d", host, code, text, want)
		}
	}
	h.open(Config{Addr: "0.0.0.0:0", Mgmt: mgmt.Config{NoLogin: true}})
	if code, text := h.ask("", "", "any.example", ""); code != 200 {
		t.Errorf("%d %s", code, text)
	}
}

// Hashed passwords work, too.
func TestHashed(t *testing.T) {
	h := newHouse(t)
	u, err := access.NewUser("hanna", "h", access.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	h.write("users", u.Name+":"+u.Password+":"+string(u.Role)+"\n")
	h.open(h.config())
	for password, want := range map[string]int{"h": 200, "x": 401} {
		if code, text := h.ask("hanna", password, "", "ca.pem"); code != want {
			t.Errorf("%s: %d %s, want %d", password, code, text, want)
		}
	}
}
