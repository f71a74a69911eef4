package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"tamtam/fleet/jetstream"
	"tamtam/internal/command"
)

// get returns a daemon's response to a GET of a URL.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(text)
}

// A daemon joins the data that a fleet in another process sends to the daemon's log. The metrics count this data, the
// page answers, and the daemon stops when its context ends.
func TestDaemon(t *testing.T) {
	dir := t.TempDir()
	address, err := jetstream.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, say := io.Pipe()
	ended := make(chan int)
	go func() {
		code := run(ctx, []string{"run", "--role=log,ingest,join,serve",
			"--log=" + filepath.Join(dir, "log"), "--listen=" + address,
			"--store=" + filepath.Join(dir, "store"), "--sync=1m", "--partitions=2", "--expect=leaf1,leaf2,leaf3,leaf4",
			"--http=127.0.0.1:0", "--sflow=127.0.0.1:0", "--name=10.0.0.1=leaf1"}, io.Discard, say)
		say.Close()
		ended <- code
	}()
	lines := bufio.NewScanner(said)
	url := ""
	for url == "" && lines.Scan() {
		if m := regexp.MustCompile(`http=(http://\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	var rest bytes.Buffer
	drained := make(chan struct{})
	go func() {
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
		close(drained)
	}()
	code, out, errOut := tryRun(t, "fleet", "--leaves=4", "--spines=2", "--flows=60", "--stamps=6000", "--time=20s",
		"--alive=10s", "--partitions=2", "--dir="+dir, "--nats=nats://"+address, "--joined-elsewhere")
	if code != 0 || !strings.Contains(out, "store equals what was sent   yes") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
	stranger := filepath.Join(dir, "store", "hops", "p.1.1.0.0.parquet")
	if err := os.WriteFile(stranger, []byte("a poem"), 0o644); err != nil {
		t.Fatal(err)
	}
	metrics := get(t, url+"/metrics")
	problems, err := promlint.New(strings.NewReader(metrics)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, want := range []string{"tamtam_collectd_hop_packets_total 6000\n", "process_cpu_seconds_total",
		"tamtam_collectd_store_files_unread 1\n",
		`tamtam_collectd_partition_held{partition="tailstamp-1"} 1`,
		`tamtam_collectd_batches_lost_total{partition="tailstamp-0"} 0`,
		`tamtam_collectd_source_events_total{kind="drop",source="sflow"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics:\n%s", want, metrics)
		}
	}
	if text := get(t, url+"/"); !strings.Contains(text, "tamtam-collectd") {
		t.Errorf("the page: %.300s", text)
	}
	stop()
	code = <-ended
	if <-drained; code != 0 || !strings.Contains(rest.String(), "msg=stopped") {
		t.Errorf("exit %d:\n%s", code, rest.String())
	}
}

func TestDaemonFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--role=joiner":                            `--role "joiner": want some of log, ingest, join, serve`,
		"--role=join":                              "--log is not given: want a folder",
		"--role=join --log=d":                      "--store is not given: want a folder",
		"--role=log --log=d":                       "--listen is not given: want HOST:PORT",
		"--nats=embedded,nats://a:1":               "--nats embedded,nats://a:1: want embedded alone, or URLs",
		"--nats=a:1":                               `--nats "a:1": want embedded, or URLs like nats://HOST:PORT`,
		"--log=d --store=d --replicas=2":           "--replicas 2: want 1, 3 or 5",
		"--log=d --store=d --cluster=a:1":          `--cluster "a:1" and --routes "": want both, or neither`,
		"--role=log --log=d --listen=0.0.0.0:4222": "0.0.0.0:4222: other hosts may reach it, read and delete all",
		"--log=d --store=d --nats-user=u":          "a user without a password",
		"--nats=nats://a:1 --store=d --nats-user=u --nats-password=p": "nats://a:1: the password would be sent without TLS",
		"--nats=nats://a:1 --store=d --listen=:1":                     "there is no server in this process",
		"--log=d --store=d --partitions=0":                            "--partitions 0: want 1 to 256",
		"--log=d --store=d --hold=1ms":                                "--hold 1ms: want 1s or more",
		"--log=d --store=d --store-bytes=1":                           "--store-bytes 1: want 1048576 or more",
		"--log=d --store=d --http=8480":                               `--http "8480": want HOST:PORT, or none`,
		"--log=d --store=d --http=none":                               "--http none: want HOST:PORT for role serve",
		"--log=d --store=d --http=0.0.0.0:80":                         `--http "0.0.0.0:80": other hosts may reach it`,
		"--log=d --store=d --roles=r": "there are no users: want a file of users, or the " +
			"CA of their certificates, too",
		"--log=d --store=d --users=u --open":           "want users or --no-login",
		"--log=d --store=d --users=u --http-tls-key=k": `and its key "k": want both, or neither`,
		"--log=d --store=d --name=leaf1=10.0.0.1":      "--name leaf1=10.0.0.1: want ADDRESS=NAME",
		"--log=d --store=d --host=a:b":                 `--host "a:b": want up to 100 printable characters`,
		"--log=d --store=d --ipfix=4739":               `--ipfix "4739": want HOST:PORT`,
		"--log=d --store=d --pcap=a,a":                 `"a": want each once`,
		"--role=join --log=d --store=d --pcap=a":       "only role ingest reads",
		"--role=join --log=d --store=d --insecure":     "only role ingest reads switches",
		"--log=d --store=d --insecure --skip-verify":   "insecure means no TLS, but skip-verify",
		"--log=d --store=d --sketches=leaf1=there": `--sketches leaf1=there: target is "there", want ` +
			`HOST:PORT`,
		"--log=d --store=d --sketches=a|b=h:1":    `name is "a|b", want 1 to 32 visible`,
		"--log=d --store=d --records":             "--records: neither --interface nor --pcap is given",
		"--log=d --store=d --record-udp=here":     `--record-udp "here": want HOST:PORT`,
		"--log=d --store=d --record-udp=:0":       "--topology is not given: records are joined by",
		"--log=d --store=d --within=0s":           "--clock-error 1ms, --within 0s: want more than 0",
		"--role=serve --store=d --plan=p":         "--plan: only role join accepts it",
		"--log=d --store=d --alarm=1":             "--alarm 1: want a fraction of the packets",
		"--log=d --store=d --alarm=0.01":          "--alarm 0.01: there are no graphs: want the --paths",
		"--role=join --log=d --store=d --alarm=0": "--alarm: only role serve accepts it",
		"--log-format=xml":                        `--log-format "xml": want text or json`,
	} {
		code, _, errOut := tryRun(t, append([]string{"run"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, %swant %d and %q", args, code, errOut, command.ExitUsage, want)
		}
	}
}
