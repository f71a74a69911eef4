package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/parquet"
)

const networkFile = `switches:
- {name: leaf1, target: "10.0.0.1:8080", id: 1}
- {name: spine1}
links:
- {a: "leaf1:Ethernet4", b: "spine1:Ethernet0"}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The page of a store has the links of the topology, with the data of the rows. Rows that the topology does not contain
// are logged.
func TestServeTopology(t *testing.T) {
	dir := t.TempDir()
	store, err := parquet.Open(parquet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-time.Second).UnixNano()
	if _, err := store.Put(t.Context(), &result.Batch{Partition: "altmark-0", First: 1,
		Position: result.Position{Last: 1, Closed: start},
		Losses: []result.Loss{{Window: result.Window{Start: start, Length: 1}, Flow: "web", From: "leaf1", To: "spine1",
			Status: "ok",
			Known:  true, Sent: 100, Received: 97, Lost: 3}}}); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, "--role=serve", "--store="+dir, "--http=127.0.0.1:0",
		"--topology="+write(t, "net.yaml", networkFile))
	text := get(t, d.url+"/")
	for _, want := range []string{"leaf1:Ethernet4 to spine1:Ethernet0: unknown", "lost 3 of 100 packets", "net.yaml"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	d.stop()
	if all := <-d.ended; !strings.Contains(all, "exit 0") || !strings.Contains(all, "switch has no id") ||
		!strings.Contains(all, "switch=spine1") {
		t.Error(all)
	}
}

// A file of --topology is refused, with its errors, if it is invalid or contradicts the paths.
func TestTopologyRefused(t *testing.T) {
	paths := write(t, "paths.yaml",
		"paths:\n- name: way\n  points:\n  - {switch: spine1, target: \"10.0.0.1:8080\", session: web}\n"+
			"  - {switch: leaf2, target: \"10.0.0.2:8080\", session: web}\n")
	good := write(t, "good.yaml", networkFile)
	bad := write(t, "bad.yaml", strings.Replace(networkFile, "10.0.0.1:8080", "10.0.0.1", 1))
	for args, want := range map[string]string{
		"--log=d --store=d --topology=" +
			bad: `node leaf1: target is "10.0.0.1", want HOST:PORT or unix:/PATH`,
		"--log=d --store=d --topology=/nowhere.yaml":             "--topology: open /nowhere.yaml",
		"--log=d --store=d --topology=nothing":                   `no experiment "nothing": want one of`,
		"--role=log --log=d --listen=[::1]:1 --topology=" + good: "--topology: only roles join and serve accept it",
		"--log=d --store=d --paths=" + paths + " --topology=" +
			good: `path way: point 1: switch is "spine1" and target is "10.0.0.1:8080", which is the target of leaf1`,
		"--role=serve --store=d --paths=" + paths + " --topology=" + bad: `"10.0.0.1", want`,
		"--log=d --store=d --graphs --paths=" + paths:                    "both define what is measured",
		"--log=d --store=d --graphs":                                     "--topology is not given: want a file",
		"--role=join --log=d --store=d --graphs --topology=" + good:      "which tamtam collect graphs prints",
		"--log=d --store=d --graphs --insecure --topology=" +
			good: "switch spine1: the topology has no address for it",
	} {
		code, _, errOut := tryRun(t, append([]string{"run"}, strings.Fields(args)...)...)
		if code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, %swant %q", args, code, errOut, want)
		}
	}
}

// With a file of users, only these users can access the page and the metrics, and only by TLS. An invalid file is
// refused.
func TestServeUsers(t *testing.T) {
	users, data := write(t, "users", "rita:r:read-only\ncarl:c:nothing\n"), t.TempDir()
	roles := write(t, "roles", "nothing none /\n")
	args := []string{"--role=serve", "--store=" + t.TempDir(), "--http=127.0.0.1:0", "--users=" + users,
		"--roles=" + roles,
		"--http-data=" + data}
	d := startDaemon(t, args...)
	ca, err := os.ReadFile(filepath.Join(data, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	for _, at := range []string{"/", "/metrics"} {
		for login, want := range map[[2]string]int{{"rita", "r"}: 200, {"rita", "x"}: 401, {"", ""}: 401,
			{"carl", "c"}: 403} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+at, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.SetBasicAuth(login[0], login[1])
			r, err := transport.RoundTrip(q)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want {
				t.Errorf("%s asks for %s: %s, want %d", login[0], at, r.Status, want)
			}
		}
	}
	d.stop()
	if all := <-d.ended; !strings.Contains(all, "exit 0") {
		t.Error(all)
	}
	bad := write(t, "users", "rita:r:nobody\n")
	if code, _, errOut := tryRun(t, append([]string{"run", "--users=" + bad}, args[:3]...)...); code == 0 ||
		!strings.Contains(errOut, `there is no role "nobody"`) {
		t.Errorf("exit %d, %s", code, errOut)
	}
}
