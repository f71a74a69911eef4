package main

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/racetest"
	"tamtam/lab"
	"tamtam/lab/rows"
	"tamtam/mgmt/access"
	"tamtam/mgmt/web"
)

// The experiment that lab serve shows has content on every page. Exact values agree with the truth.
func TestLabServe(t *testing.T) {
	racetest.Stepped(t)
	topology, err := openLab(shownExperiment, []string{"duration=40ms"}, false)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := rows.Show(t.Context(), topology, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := web.New(web.Config{Title: "t", Store: shown.Rows, Topology: shown, Switches: shown, Now: shown.End,
		Zero: lab.Epoch()})
	if err != nil {
		t.Fatal(err)
	}
	for at, wants := range map[string][]string{
		"/": {"spine1:Ethernet0", "l-bad"}, "/flows": {"UDP 10.0.1.2:1024 &gt; 10.0.2.2:80", "leaf1 → spine"},
		"/packets": {"dropped: acl", "leaf1 → spine2 → leaf2"},
		"/drops":   {"blackhole", "no-route", "chip.acl hit", "ipfix", "guard|host3"},
		"/sources": {"captures of hosts", `<span class="exact">exact</span>`},
		"/marking": {"spine1&#43;spine2"}, "/sketches": {"heavy", "truth within the bound"},
		"/switches": {"memory &#34;99999999&#34;"},
		"/switch?name=leaf3": {"flow group &#34;mail&#34; does not exist", "MIRROR_SESSION|far", "no route to 192.0.2.1",
			"Ethernet12"},
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		for _, want := range wants {
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %d, and does not say %q", at, w.Code, want)
			}
		}
	}
	reported := map[string]int64{} // counts of the rule's drops, by drop reports and by records
	err = shown.Rows.Each(t.Context(), 0, math.MaxInt64, func(b *result.Batch) bool {
		for _, d := range b.Drops {
			if d.Switch == "spine2" && d.Reason == "acl" && d.Flags == 0 {
				reported[d.Source] += d.Packets
			}
		}
		return true
	})
	if err != nil || reported["ipfix"] == 0 || reported["ipfix"] != reported["record"] {
		t.Errorf("%v dropped by the rule, %v: want as many by reports as by records", reported, err)
	}
}

// An address that other machines reach is refused without a login. Only users of the file are admitted.
func TestPageDoor(t *testing.T) {
	for _, tt := range []struct {
		door pageFlags
		want string
	}{
		{pageFlags{addr: "localhost:0"}, ""}, {pageFlags{addr: "127.0.0.1:0"}, ""},
		{pageFlags{addr: ":8088"}, "can be reached by other hosts"},
		{pageFlags{addr: ":8088", users: "f", noLogin: true}, "want users or --no-login"},
		{pageFlags{addr: "localhost:0", roles: "f"}, "there are no users"},
		{pageFlags{addr: "localhost:0", users: "f", cert: "c"}, "want both, or neither"},
		{pageFlags{addr: ":8088", noLogin: true}, ""}, {pageFlags{addr: ":8088", users: "f"}, ""},
		{pageFlags{addr: "8088"}, "want HOST:PORT"},
	} {
		err := tt.door.check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v, want %q", tt.door, err, tt.want)
		}
	}
	file := t.TempDir() + "/users"
	rita, err := access.NewUser("rita", "secret", access.ReadOnly)
	if err == nil {
		err = access.Set(file, rita, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	door := pageFlags{flag: "http", addr: "localhost:0", users: file, data: t.TempDir()}
	c := newLabServe()
	c.SetContext(t.Context())
	server, err := door.listen(c)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if !strings.HasPrefix(server.URL(), "https://") {
		t.Errorf("%s: passwords travel in clear", server.URL())
	}
	for _, tt := range []struct {
		name, password string
		ok             bool
	}{{"rita", "secret", true}, {"rita", "secret", true}, {"rita", "wrong", false}, {"eve", "secret", false},
		{"", "", false}, {"rita", "", false}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth(tt.name, tt.password)
		_, leave, err := server.Enter(r)
		if (err == nil) != tt.ok {
			t.Errorf("%s, %s: %v", tt.name, tt.password, err)
		}
		if err == nil {
			leave()
		}
	}
}

// `lab run --serve` refuses the same flags as `lab serve`, and does so before the run.
func TestLabRunServe(t *testing.T) {
	for addr, want := range map[string]string{"8088": `--serve "8088": want HOST:PORT`,
		":8088": "--serve :8088 can be reached by other hosts"} {
		c := newLabRun()
		c.SetArgs([]string{shownExperiment, "--serve", addr, "--users", ""})
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--serve %s: %v, want %q", addr, err, want)
		}
	}
}
