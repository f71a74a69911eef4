package chaos

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/device/switchpage"
	"tamtam/internal/racetest"
	"tamtam/mgmt"
	"tamtam/mgmt/access"
	"tamtam/mgmt/web/webtest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// as adds a user's credentials to a request.
func as(name, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

// pagePlant returns a liveSwitch with a page. It has routes, a rule that drops, and every feature that a page of one
// switch shows.
func pagePlant(t *testing.T, now func() time.Time) (*liveSwitch, *switchpage.Server, string) {
	t.Helper()
	p := startPlant(t)
	config := devicetest.RoutedPorts()
	config["DEVICE_METADATA"]["localhost"]["hostname"] = "leaf1"
	config["TAM_FEATURES_TABLE"]["ALTMARK"] = swss.FieldValues{"status": "ACTIVE"}
	config["TAM_FEATURES_TABLE"]["FLYMON"] = swss.FieldValues{"status": "ACTIVE"}
	// This port is rejected, so it does not exist.
	config["PORT"]["Ethernet8"] = swss.FieldValues{"lanes": "none", "speed": "100000"}
	config["ACL_RULE"]["TAM|all"] = swss.FieldValues{"IN_PORTS": "Ethernet0"}
	config["TAM_TAILSTAMPING_TABLE"]["lost"] = swss.FieldValues{"flowgroup": "nowhere"}
	config["TAM_ALTMARK_TABLE"] = map[string]swss.FieldValues{"marked": {
		"flowgroup": "all", "role": "initiator", "method": "step", "interval": "-2", "mark": "ipv4-reserved",
	}}
	config["TAM_FLYMON_TASK_TABLE"] = map[string]swss.FieldValues{"sum": {
		"key": "none", "attribute": "distinct(5-tuple)", "memory": "512", "epoch": "0"}}
	p.load(config)
	p.ready()
	dir, r := t.TempDir(), p.server.Open()
	engine, err := mgmt.NewServer(mgmt.Config{Redis: r, Dir: dir,
		Roles: "collectors read /tam\ncollectors read sonic-db:/COUNTERS_DB\n",
		Users: []access.User{
			{Name: "ada", Password: "a", Role: access.Admin}, {Name: "otto", Password: "o", Role: access.Operator},
			{Name: "rita", Password: "r", Role: access.ReadOnly}, {Name: "carl", Password: "c", Role: "collectors"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	// Here syncd answers. The long wait avoids a failure on a slow machine.
	s, err := switchpage.New(switchpage.Config{Engine: engine, Redis: r, Addr: "localhost:0", Now: now,
		AccountWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return p, s, dir
}

// shows waits until a page, requested by ada, contains all words.
func (p *liveSwitch) shows(s http.Handler, at string, words ...string) {
	p.Helper()
	text, lacks := "", ""
	defer func() {
		if p.Failed() {
			p.Logf("%s lacks %q:\n%s", at, lacks, text)
		}
	}()
	p.within(time.Minute, at+" shows what it should", func() bool {
		_, text = webtest.Get(p.T, s, at, as("ada", "a"))
		for _, lacks = range words {
			if !strings.Contains(text, lacks) {
				return false
			}
		}
		return true
	})
}

// The page of a live switch shows that switch's state to users that may see it. Each page is well-formed, and names
// unknown values.
func TestSwitchPage(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	var ahead atomic.Int64 // offset of the clock, which lets readings expire
	p, s, dir := pagePlant(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	chip := p.chip.Load()
	router := [6]byte{}
	p.until("packets are routed", func() bool {
		for _, i := range chip.Tables().Interfaces {
			router = i.MAC
		}
		return router != [6]byte{}
	})
	send := func(dst byte) {
		for _, id := range chip.Ports() {
			chip.SetLink(id, true)
		}
		in, _ := chip.PortByName("Ethernet0")
		f := append(append([]byte{}, router[:]...), 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 9, 17, 0, 0, 10, 1, 0,
			5, 10, 2, 0, dst)
		// error ignored: a port that is down accepts no frame
		_ = chip.Receive(in, chip.Now(), saisim.Frame{Data: append(f, make([]byte, 26)...)})
	}
	p.until("the rule drops", func() bool {
		send(9)
		_, text := webtest.Get(t, s, "/drops", as("ada", "a"))
		return strings.Contains(text, "ACL rule EDGE|RULE_1")
	})
	send(8)
	p.shows(s, "/drops", "The account of leaf1", "By reason", "By port", "By rule", "acl",
		"chip.acl hit EDGE EDGE|RULE_1 → drop",
		"10.1.0.5", "Ethernet0")
	p.shows(s, "/switch?name=leaf1", "TAM_TAILSTAMPING_TABLE|lost", "pending", "nowhere",
		"Sessions of tail-stamping", "Load in",
		`data-of="stamped packets"`, `data-of="in bytes"`)
	p.shows(s, "/switches", `data-of="Ports up">2 of 3 <small class="warn">1 unknown<`)
	p.shows(s, "/marking", "marked", "initiator", "that takes the counts of two switches", "Periods of marked")
	p.shows(s, "/sketches", "cardinality", "sum", "unknown")
	for at, want := range map[string]string{"/flows": "Unknown here: the way of a flow", "/packets": "Unknown here",
		"/sources": "Unknown here", "/time": "Unknown here",
		"/": "leaf1"} {
		p.shows(s, at, want)
	}
	seen := webtest.Crawl(t, s, 6, as("ada", "a"))
	for _, at := range []string{"/", "/drops", "/marking", "/sketches", "/switches", "/switch"} {
		if seen[at] == 0 {
			t.Errorf("no link leads to %s", at)
		}
	}
	for _, at := range []string{"/time", "/flows", "/packets", "/sources"} {
		if seen[at] > 0 {
			t.Errorf("a link leads to %s, which cannot have data on one switch", at)
		}
	}
	pageRoles(t, s)
	pageByTLS(t, s, filepath.Join(dir, "ca.pem"))
	p.server.Kill()
	ahead.Store(int64(time.Minute))
	if r, text := webtest.Get(t, s, "/switches", as("ada", "a")); r.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(text, "the databases cannot be read: ") {
		t.Errorf("without Redis: %s\n%s", r.Status, text)
	}
	p.server.Start()
}

// pageRoles requests pages as each of the users, and without a user.
func pageRoles(t *testing.T, s http.Handler) {
	for _, tt := range []struct {
		name, password, at string
		code               int
		want               string
	}{
		{"", "", "/", 401, "user name and password are missing"}, {"ada", "wrong", "/", 401, "user or password is wrong"},
		{"eve", "a", "/events", 401, "user or password is wrong"}, {"", "", "/page.js", 401, "missing"},
		{"carl", "c", "/", 403, "sonic-db:/STATE_DB: role collectors may not read it"},
		{"rita", "r", "/", 200, "leaf"}, {"rita", "r", "/switch?name=leaf1", 200, "TAM_TAILSTAMPING_TABLE|lost"},
		{"rita", "r", "/drops", 200, "Unknown: /operations/list-drops: role read-only may not do it"},
		{"otto", "o", "/drops", 200, "ACL rule EDGE|RULE_1"}, {"ada", "a", "/drops", 200, "ACL rule EDGE|RULE_1"},
	} {
		change := as(tt.name, tt.password)
		if tt.name == "" {
			change = nil
		}
		r, text := webtest.Get(t, s, tt.at, change)
		if r.StatusCode != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%s asks for %s: %s, want %d and %q\n%s", tt.name, tt.at, r.Status, tt.code, tt.want, text)
		}
		if asks := r.Header.Get("WWW-Authenticate") != ""; asks != (tt.code == 401) {
			t.Errorf("%s asks for %s: a login is asked for: %v", tt.name, tt.at, asks)
		}
		if tt.code != 200 && strings.Contains(text, "leaf") {
			t.Errorf("%s, who is not let in, sees the name of the switch", tt.name)
		}
		if tt.code == 200 && tt.name == "rita" && strings.Contains(text, "RULE_1 → drop") {
			t.Error("rita sees packets that she may not ask for")
		}
	}
}

// pageByTLS requests the page like a browser, with passwords that others cannot read, and receives a change event.
func pageByTLS(t *testing.T, s *switchpage.Server, caFile string) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	ca, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	get := func(at string, change func(*http.Request)) *http.Response {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL(), "/")+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		change(q)
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if !strings.HasPrefix(s.URL(), "https://") {
		t.Errorf("the page is at %s: want TLS, for passwords are asked for", s.URL())
	}
	for password, code := range map[string]int{"r": 200, "x": 401} {
		r := get("/", as("rita", password))
		r.Body.Close()
		if r.StatusCode != code {
			t.Errorf("rita with password %q: %s", password, r.Status)
		}
	}
	r := get("/events", as("rita", "r"))
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() && lines.Text() != "event: changed" {
	}
	if lines.Text() != "event: changed" {
		t.Errorf("no event: %v", lines.Err())
	}
	r.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without a login, the page answers only requests for names of this machine, and for addresses.
func TestSwitchPageAlone(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	p := bareplant(t)
	engine, err := mgmt.NewServer(mgmt.Config{Redis: p.redis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	if _, err := switchpage.New(switchpage.Config{Engine: engine, Redis: p.redis, Addr: ":0"}); err == nil ||
		!strings.Contains(err.Error(), "can be reached by other hosts") {
		t.Errorf(":0 without users: %v", err)
	}
	s, err := switchpage.New(switchpage.Config{Engine: engine, Redis: p.redis, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("the page is at %s", s.URL())
	}
	if _, err := switchpage.New(switchpage.Config{Engine: engine, Redis: p.redis,
		Addr: strings.TrimSuffix(s.URL()[len("http://"):], "/")}); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("the same address again: %v", err)
	}
	for host, code := range map[string]int{"localhost:8088": 200, "127.0.0.1": 200, "[::1]:80": 200, "::1": 200,
		"evil.example": 421, "": 421,
		"localhost.evil.example:80": 421, "[": 421} {
		r, text := webtest.Get(t, s, "/drops", func(q *http.Request) { q.Host = host })
		if r.StatusCode != code {
			t.Errorf("Host %q: %s, want %d", host, r.Status, code)
		}
		if code == 200 && !strings.Contains(text, "no answer: syncd is not running") {
			t.Errorf("without syncd the drops are not said to be unknown:\n%s", text)
		}
	}
	row := swss.FieldValues{schema.AlarmText: "syncd is silent"}
	if err := swss.NewTable(p.redis.DB(swss.StateDB), schema.StateAlarm).Set(t.Context(), "syncd-silent",
		row); err != nil {
		t.Fatal(err)
	}
	p.until("the alarm is shown", func() bool {
		_, text := webtest.Get(t, s, "/marking", func(q *http.Request) { q.Host = "localhost" })
		return strings.Contains(text, "alarm syncd-silent: syncd is silent")
	})
	// From here on, another client receives the requests to syncd but never answers, like a syncd that hangs.
	deaf := p.redis.DB(swss.StateDB).Subscribe(t.Context(), schema.PacketTraceChannel)
	defer deaf.Close()
	if _, err := deaf.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.until("the page has all else while syncd hangs", func() bool {
		r, text := webtest.Get(t, s, "/drops", func(q *http.Request) { q.Host = "localhost" })
		return r.StatusCode == http.StatusOK && strings.Contains(text, "syncd has not answered") &&
			strings.Contains(text, "orchagent has not reported for 5s") &&
			!strings.Contains(text, "syncd has not been heard of") // this switch has an alarm for it
	})
}
