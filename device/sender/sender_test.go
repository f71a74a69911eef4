package sender

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/mgmt/metrics"
	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/alertmanager"
	"tamtam/mgmt/outputs/otlp"
	"tamtam/mgmt/outputs/syslog"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A bench is a sender on databases, and a syslog server.
type bench struct {
	*testing.T
	redis   *swss.Redis
	lines   net.PacketConn
	standby atomic.Bool
	sender  *Sender
}

func newBench(t *testing.T, flags Flags) *bench {
	b := &bench{T: t, redis: swsstest.Start(t)}
	lines, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lines.Close() })
	b.lines = lines
	b.sender = New(Config{
		Flags: flags, Redis: b.redis, Metrics: metrics.New(b.redis, nil), Version: "1", Standby: b.standby.Load,
	})
	return b
}

// run runs the sender until the test ends.
func (b *bench) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- b.sender.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
}

// put writes a row.
func (b *bench) put(db swss.DBName, table, key string, fields ...string) {
	b.Helper()
	row := swss.FieldValues{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		row[name] = value
	}
	if err := swss.NewTable(b.redis.DB(db), table).Set(b.Context(), key, row); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) del(db swss.DBName, table, key string) {
	b.Helper()
	if err := swss.NewTable(b.redis.DB(db), table).Del(b.Context(), key); err != nil {
		b.Fatal(err)
	}
}

// line returns the next line with a text that the syslog server receives.
func (b *bench) line(with string) string {
	b.Helper()
	buf := make([]byte, 65536)
	if err := b.lines.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		b.Fatal(err)
	}
	for {
		n, _, err := b.lines.ReadFrom(buf)
		if err != nil {
			b.Fatalf("no line with %q: %v", with, err)
		}
		if line := string(buf[:n]); strings.Contains(line, with) {
			return line
		}
	}
}

// row waits until the row of an output fulfils a condition.
func (b *bench) row(name string, good func(row swss.FieldValues) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		row, _, err := swss.NewTable(b.redis.DB(swss.StateDB), schema.StateOutput).Get(ctx, name)
		if err == nil && good(row) {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("the row of %s is %v, %v", name, row, err)
		case <-tick.C:
		}
	}
}

