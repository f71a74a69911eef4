package chaos

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	otel "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/device/sender"
	"tamtam/mgmt"
	out "tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/alertmanager"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Paths of the external programs that TestCollectors uses: an OpenTelemetry collector, which is required, and
// optional ones.
const (
	otelcolVariable  = "TAMTAM_OTELCOL"
	gnmicVariable    = "TAMTAM_GNMIC"
	telegrafVariable = "TAMTAM_TELEGRAF"
)

const observability = "../../docker/observability"

// A collecting is a switch in this process, and its collectors.
type collecting struct {
	*testing.T
	dir   string
	redis *swss.Redis
	gnmi  string // address of the gNMI server
	http  string // address of /metrics
	ports map[string]string

	mu     sync.Mutex
	points map[string]otelPoint // received through the collector, by name and attributes
	dialed map[string]string    // values that the switch has published, by path
	why    []string             // errors in the messages
}

type otelPoint struct {
	value    float64
	start, t uint64
}

// port returns a free port number; it is always the same for a name.
func (c *collecting) port(name string) string {
	if c.ports[name] == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.Fatal(err)
		}
		defer l.Close()
		_, c.ports[name], _ = net.SplitHostPort(l.Addr().String())
	}
	return c.ports[name]
}

func (c *collecting) addr(name string) string { return "127.0.0.1:" + c.port(name) }

