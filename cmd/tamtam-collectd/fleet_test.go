package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamtam/internal/command"
)

// tryRun runs the program, and returns its exit code and output.
func tryRun(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// A small fleet's data passes through JetStream into Parquet files, which contain the sent data.
func TestFleet(t *testing.T) {
	dir := t.TempDir()
	code, out, errOut := tryRun(t, "fleet", "--leaves=4", "--spines=2", "--flows=60", "--stamps=6000", "--time=20s",
		"--alive=10s", "--partitions=2", "--dir="+dir)
	if code != 0 || errOut != "" {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	for _, want := range []string{`(?m)^stamps +6000$`, `(?m)^stamps/s/core +[1-9]`, `(?m)^MB of memory at most +[1-9]`,
		`(?m)^store equals what was sent +yes$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "store/hops/tailstamp-1.*.parquet"))
	if err != nil || len(files) == 0 {
		t.Errorf("%d files of hops, %v", len(files), err)
	}
}

func TestFleetFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                           "--dir is not given: want a folder",
		"--dir=d --replicas=2":       "--replicas 2: want 1 or 3",
		"--dir=d --window=0s":        "--window 0s: want more than 0",
		"--dir=d --memory=3":         "--memory 3: want 64 MiB or more",
		"--dir=d --leaves=1":         "1 leaves and 16 spines: want 2 and 1 or more",
		"--dir=d --pace=-1":          "-1 stamps each second: want 0 or more",
		"--dir=d --joined-elsewhere": "--joined-elsewhere without --nats: want the URLs",
		"--dir=d --stamps=many":      `invalid argument "many" for "--stamps"`,
		"fast":                       `"fast": this command accepts only flags`,
	} {
		code, _, errOut := tryRun(t, append([]string{"fleet"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, %swant %d and %q", args, code, errOut, command.ExitUsage, want)
		}
	}
}
