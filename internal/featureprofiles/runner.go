package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

//go:embed config_db.json
var config []byte

const (
	startTime = time.Minute      // for a switch
	testTime  = 40 * time.Minute // for a folder: some tests wait two minutes after each change
)

// A runner runs tests, each on a switch of its own.
type runner struct {
	dir        string // with src/featureprofiles, bin and log
	tamtam     string
	deviations []string
}

// run runs the tests of a folder and returns their results by name: PASS, FAIL or SKIP.
func (r *runner) run(ctx context.Context, f *folder) (map[string]string, error) {
	name := filepath.Base(f.path)
	binary := filepath.Join(r.dir, "bin", name+".test")
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the test binary is missing: %w", err)
	}
	work, err := os.MkdirTemp("", "featureprofiles")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	logs, outputs := filepath.Join(r.dir, "log"), filepath.Join(work, "out")
	if err := errors.Join(os.MkdirAll(logs, 0o755), os.Mkdir(outputs, 0o755)); err != nil {
		return nil, err
	}
	testbed, err := r.prepare(f, work)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if err := writeBinding(filepath.Join(work, "binding"), testbed, address); err != nil {
		return nil, err
	}
	stop, err := r.start(ctx, work, address, filepath.Join(logs, name+".switch"))
	if err != nil {
		return nil, err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-testbed", testbed, "-binding", filepath.Join(work, "binding"),
		"-outputs_dir", outputs, "-alsologtostderr=false")
	cmd.Dir = filepath.Join(work, "test")
	said, err := cmd.CombinedOutput()
	if err := os.WriteFile(filepath.Join(logs, name+".log"), said, 0o644); err != nil {
		return nil, err
	}
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return parseResults(said), err
	}
	return parseResults(said), nil
}

var resultLine = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// parseResults returns the results in the output of a test binary.
func parseResults(said []byte) map[string]string {
	results := map[string]string{}
	for _, m := range resultLine.FindAllSubmatch(said, -1) {
		results[string(m[2])] = string(m[1])
	}
	return results
}

var testbedLine = regexp.MustCompile(`(?m)^testbed: +TESTBED_(\w+)`)

// testbeds are the files of the testbeds of metadata.textproto.
var testbeds = map[string]string{
	"DUT": "dut", "DUT_2LINKS": "dut_2links", "DUT_ATE_2LINKS": "atedut_2", "DUT_ATE_4LINKS": "atedut_4",
	"DUT_DUT_4LINKS": "dutdut",
}

// prepare copies a folder of tests to work/test, with the deviations, and returns the file of its testbed.
func (r *runner) prepare(f *folder, work string) (string, error) {
	source := filepath.Join(r.dir, "src", "featureprofiles")
	copied := filepath.Join(work, "test")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(source, f.path))); err != nil {
		return "", err
	}
	file := filepath.Join(copied, "metadata.textproto")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := testbedLine.FindSubmatch(text)
	if m == nil || testbeds[string(m[1])] == "" {
		return "", fmt.Errorf("%s/metadata.textproto: want a testbed DUT, DUT_2LINKS, DUT_ATE_2LINKS, DUT_ATE_4LINKS "+
			"or DUT_DUT_4LINKS", f.path)
	}
	ours := "\nplatform_exceptions {\n  platform { vendor: OPENCONFIG }\n  deviations {\n    " +
		strings.Join(r.deviations, "\n    ") + "\n  }\n}\n"
	testbed := filepath.Join(source, "topologies", testbeds[string(m[1])]+".testbed")
	return testbed, os.WriteFile(file, append(text, ours...), 0o600)
}

var (
	deviceBlock = regexp.MustCompile(`(?ms)^(dut|ate)s \{\s+id: "(\w+)".*?^\}`)
	portID      = regexp.MustCompile(`ports +\{\s+id: "port(\d)"`)
)

// writeBinding writes a static binding for a testbed: the switch at an address, and no traffic generator.
func writeBinding(file, testbed, address string) error {
	text, err := os.ReadFile(testbed)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, device := range deviceBlock.FindAllSubmatch(text, -1) {
		kind, id := string(device[1]), string(device[2])
		fmt.Fprintf(&b, "%ss {\n  id: %q\n  name: %q\n  options { insecure: true }\n", kind, id, id)
		if kind == "dut" {
			fmt.Fprintf(&b, "  vendor: OPENCONFIG\n  hardware_model: \"tamtam\"\n  software_version: \"1\"\n"+
				"  gnmi { target: %q }\n  gnoi { target: %q }\n", address, address)
		} else {
			fmt.Fprintf(&b, "  otg { target: \"127.0.0.1:1\" }\n")
		}
		for _, port := range portID.FindAllSubmatch(device[0], -1) {
			n := port[1][0] - '1' // the switch has ports Ethernet0, 4, 8 and 12
			fmt.Fprintf(&b, "  ports { id: \"port%d\" name: \"Ethernet%d\" speed: S_100GB }\n", n+1, 4*n)
		}
		b.WriteString("}\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// start starts a switch and waits until it is up. The returned function ends it.
func (r *runner) start(ctx context.Context, work, address, logFile string) (func(), error) {
	configFile := filepath.Join(work, "config_db.json")
	if err := os.WriteFile(configFile, config, 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(r.tamtam, "up", "--config", configFile, "--gnmi", address, "--insecure", "--data", work)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	}
	for deadline := time.Now().Add(startTime); ; time.Sleep(100 * time.Millisecond) {
		said, err := os.ReadFile(logFile)
		switch {
		case err == nil && bytes.Contains(said, []byte("the switch is up")):
			return stop, nil
		case ctx.Err() != nil || time.Now().After(deadline):
			stop()
			return nil, fmt.Errorf("the switch is not up after %v: see %s", startTime, logFile)
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the switch has ended: %v; see %s", err, logFile)
		default:
		}
	}
}

// writeEdits writes the edited copies of test sources, and overlay.json, which maps the sources to them.
func writeEdits(dir string, t *table) error {
	overlay := map[string]map[string]string{"Replace": {}}
	for _, f := range t.folders {
		if len(f.edits) == 0 {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "src", "featureprofiles", f.path, "*.go"))
		if err != nil {
			return err
		}
		if len(files) != 1 {
			return fmt.Errorf("%s has %d source files, want one for its edits", f.path, len(files))
		}
		to := filepath.Join(dir, "edited", f.path, filepath.Base(files[0]))
		if err := writeEdited(files[0], to, f.edits); err != nil {
			return err
		}
		overlay["Replace"][files[0]] = to
	}
	text, err := json.MarshalIndent(overlay, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "edited", "overlay.json"), append(text, '\n'), 0o644)
}

// writeEdited writes an edited copy of a file. An edit replaces each occurrence of its old text; there must be one.
func writeEdited(source, to string, edits []replacement) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	edited := string(text)
	for _, e := range edits {
		if !strings.Contains(edited, e.old) {
			return fmt.Errorf("%s has no %q to edit", source, e.old)
		}
		edited = strings.ReplaceAll(edited, e.old, e.new)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(edited), 0o644)
}