// file writes a file, and returns its path.
func (c *collecting) file(name, text string) string {
	path := filepath.Join(c.dir, name)
	devicetest.NoError(c.T, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// start starts a program. It is killed at the end of the test, or by kill.
func (c *collecting) start(name string, args ...string) (kill func()) {
	c.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, filepath.Base(name)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	devicetest.NoError(c.T, cmd.Start())
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c.Cleanup(kill)
	return kill
}

// until waits for a condition, long enough for a busy machine.
func (c *collecting) until(what string, good func() error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := good()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// get returns the content of a URL.
func get(url string) (string, error) {
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}

// TestCollectors checks that Prometheus, an OpenTelemetry collector, a syslog server and dial-out collectors have the
// switch's values. A collector that is killed and returns continues, and its missed data is counted.
func TestCollectors(t *testing.T) {
	otelcol := os.Getenv(otelcolVariable)
	if otelcol == "" {
		t.Skip(otelcolVariable + " names no collector: make northbound-test")
	}
	c := &collecting{
		T: t, dir: t.TempDir(), ports: map[string]string{}, points: map[string]otelPoint{},
		dialed: map[string]string{},
	}
	sink := httptest.NewServer(http.HandlerFunc(c.otlp))
	defer sink.Close()
	otelConfig := c.file("otelcol.yaml", strings.NewReplacer("0.0.0.0:4317", c.addr("grpc"), "0.0.0.0:4318",
		c.addr("http"),
		"http://prometheus:9090/api/v1/otlp", sink.URL).Replace(string(
		read(t, filepath.Join(observability, "otelcol.yaml")))))
	killCollector := c.start(otelcol, "--config", otelConfig)
	killSyslog := c.rsyslog()
	killAlerts := c.alertmanager()
	c.collect()
	c.up()
	c.prometheus()

	t.Log("Prometheus, OpenTelemetry and dial-out have the same counters as the switch")
	devicetest.NoError(t, os.WriteFile(filepath.Join(c.dir, quietFile), nil, 0o600))
	c.same()
	c.dashboards()
	c.alerts("pending objects", "OBJECTS_PENDING leaf1 1")
	c.subscribers()

	t.Log("a collector is away for longer than anything may wait")
	killCollector()
	otlp := "otlp-grpc-" + c.addr("grpc")
	c.until("messages that are too old", func() error {
		return c.row(otlp, func(r swss.FieldValues) bool {
			return r[schema.OutputStatus] == schema.OutputFailed && r[schema.OutputReason] != "" &&
				countOf(r[schema.OutputDropped+"old"]) > 2
		})
	})
	c.mu.Lock()
	clear(c.points)
	c.mu.Unlock()
	c.start(otelcol, "--config", otelConfig)
	c.until("the collector goes on", func() error {
		return c.row(otlp, func(r swss.FieldValues) bool {
			return r[schema.OutputStatus] == schema.OutputActive && countOf(r[schema.OutputWaiting]) < 2
		})
	})
	c.same()

	t.Log("a syslog server is away")
	c.line("the row that waits", `"STATUS"`, `key=\"bad\"`, `status=\"pending\"`)
	killSyslog()
	syslog := "syslog-tcp-" + c.addr("syslog")
	c.until("the syslog server is missed", func() error {
		return c.row(syslog, func(r swss.FieldValues) bool { return r[schema.OutputStatus] == schema.OutputFailed })
	})
	c.set("TAM_TAILSTAMPING_TABLE", "meanwhile", swss.FieldValues{"flowgroup": "nobody"})
	c.until("a line waits", func() error {
		return c.row(syslog, func(r swss.FieldValues) bool { return countOf(r[schema.OutputWaiting]) > 0 })
	})
	c.rsyslog()
	c.line("what was said meanwhile", `key=\"meanwhile\"`)

	t.Log("an Alertmanager is away, and has lost its alerts")
	killAlerts()
	c.until("the Alertmanager is missed", func() error {
		return c.row("alertmanager-http-"+c.addr("alerts"), func(r swss.FieldValues) bool {
			return r[schema.OutputStatus] == schema.OutputFailed
		})
	})
	c.alertmanager()
	c.alerts("more pending objects", "OBJECTS_PENDING leaf1 2")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, why := range c.why {
		t.Error(why)
	}
}

// readBody reads the body of a request, which may be compressed.
func readBody(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func countOf(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// up runs the switch, with traffic from Ethernet4 to Ethernet5.
func (c *collecting) up() {
	config := device.ConfigDB{
		"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "mac": "02:00:00:00:07:e4"}},
		"CRM":             {"Config": {"polling_interval": "1"}},
		"SYSLOG_SERVER":   {"127.0.0.1": {"port": c.port("syslog"), "protocol": "tcp"}},
		"TELEMETRY_CLIENT": {
			"Global":                 {"retry_interval": "1"},
			"DestinationGroup_here":  {"dst_addr": c.addr("sonic"), "protocol": "sonic"},
			"DestinationGroup_gnmic": {"dst_addr": c.addr("listen"), "protocol": "nokia"},
			"Subscription_ports": {"dst_group": "here", "report_type": "periodic", "report_interval": "1000",
				"paths": "/interfaces/interface[name=*]/state"},
			"Subscription_gnmic": {"dst_group": "gnmic", "report_type": "stream", "report_interval": "1000",
				"paths": "/interfaces/interface[name=*]/state/counters,/interfaces/interface[name=*]/state/oper-status-number"},
		},
		"TAM_TAILSTAMPING_TABLE": {"bad": {"flowgroup": "nobody"}},
	}
	for at, row := range keptRows() {
		table, key, _ := strings.Cut(at, "|")
		if config[table] == nil {
			config[table] = map[string]map[string]string{}
		}
		config[table][key] = row
	}
	to, err := out.ParseTarget("grpc://"+c.addr("grpc"), map[string]out.Scheme{"grpc": {}})
	if err != nil {
		c.Fatal(err)
	}
	alerts, err := out.ParseTarget("http://"+c.addr("alerts"), alertmanager.Schemes())
	if err != nil {
		c.Fatal(err)
	}
	c.http = c.addr("metrics")
	g := &generator{dir: c.dir}
	ready := make(chan string, 1)
	cfg := device.UpConfig{
		ChipConfig: daemons.ChipConfig{Profile: profile.Small(), Drive: g.drive}, Redis: "embedded",
		Startup: device.Startup{Rows: config}, Mgmt: mgmt.Config{Dir: c.dir, Addr: c.addr("gnmi"),
			Socket: filepath.Join(c.dir, "mgmt.sock"), Insecure: true},
		At: daemons.Addresses{Metrics: c.http, Version: "test", Send: sender.Flags{
			OTLP: []out.Target{to}, Alerts: []out.Target{alerts}, Period: time.Second,
			Bounds: out.Bounds{Bytes: 4 << 20, Age: 5 * time.Second},
		}},
		Ready: func(redis, gnmi, _ string) { c.gnmi = gnmi; ready <- redis },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- device.Up(ctx, cfg) }()
	c.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.Error(err)
		}
	})
	select {
	case redis := <-ready:
		if c.redis, err = swss.Open(c.Context(), redis); err != nil {
			c.Fatal(err)
		}
		c.Cleanup(func() { c.redis.Close() })
	case err := <-done:
		done <- err
		c.Fatal(err)
	}
	c.until("frames are counted", func() error {
		if c.counter("Ethernet4", "SAI_PORT_STAT_IF_IN_OCTETS") < 10000 {
			return errors.New("they are not")
		}
		return nil
	})
}

// counter returns a counter of a port in COUNTERS_DB.
func (c *collecting) counter(port, stat string) uint64 {
	db := c.redis.DB(swss.CountersDB).Client()
	oid := db.HGet(c.Context(), schema.CountersPortNameMap, port).Val()
	return countOf(db.HGet(c.Context(), schema.CountersTable+":"+oid, stat).Val())
}

func (c *collecting) set(table, key string, row swss.FieldValues) {
	devicetest.NoError(c.T, swss.NewTable(c.redis.DB(swss.ConfigDB), table).Set(c.Context(), key, row))
}

// row returns an error that contains the row of an output, unless the row fulfils a condition.
func (c *collecting) row(name string, good func(swss.FieldValues) bool) error {
	row, _, err := swss.NewTable(c.redis.DB(swss.StateDB), schema.StateOutput).Get(c.Context(), name)
	if err == nil && !good(row) {
		err = fmt.Errorf("%s is %v", name, row)
	}
	return err
}

// prometheus starts Debian's Prometheus with the configuration and rules of the tree, and checks its input with
// promtool.
func (c *collecting) prometheus() {
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			c.Fatalf("%v: Debian's prometheus", err)
		}
	}
	c.file("rules.yaml", string(read(c.T, filepath.Join(observability, "rules.yaml"))))
	conf := c.file("prometheus.yaml", strings.NewReplacer("mgmtd:9101", c.http, "_interval: 5s", "_interval: 1s",
		"alertmanager:9093", c.addr("alerts")).Replace(
		string(read(c.T, filepath.Join(observability, "prometheus.yaml")))))
	c.start("prometheus", "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(c.dir, "tsdb"),
		"--web.listen-address="+c.addr("prometheus"))
	text, err := get("http://" + c.http + "/metrics")
	if err != nil {
		c.Fatal(err)
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		c.Errorf("promtool: %v: %s", err, said)
	}
}