// A row of SYSLOG_SERVER is an output that receives changes, with the severity of the change. An invalid row is
// reported as such. The output ends with its row.
func TestSyslogServer(t *testing.T) {
	b := newBench(t, Flags{})
	_, port, _ := net.SplitHostPort(b.lines.LocalAddr().String())
	b.put(swss.ConfigDB, schema.CfgDeviceMetadata, schema.MetadataKey, "hostname=leaf1")
	b.put(swss.ConfigDB, schema.CfgSyslogServer, "127.0.0.1", "port="+port)
	b.put(swss.ConfigDB, schema.CfgSyslogServer, "192.0.2.1", "vrf=mgmt")
	b.put(swss.StateDB, schema.StateTAMTailStamp, "old", "status=active")
	b.put(swss.StateDB, schema.StateTAMTailStamp, "bad", "status=failed", "reason=no")
	b.run()
	name := "syslog-udp-127.0.0.1:" + port
	b.row(name, func(row swss.FieldValues) bool {
		return row[schema.OutputStatus] == schema.OutputActive && row[schema.OutputTo] == "udp://127.0.0.1:"+port
	})
	b.row("syslog-192.0.2.1", func(row swss.FieldValues) bool {
		return row[schema.OutputStatus] == schema.OutputInvalid && strings.Contains(row[schema.OutputReason], "vrf")
	})
	if line := b.line("TAM_TAILSTAMPING_TABLE"); !strings.HasPrefix(line, "<27>1 ") ||
		!strings.Contains(line, " leaf1 tamtam - STATUS ") ||
		!strings.Contains(line, `key="bad" status="failed" reason="no"`) {
		t.Error(line)
	}
	b.put(swss.StateDB, schema.StateTAMTailStamp, "bad", "status=active", "reason=")
	if line := b.line(`key="bad"`); !strings.HasPrefix(line, "<29>1 ") || !strings.Contains(line, "|bad is active") {
		t.Error(line)
	}
	b.put(swss.ApplDB, schema.AppPort, "Ethernet0", "oper_status=down")
	b.line("port Ethernet0 is down")
	b.put(swss.ApplDB, schema.AppPort, "Ethernet0", "oper_status=up")
	b.line("port Ethernet0 is up")
	b.put(swss.StateDB, schema.StateAlarm, "syncd-silent", "severity=CRITICAL", "text=nothing was heard")
	if line := b.line("alarm syncd-silent: nothing was heard"); !strings.HasPrefix(line, "<26>1 ") {
		t.Error(line)
	}
	b.del(swss.StateDB, schema.StateAlarm, "syncd-silent")
	b.line("alarm syncd-silent is over")
	b.put(swss.StateDB, schema.StateHealth, "syncd", "state=waiting", "reason=starting")
	b.line("syncd is waiting: starting")
	b.del(swss.StateDB, schema.StateTAMTailStamp, "old")
	b.line("|old is gone")
	b.sender.Report(syslog.Message{At: time.Now(), Audit: true, Severity: syslog.Info, ID: "AUDIT", Text: "ada sets"})
	if line := b.line("ada sets"); !strings.HasPrefix(line, "<110>1 ") {
		t.Error(line)
	}
	b.row(name, func(row swss.FieldValues) bool { return row[schema.OutputSent] >= "9" })
	b.standby.Store(true)
	// now another mgmtd owns the row
	b.row(name, func(swss.FieldValues) bool { return len(b.sender.syslogs()) == 0 })
	b.standby.Store(false)
	b.row(name, func(swss.FieldValues) bool { return len(b.sender.syslogs()) == 1 })
	b.del(swss.ConfigDB, schema.CfgSyslogServer, "127.0.0.1")
	b.row(name, func(row swss.FieldValues) bool { return len(row) == 0 })
}

// A collector that is given by a flag receives the content of /metrics, and the output has its own row.
func TestOTLPByFlag(t *testing.T) {
	got := make(chan int, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got <- len(text)
	}))
	defer s.Close()
	to, err := outputs.ParseTarget(s.URL, otlp.Schemes())
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Flags{OTLP: []outputs.Target{to}, Period: 50 * time.Millisecond})
	b.run()
	for range 2 {
		if n := <-got; n == 0 {
			t.Error("nothing came")
		}
	}
	b.row("otlp-http-127.0.0.1:"+to.Port, func(row swss.FieldValues) bool {
		return row[schema.OutputStatus] == schema.OutputActive && row[schema.OutputDropped+"full"] == "0"
	})
}

// Inconsistent rows of TELEMETRY_CLIENT are reported, with what would be valid.
func TestDials(t *testing.T) {
	good := map[string]map[string]string{
		"Global":             {"retry_interval": "5"},
		"DestinationGroup_g": {"dst_addr": "10.0.0.1:8080,[2001:db8::1]:8080", "protocol": "sonic"},
		"Subscription_s": {"dst_group": "g", "paths": "/interfaces", "report_type": "periodic",
			"path_target": "OC_YANG"},
		"Subscription_nobody": {"dst_group": "h", "paths": "/interfaces"},
		"Subscription_none":   {"dst_group": "g"},
		"Subscription_bad":    {"dst_group": "g", "report_type": "often"},
		"Other":               {},
	}
	d := newDials(good)
	sp, err := d.spec("s", "leaf1")
	if err != nil || sp.name != "dial-out-s" || sp.to != "sonic://10.0.0.1:8080, sonic://[2001:db8::1]:8080" {
		t.Errorf("%+v, %v", sp, err)
	}
	for name, want := range map[string]string{"nobody": "DestinationGroup_h", "none": "paths"} {
		if _, err := d.spec(name, "leaf1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s in it", name, err, want)
		}
	}
	if len(d.bad) != 2 || d.bad["dial-out-bad"] == nil || d.bad["dial-out-Other"] == nil {
		t.Errorf("%v", d.bad)
	}
}

