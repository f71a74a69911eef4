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

// All metrics in rules and dashboard are served, and the dashboard uses the provisioned data source.
func TestRulesAndDashboardAskForWhatIsServed(t *testing.T) {
	served := map[string]bool{}
	descs := make(chan *prometheus.Desc, 1000)
	New(nil, nil).Describe(descs)
	close(descs)
	for d := range descs {
		served[regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch(d.String())[1]] = true
	}
	const dir = "../../docker/observability"
	dashboard := filepath.Join(dir, "grafana/dashboards/tamtam.json")
	for _, file := range []string{filepath.Join(dir, "rules.yaml"), dashboard} {
		asked := regexp.MustCompile(`\btamtam_\w+`).FindAllString(string(read(t, file)), -1)
		if len(asked) == 0 {
			t.Errorf("%s asks for nothing", file)
		}
		for _, name := range asked {
			if !served[name] {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
	var d struct {
		UID    string
		Panels []struct {
			ID         int
			Datasource struct{ UID string }
			Targets    []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(read(t, dashboard), &d); err != nil || d.UID == "" || len(d.Panels) == 0 {
		t.Fatalf("%s: %v, %d panels", dashboard, err, len(d.Panels))
	}
	source := regexp.MustCompile(`uid: (\w+)`).FindSubmatch(read(t,
		filepath.Join(dir, "grafana/provisioning/datasources/prometheus.yaml")))
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Datasource.UID != string(source[1]) || len(p.Targets) == 0 {
			t.Errorf("panel %d: its id is taken, its data source %q is not %s, or it shows nothing", p.ID, p.Datasource.UID,
				source[1])
		}
		ids[p.ID] = true
	}
}

// Prometheus' own tool accepts the configuration, and the rules alert when they should.
func TestPromtoolTakesTheConfiguration(t *testing.T) {
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