// errNoData means that a query has no result.
var errNoData = errors.New("it gives nothing")

// query queries Prometheus, and returns the values by series, or an error if there are none.
func (c *collecting) query(expr string) (map[string]float64, error) {
	text, err := get("http://" + c.addr("prometheus") + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("%s: %v, %s", expr, err, text)
	}
	values := map[string]float64{}
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		values[r.Metric["port"]+" "+r.Metric["direction"]] = v
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: %w", expr, errNoData)
	}
	return values, nil
}

// same waits until all collectors have the switch's counters, without traffic.
func (c *collecting) same() {
	c.Helper()
	c.until("the same counters", func() error {
		in, sent := c.counter("Ethernet4", "SAI_PORT_STAT_IF_IN_OCTETS"),
			c.counter("Ethernet5", "SAI_PORT_STAT_IF_OUT_OCTETS")
		prom, err := c.query("tamtam_port_bytes_total")
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range []struct {
			who  string
			has  float64
			want uint64
		}{
			{"Prometheus", prom["Ethernet4 in"], in}, {"Prometheus", prom["Ethernet5 out"], sent},
			{"OpenTelemetry", c.points["tamtam.port_bytes Ethernet4 in"].value, in},
			{"OpenTelemetry", c.points["tamtam.port_bytes Ethernet5 out"].value, sent},
			{"dial-out", float64(countOf(c.dialed["Ethernet4 in-octets"])), in},
			{"dial-out", float64(countOf(c.dialed["Ethernet5 out-octets"])), sent},
		} {
			if s.has != float64(s.want) || s.want == 0 {
				return fmt.Errorf("%s has %v, the switch %d", s.who, s.has, s.want)
			}
		}
		return nil
	})
}