// An Alertmanager gets each alarm with its count when it is raised, and its end when it is cleared. Alarms that are
// raised while the Alertmanager is away come later.
func TestAlertmanager(t *testing.T) {
	type alert struct {
		Labels, Annotations map[string]string
		EndsAt              time.Time
	}
	got := make(chan []alert, 100)
	var away atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list []alert
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil || r.URL.Path != "/api/v2/alerts" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		if away.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		got <- list
	}))
	defer s.Close()
	to, err := outputs.ParseTarget(s.URL, alertmanager.Schemes())
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Flags{Alerts: []outputs.Target{to}})
	b.put(swss.ConfigDB, schema.CfgDeviceMetadata, schema.MetadataKey, "hostname=leaf1")
	raise := func(id string, fields ...string) {
		b.put(swss.StateDB, schema.StateAlarm, id, append(fields, "resource=PORT", "severity=MAJOR")...)
	}
	raise("PORT-1", "type-id=OBJECTS_FAILED", "count=3", "text=3 failed")
	b.run()
	until := func(want string) {
		t.Helper()
		last := ""
		for timeout := time.After(time.Minute); ; {
			select {
			case list := <-got:
				last = ""
				for _, a := range list {
					last += a.Labels["instance"] + " " + a.Labels["alarm"] + " " + a.Annotations["count"]
					if !a.EndsAt.After(time.Now()) {
						last += " over"
					}
					last += ";"
				}
				if last == want {
					return
				}
			case <-timeout:
				t.Fatalf("the last message has %q, want %q", last, want)
			}
		}
	}
	until("leaf1 PORT-1 3;")
	raise("PORT-1", "type-id=OBJECTS_FAILED", "count=4", "text=4 failed")
	until("leaf1 PORT-1 4;")
	name := nameOf(kindAlerts, to)
	away.Store(true)
	raise("PORT-2", "type-id=MTU_ABOVE_WIRE", "text=too long")
	b.row(name, func(row swss.FieldValues) bool {
		return row[schema.OutputStatus] == schema.OutputFailed && strings.HasPrefix(row[schema.OutputReason], "500")
	})
	b.del(swss.StateDB, schema.StateAlarm, "PORT-1")
	away.Store(false)
	until("leaf1 PORT-2 1;leaf1 PORT-1 4 over;")
	b.row(name, func(row swss.FieldValues) bool {
		return row[schema.OutputStatus] == schema.OutputActive && row[schema.OutputWaiting] == "0"
	})
}

// While the databases do not answer, one alarm reports that. It is not raised for a moment without an answer.
func TestAlertsWithoutDatabases(t *testing.T) {
	cfg, err := swss.DefaultConfig("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	r := swss.Look(cfg)
	defer r.Close()
	l := swss.NewListener(r)
	defer l.Close()
	a := &alerts{table: swss.NewSubscriber(l, r.DB(swss.StateDB), schema.StateAlarm).Bound(),
		alarms: alertmanager.NewAlarmStore("leaf1")}
	now := time.Now()
	a.alarms.Raise(now, alertmanager.Alarm{ID: "syncd-silent", Type: "SILENT", Severity: "CRITICAL"})
	for _, tt := range []struct {
		after time.Duration
		want  bool // there is a change
	}{{0, false}, {quiet - 1, false}, {quiet, true}, {2 * quiet, false}} {
		if got := a.read(t.Context(), now.Add(tt.after)); got != tt.want {
			t.Errorf("after %v: %v, want %v", tt.after, got, tt.want)
		}
	}
	text := string(a.alarms.Message(now.Add(2 * quiet)))
	if !strings.Contains(text, "DATABASES_SILENT") || !strings.Contains(text, "syncd-silent") {
		t.Errorf("the message is %s", text)
	}
}
