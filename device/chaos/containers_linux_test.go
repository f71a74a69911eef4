package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
)

// containersVariable is set where tests may start containers, of the image tamtam (make image).
const containersVariable = "TAMTAM_CONTAINERS"

// inhabited lists the containers of a switch that keep running.
var inhabited = []string{"redis", "syncd", "orchagent", "tammgrd", "mgmtd"}

// A composition is a switch of containers.
type composition struct {
	*testing.T
	env []string
}

// compose prepares the containers of docker/compose.yaml and of the named files beside it, in a project of their own.
// override, if not "", adds settings. It skips the test if containers cannot be run.
func compose(t *testing.T, config device.ConfigDB, override string, files ...string) *composition {
	if os.Getenv(containersVariable) == "" {
		t.Skip("containers take minutes: see make chaos and make upgrade")
	}
	for _, needed := range [][]string{{"docker", "info"}, {"docker", "image", "inspect", "tamtam"},
		{"../../docker/compose.sh", "version"}} {
		if out, err := exec.Command(needed[0], needed[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no containers here: %s: %v: %s", strings.Join(needed, " "), err, lastLine(out))
		}
	}
	dir := t.TempDir()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config_db.json": string(text), "override.yaml": override} {
		devicetest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the containers' users read it
		t.Fatal(err)
	}
	files = append([]string{"compose.yaml"}, files...)
	if override != "" {
		files = append(files, filepath.Join(dir, "override.yaml"))
	}
	c := &composition{t, []string{
		"COMPOSE_FILE=" + strings.Join(files, ":"), "COMPOSE_PROJECT_NAME=tamtam" + strconv.Itoa(os.Getpid()),
		"TAMTAM_CONFIG=" + filepath.Join(dir, "config_db.json"), "TAMTAM_GNMI=127.0.0.1:0", "TAMTAM_IMAGE=tamtam",
	}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", c.run(nil, "../../docker/compose.sh", "logs", "--no-color", "--tail=12"))
		}
		c.run(nil, "../../docker/compose.sh", "down", "-v", "-t", "1")
	})
	return c
}

func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// run runs a command with additional variables and returns its output. If it fails, the output begins with the error.
func (c *composition) run(env []string, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(append(os.Environ(), c.env...), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// must acts like run, but ends the test on an error.
func (c *composition) must(env []string, name string, args ...string) string {
	c.Helper()
	out := c.run(env, name, args...)
	if strings.HasPrefix(out, name+" ") {
		c.Fatal(out)
	}
	return out
}

func (c *composition) up(services ...string) {
	c.Helper()
	c.must(nil, "../../docker/compose.sh", append([]string{"up", "-d"}, services...)...)
}

// id returns the container of a service.
func (c *composition) id(service string) string {
	c.Helper()
	return strings.TrimSpace(c.must(nil, "../../docker/compose.sh", "ps", "-q", service))
}

// A container is Docker's description of a container.
type container struct {
	ID    string `json:"Id"`
	State struct {
		Running, Paused bool
		Pid             int
		Health          struct {
			Status string
			Log    []struct{ Output string }
		}
	}
	NetworkSettings struct {
		Networks map[string]struct{ IPAddress string }
	}
}

func (c *composition) inspect(id string) (v container) {
	c.Helper()
	var all []container
	if err := json.Unmarshal([]byte(c.must(nil, "docker", "inspect", id)), &all); err != nil || len(all) != 1 {
		c.Fatalf("docker inspect %s: %v", id, err)
	}
	return all[0]
}

// healthy reports whether Docker reports the container as healthy, and the last message of its check.
func (v container) healthy() (bool, string) {
	said := "nothing yet"
	if log := v.State.Health.Log; len(log) > 0 {
		said = strings.TrimSpace(log[len(log)-1].Output)
	}
	return v.State.Running && v.State.Health.Status == "healthy", v.State.Health.Status + ": " + said
}

func (v container) address() string {
	for _, n := range v.NetworkSettings.Networks {
		return n.IPAddress
	}
	return ""
}

// allHealthy waits until all containers are healthy; ids are by service.
func (c *composition) allHealthy(ids map[string]string) {
	c.Helper()
	for end := time.Now().Add(2 * patience); ; {
		sick := ""
		for _, name := range inhabited {
			if ok, said := c.inspect(ids[name]).healthy(); !ok {
				sick += "\n" + name + " is " + said
			}
		}
		if sick == "" {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("not all containers are healthy within %s:%s", 2*patience, sick)
		}
		select {
		case <-c.Context().Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// redisAt returns the Redis of a container, whether it answers or not.
func (c *composition) redisAt(address string) *swss.Redis {
	cfg, err := swss.DefaultConfig(address + ":6379")
	if err != nil {
		c.Fatal(err)
	}
	r := swss.Look(cfg)
	c.Cleanup(func() { r.Close() })
	return r
}

// memory returns the resident memory of a process, in bytes.
func memory(t *testing.T, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("process %d has ended", pid)
	}
	n, _ := strconv.Atoi(string(found[1])) // no error: the text has only digits
	return n << 10
}