// dashboards runs all queries of the dashboards in Prometheus. Each must be valid, and each panel of the switch's own
// dashboard must have data.
func (c *collecting) dashboards() {
	files, err := filepath.Glob(filepath.Join(observability, "grafana/dashboards/*.json"))
	devicetest.NoError(c.T, err)
	for _, file := range files {
		var d struct {
			UID    string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		devicetest.NoError(c.T, json.Unmarshal(read(c.T, file), &d))
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				c.until("panel "+p.Title, func() error {
					_, err := c.query(target.Expr)
					if d.UID != "tamtam" && errors.Is(err, errNoData) {
						return nil
					}
					return err
				})
			}
		}
	}
}

// alertmanager starts Debian's Alertmanager with the configuration of the tree.
func (c *collecting) alertmanager() (kill func()) {
	const program = "prometheus-alertmanager"
	if _, err := exec.LookPath(program); err != nil {
		c.Fatalf("%v: Debian's %s", err, program)
	}
	conf := c.file("alertmanager.yaml", string(read(c.T, filepath.Join(observability, "alertmanager.yaml"))))
	return c.start(program, "--config.file="+conf, "--storage.path="+c.T.TempDir(), "--cluster.listen-address=",
		"--web.listen-address="+c.addr("alerts"))
}

// alerts waits until Alertmanager has an alert with this alertname, instance and count.
func (c *collecting) alerts(what, want string) {
	c.Helper()
	c.until(what, func() error {
		text, err := get("http://" + c.addr("alerts") + "/api/v2/alerts")
		if err != nil {
			return err
		}
		var list []struct{ Labels, Annotations map[string]string }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		for _, a := range list {
			if a.Labels["alertname"]+" "+a.Labels["instance"]+" "+a.Annotations["count"] == want {
				return nil
			}
		}
		return fmt.Errorf("want %s, have %s", want, text)
	})
}

// otlp receives the metrics that the collector passes on.
func (c *collecting) otlp(w http.ResponseWriter, r *http.Request) {
	data, err := readBody(r)
	var req collector.ExportMetricsServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &req)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/metrics" {
		c.why = append(c.why, fmt.Sprintf("%s: %v", r.URL.Path, err))
		return
	}
	for _, rm := range req.GetResourceMetrics() {
		host := ""
		for _, a := range rm.GetResource().GetAttributes() {
			if a.GetKey() == "host.name" {
				host = a.GetValue().GetStringValue()
			}
		}
		if host != "leaf1" {
			c.why = append(c.why, fmt.Sprintf("metrics of the host %q", host))
		}
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				c.metric(m)
			}
		}
	}
}

func (c *collecting) metric(m *otel.Metric) {
	points := m.GetGauge().GetDataPoints()
	if s := m.GetSum(); s != nil {
		points = s.GetDataPoints()
		if !s.GetIsMonotonic() ||
			s.GetAggregationTemporality() != otel.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
			c.why = append(c.why, m.GetName()+" is no cumulative counter")
		}
	}
	for _, p := range points {
		key := m.GetName()
		for _, a := range p.GetAttributes() {
			key += " " + a.GetValue().GetStringValue()
		}
		if p.GetTimeUnixNano() <= c.points[key].t { // the collector sends several messages at once
			continue
		}
		v := p.GetAsDouble()
		if m.GetSum() != nil {
			v = float64(p.GetAsInt())
			if p.GetStartTimeUnixNano() == 0 || p.GetStartTimeUnixNano() > p.GetTimeUnixNano() {
				c.why = append(c.why, fmt.Sprintf("%s counts since %d, at %d", key, p.GetStartTimeUnixNano(), p.GetTimeUnixNano()))
			}
			if was := c.points[key]; v < was.value && p.GetStartTimeUnixNano() == was.start {
				c.why = append(c.why, fmt.Sprintf("%s went from %v to %v since %d", key, was.value, v, was.start))
			}
		}
		c.points[key] = otelPoint{v, p.GetStartTimeUnixNano(), p.GetTimeUnixNano()}
	}
}

// collect listens as a dial-out collector.
func (c *collecting) collect() {
	l, err := net.Listen("tcp", c.addr("sonic"))
	if err != nil {
		c.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
		for {
			m := &gpb.SubscribeResponse{}
			if err := st.RecvMsg(m); err != nil {
				return err
			}
			c.mu.Lock()
			if m.GetUpdate() != nil && m.GetUpdate().GetPrefix().GetTarget() != "leaf1" {
				c.why = append(c.why, fmt.Sprintf("dial-out of %q", m.GetUpdate().GetPrefix().GetTarget()))
			}
			for _, u := range m.GetUpdate().GetUpdate() {
				elems := append(m.GetUpdate().GetPrefix().GetElem(), u.GetPath().GetElem()...)
				port := ""
				for _, el := range elems {
					if el.GetName() == "interface" {
						port = el.GetKey()["name"]
					}
				}
				c.dialed[port+" "+elems[len(elems)-1].GetName()] = strings.Trim(string(u.GetVal().GetJsonIetfVal()), `"`)
			}
			c.mu.Unlock()
		}
	}))
	go s.Serve(l)
	c.Cleanup(s.Stop)
}

