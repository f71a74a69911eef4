package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// heavy are modules that only the fleet's collector may link: they take longer to compile than tamtam's own code.
var heavy = []string{natsServer, natsClient, parquetgo}

// heavyMain is the only program that links the heavy modules.
const heavyMain = module + "/cmd/tamtam-collectd"

// Every developer builds tamtam, so it stays light, and so do all programs except one.
func TestOneProgramIsHeavy(t *testing.T) {
	out, err := exec.Command("go", "list", "-f",
		`{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 0 {
			programs[words[0]] = words[1:]
		}
	}
	if !slices.Contains(programs[module+"/cmd/tamtam"], module+"/cli") {
		t.Fatalf("go list found %d programs, and not tamtam with its shell", len(programs))
	}
	for program, packages := range programs {
		for _, m := range heavy {
			links := slices.ContainsFunc(packages, func(p string) bool { return within(p, m) })
			if links != (program == heavyMain) {
				t.Errorf("%s links %s: %v, and only %s is to", program, m, links, heavyMain)
			}
		}
	}
}

// linked lists the modules that tamtam may link, directly or indirectly. Each further module makes every build larger
// and slower, so it must justify this cost.
var linked = rooms(`
	codeberg.org/go-fonts/liberation codeberg.org/go-latex/latex codeberg.org/go-pdf/fpdf git.sr.ht/~sbinet/gg
	github.com/DataDog/sketches-go github.com/ajstarks/svgo github.com/alicebob/miniredis/v2 github.com/beorn7/perks
	github.com/cespare/xxhash/v2 github.com/crillab/gophersat github.com/golang/freetype github.com/golang/glog
	github.com/google/go-cmp github.com/kylelemons/godebug github.com/munnerz/goautoneg
	github.com/openconfig/gnmi github.com/openconfig/goyang github.com/openconfig/ygot github.com/prometheus/client_golang
	github.com/prometheus/client_model github.com/prometheus/common github.com/prometheus/procfs
	github.com/redis/go-redis/v9 github.com/spf13/cobra github.com/spf13/pflag github.com/vishvananda/netlink
	github.com/vishvananda/netns github.com/yuin/gopher-lua go.opentelemetry.io/proto/slim/otlp go.uber.org/atomic
	go.yaml.in/yaml/v3 golang.org/x/crypto golang.org/x/exp golang.org/x/image golang.org/x/net golang.org/x/sync
	golang.org/x/sys golang.org/x/term golang.org/x/text gonum.org/v1/plot google.golang.org/genproto/googleapis/rpc
	google.golang.org/grpc google.golang.org/protobuf`)

func TestModulesOfTamtam(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		module+"/cmd/tamtam").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	got = slices.DeleteFunc(slices.Compact(got), func(m string) bool { return m == module })
	for _, m := range got {
		if !slices.Contains(linked, m) {
			t.Errorf("tamtam links %s, of which the list has nothing", m)
		}
	}
	for _, m := range linked {
		if !slices.Contains(got, m) {
			t.Errorf("tamtam links %s no more", m)
		}
	}
}

// The gate builds gnmi_cli for a page. With the versions of this module it compiles hardly anything for that.
func TestToolHasVersionsOfTamtam(t *testing.T) {
	versions := func(dir string) map[string]string {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[1], "v") {
				of[words[0]] = words[1]
			}
		}
		return of
	}
	ours, tools, shared := versions("../.."), versions("../tools/gnmicli"), 0
	for name, is := range tools {
		if want := ours[name]; want != "" {
			shared++
			if is != want {
				t.Errorf("internal/tools/gnmicli has %s %s, want %s: go get it there", name, is, want)
			}
		}
	}
	if shared < 5 {
		t.Errorf("the two share only %d modules", shared)
	}
}

// An external test beside internal tests makes Go compile their package again. Go then also compiles the packages
// between this package and the external test. For a switch this takes long, and only test kits are small enough. Tests
// of the whole switch are therefore in device and in packages below it that have only tests. These packages use the kit
// device/devicetest, compile no other package again, and cost one link each.
func TestTestsAreLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-test", "-deps", "-f",
		`{{with .ForTest}}{{$.ImportPath}} {{.}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line) // a package, [whose tests it is compiled for], and the packages compiled again
		compiled, tested := words[0], words[len(words)-1]
		switch {
		case compiled == tested || compiled == tested+"_test":
			tests++
		case !isTestKit(compiled):
			t.Errorf("%s is compiled once more for the tests of %s: those that link it should stand in a package of tests, "+
				"as those below device do", compiled, tested)
		}
	}
	if tests < 100 {
		t.Errorf("go list found %d tests only", tests)
	}
}
