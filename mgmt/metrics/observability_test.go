package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// All metrics in rules and dashboards are served or recorded by a rule, and the dashboards use the provisioned data
// source. Each recording rule is in use, and all names of dashboards and panels are unique.
func TestRulesAndDashboardsAskForWhatIsServed(t *testing.T) {
	served, recorded := map[string]bool{}, map[string]int{}
	descs := make(chan *prometheus.Desc, 1000)
	New(nil, nil).Describe(descs)
	close(descs)
	for d := range descs {
		served[regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch(d.String())[1]] = true
	}
	const dir = "../../docker/observability"
	rules := filepath.Join(dir, "rules.yaml")
	for _, m := range regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(string(read(t, rules)), -1) {
		recorded[m[1]] = 0
	}
	dashboards, err := filepath.Glob(filepath.Join(dir, "grafana/dashboards/*.json"))
	if err != nil || len(dashboards) < 2 {
		t.Fatalf("dashboards %v, %v", dashboards, err)
	}
	for _, file := range append(dashboards, rules) {
		asked := regexp.MustCompile(`[\w:]*\btamtam_[\w:]+|\w[\w:]*:tamtam_[\w:]+`).FindAllString(string(read(t, file)), -1)
		if len(asked) == 0 {
			t.Errorf("%s asks for nothing", file)
		}
		for _, name := range asked {
			if _, is := recorded[name]; is {
				recorded[name]++
			} else if !served[name] {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
	for name, n := range recorded {
		if n < 2 {
			t.Errorf("nothing asks for %s", name)
		}
	}
	source := regexp.MustCompile(`uid: (\w+)`).FindSubmatch(read(t,
		filepath.Join(dir, "grafana/provisioning/datasources/prometheus.yaml")))
	uids := map[string]bool{}
	for _, file := range dashboards {
		var d struct {
			UID    string
			Panels []struct {
				ID         int
				Datasource struct{ UID string }
				Targets    []struct{ Expr, RefID string }
			}
		}
		if err := json.Unmarshal(read(t, file), &d); err != nil || d.UID == "" || uids[d.UID] || len(d.Panels) == 0 {
			t.Fatalf("%s: %v, uid %q, %d panels", file, err, d.UID, len(d.Panels))
		}
		uids[d.UID] = true
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Datasource.UID != string(source[1]) || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d: its id is taken, its data source %q is not %s, or it shows nothing", file, p.ID,
					p.Datasource.UID, source[1])
			}
			ids[p.ID] = true
		}
	}
}

// Prometheus' own tool accepts the configuration, and the rules alert when they should.
func TestPromtoolAcceptsTheConfiguration(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = "../../docker/observability"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
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