// rsyslog starts Debian's rsyslogd, which writes each parsed line as JSON.
func (c *collecting) rsyslog() (kill func()) {
	if _, err := exec.LookPath("rsyslogd"); err != nil {
		c.Fatalf("%v: Debian's rsyslog", err)
	}
	conf := c.file("rsyslog.conf", fmt.Sprintf(`global(workDirectory=%q)
module(load="imtcp")
input(type="imtcp" address="127.0.0.1" port=%q)
template(name="all" type="list" option.jsonf="on") {
  property(outname="host" name="hostname" format="jsonf")
  property(outname="app" name="app-name" format="jsonf")
  property(outname="id" name="msgid" format="jsonf")
  property(outname="data" name="structured-data" format="jsonf")
  property(outname="text" name="msg" format="jsonf")
}
action(type="omfile" file=%q template="all")
`, c.dir, c.port("syslog"), filepath.Join(c.dir, "lines.json")))
	return c.start("rsyslogd", "-n", "-f", conf, "-i", filepath.Join(c.dir, "rsyslog.pid"))
}

// line waits for a line that contains all these texts.
func (c *collecting) line(what string, texts ...string) {
	c.Helper()
	c.until(what, func() error {
		all, err := os.ReadFile(filepath.Join(c.dir, "lines.json"))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(all) {
			has := bytes.Contains(line, []byte(`"host":"leaf1"`)) && bytes.Contains(line, []byte(`"app":"tamtam"`))
			for _, text := range texts {
				has = has && bytes.Contains(line, []byte(text))
			}
			if has {
				return nil
			}
		}
		return fmt.Errorf("no line has it:\n%s", all)
	})
}

// subscribers runs programs that subscribe, or receive dial-out, with the configurations of the tree. Their values
// for Prometheus must be the switch's. Each runs only if a variable names it.
func (c *collecting) subscribers() {
	for _, s := range []struct {
		variable, file, from, to, listen string
		args                             []string // arguments after the file name
	}{
		{gnmicVariable, "gnmic.yaml", "mgmtd:8080", c.gnmi, "0.0.0.0:9804", []string{"subscribe"}},
		{gnmicVariable, "gnmic-listen.yaml", "0.0.0.0:57400", c.addr("listen"), "0.0.0.0:9805", []string{"listen"}},
		{telegrafVariable, "telegraf.conf", "mgmtd:8080", c.gnmi, ":9273", nil},
	} {
		program := os.Getenv(s.variable)
		if program == "" {
			c.Logf("%s names no program: %s is left out", s.variable, s.file)
			continue
		}
		metrics := c.addr("metrics of " + s.file)
		conf := c.file(s.file, strings.NewReplacer(s.from, s.to, s.listen, metrics, "skip-verify", "insecure",
			"tls_enable = true", "tls_enable = false").Replace(string(read(c.T, filepath.Join(observability, s.file)))))
		c.start(program, append([]string{"--config", conf}, s.args...)...)
		c.until(s.file, func() error {
			text, err := get("http://" + metrics + "/metrics")
			if err != nil {
				return err
			}
			want := c.counter("Ethernet4", "SAI_PORT_STAT_IF_IN_OCTETS")
			for name, want := range map[string]float64{
				`in_octets`: float64(want), `oper_status_number`: 1,
			} {
				line := regexp.MustCompile(`(?m)^\w*` + name + `\{[^}]*"Ethernet4"[^}]*\} (\S+)`).FindStringSubmatch(text)
				if line == nil {
					return fmt.Errorf("no %s in\n%s", name, text)
				}
				if v, err := strconv.ParseFloat(line[1], 64); err != nil || v != want {
					return fmt.Errorf("%s is %s, want %v", name, line[1], want)
				}
			}
			return nil
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
