package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var testHead = head{
	commit: "0123456789abcdef0123456789abcdef01234567", module: "v0.0.0-20261129174426-0123456789ab",
	time: time.Date(2026, 11, 29, 17, 44, 26, 0, time.UTC),
}

func testProgram(name string) program {
	return program{name: name, text: []byte("program " + name), info: &buildinfo.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "tamtam", Version: testHead.module},
		Deps: []*debug.Module{{Path: "example.org/m", Version: "v1.0.0", Sum: "h1:sum"}},
	}}
}

// The tests read files of the tree, as the command does.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Where Go records no version, the version is the one that it would record.
func TestPseudo(t *testing.T) {
	if got := testHead.pseudo(); got != testHead.module {
		t.Errorf("%s, want %s", got, testHead.module)
	}
}

// A commit without a tag gives a version that is older than the next tag, and that Debian accepts.
func TestVersions(t *testing.T) {
	for module, want := range map[string]string{
		"v1.2.0":                                 "1.2.0",
		"v1.2.0-rc.1":                            "1.2.0~rc.1",
		testHead.module:                          "0.0.0~20261129174426.0123456789ab",
		"v1.2.1-0.20261129174426-0123456789ab":   "1.2.1~0~20261129174426.0123456789ab",
		"v1.2.0-rc.1.0.20261129174426-012345678": "1.2.0~rc.1.0.20261129174426~012345678",
	} {
		if got := (head{module: module}).version(); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}

// A package has the program, the units that it is for, and configuration that dpkg keeps. dpkg-deb reads it, if it is
// here. Two are equal to the byte.
func TestDebianPackages(t *testing.T) {
	for name, is := range packs {
		text, err := debOf(testProgram(name), "arm64", testHead)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := debOf(testProgram(name), "arm64", testHead); err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: two packages differ, %v", name, err)
		}
		data := members(t, text)["data.tar.gz"]
		want := []string{"usr/bin/" + name}
		for _, unit := range is.units {
			want = append(want, "lib/systemd/system/"+unit)
		}
		for file := range is.conf {
			want = append(want, file)
		}
		for _, file := range want {
			if h := data[file]; h == nil || h.Uid != 0 || !h.ModTime.Equal(testHead.time) {
				t.Errorf("%s: %s: %+v", name, file, h)
			}
		}
		if _, err := exec.LookPath("dpkg-deb"); err != nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "p.deb")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		format := "--showformat=${Package} ${Version} ${Architecture}"
		out, err := exec.Command("dpkg-deb", "-W", format, file).CombinedOutput()
		if want := name + " 0.0.0~20261129174426.0123456789ab arm64"; err != nil || string(out) != want {
			t.Errorf("dpkg-deb: %s, %v; want %s", out, err, want)
		}
		if out, err := exec.Command("dpkg-deb", "-c", file).CombinedOutput(); err != nil {
			t.Errorf("dpkg-deb -c: %v: %s", err, out)
		}
	}
}

// Every unit is in a package, and starts the program of that package.
func TestEveryUnitIsInAPackage(t *testing.T) {
	units, err := filepath.Glob("docker/systemd/*")
	if err != nil || len(units) == 0 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for name, is := range packs {
			if !slices.Contains(is.units, filepath.Base(unit)) {
				continue
			}
			found = true
			for line := range strings.Lines(string(text)) {
				command, ok := strings.CutPrefix(line, "ExecStart=")
				if ok && !strings.HasPrefix(command, "/usr/bin/"+name+" ") {
					t.Errorf("%s starts %s", unit, command)
				}
			}
		}
		if !found {
			t.Errorf("%s is in no package", unit)
		}
	}
}

// members returns the members of a Debian package that are archives of tar.
func members(t *testing.T, deb []byte) map[string]map[string]*tar.Header {
	t.Helper()
	all := map[string]map[string]*tar.Header{}
	rest, ok := bytes.CutPrefix(deb, []byte("!<arch>\n"))
	if !ok {
		t.Fatalf("no archive of ar: %q", deb[:8])
	}
	for len(rest) > 0 {
		var size int
		name := strings.TrimSpace(string(rest[:16]))
		if _, err := fmt.Sscan(string(rest[48:58]), &size); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(rest[60 : 60+size]))
			if err != nil {
				t.Fatal(err)
			}
			all[name] = headers(t, z)
		}
		rest = rest[60+size+size%2:]
	}
	return all
}

func headers(t *testing.T, r io.Reader) map[string]*tar.Header {
	t.Helper()
	all := map[string]*tar.Header{}
	for list := tar.NewReader(r); ; {
		h, err := list.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = h
	}
}

// The archive of an image has the layers that its configuration names, by the sum of their content.
func TestImage(t *testing.T) {
	b := base{files: tree{}}
	users(b.files)
	text, err := imageArchive("arm64", "tamtam", testHead, b, testProgram("tamtam"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for list := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := list.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(list); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest: %s, %v", files["manifest.json"], err)
	}
	var config imageConfig
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	tags := []string{"tamtam:0.0.0-20261129174426.0123456789ab", "tamtam:latest"}
	if config.Architecture != "arm64" || !slices.Equal(manifest[0].RepoTags, tags) {
		t.Errorf("%s: %v", config.Architecture, manifest[0].RepoTags)
	}
	for i, layer := range manifest[0].Layers {
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(files[layer])); got != config.RootFS.DiffIDs[i] {
			t.Errorf("layer %d is %s, want %s", i, got, config.RootFS.DiffIDs[i])
		}
	}
	base := headers(t, bytes.NewReader(files[manifest[0].Layers[0]]))
	if h := base["var/lib/tamtam/"]; h == nil || h.Gid != 999 || h.Mode != 0o775 {
		t.Errorf("the folder of the data is %+v", h)
	}
	if h := headers(t, bytes.NewReader(files[manifest[0].Layers[1]]))["usr/bin/tamtam"]; h == nil || h.Mode != 0o755 {
		t.Errorf("tamtam is %+v", h)
	}
}

// The base of an image has redis-server with its loader and libraries, the CAs, and the licences of all of them.
func TestBase(t *testing.T) {
	const server = "/usr/bin/redis-server"
	if _, err := os.Stat(server); err != nil {
		t.Skip("redis-server is not installed as in Debian")
	}
	arch, err := exec.Command("dpkg", "--print-architecture").Output()
	if err != nil || triples[strings.TrimSpace(string(arch))] == "" {
		t.Skipf("dpkg: architecture %q, %v", arch, err)
	}
	r := release{root: "/"}
	b, err := r.baseOf(strings.TrimSpace(string(arch)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"redis-server", "redis-cli", "ca-certificates.crt", "libc.so.6", "ld-linux",
		"redis-tools/copyright", "libc6/copyright", "etc/passwd"} {
		has := func(name string) bool { return strings.Contains(name, part) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(b.files)), has) {
			t.Errorf("the base has no %s", part)
		}
	}
	if !slices.ContainsFunc(b.packages, func(p string) bool { return strings.HasPrefix(p, "redis-tools ") }) {
		t.Errorf("the packages are %v", b.packages)
	}
	dir := t.TempDir() // a root of its own: what it lacks is not found there
	for name, e := range b.files {
		if e.kind != tar.TypeReg {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), e.text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	out, err := exec.Command("chroot", dir, server, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Redis server v=") {
		t.Errorf("redis-server in the base: %s, %v", out, err)
	}
}

// Debian's packages make a base for each architecture. They come from the network.
func TestBaseOfPackages(t *testing.T) {
	if os.Getenv("TAMTAM_RELEASE") == "" {
		t.Skip("TAMTAM_RELEASE is not set: make release-test downloads packages")
	}
	for arch := range triples {
		b, err := (&release{}).baseOf(arch, t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		t.Logf("%s: %d files of %v", arch, len(b.files), b.packages)
	}
}

// The list of components names each module once, with the programs that contain it.
func TestComponents(t *testing.T) {
	var b bom
	b.program(testProgram("tamtam"))
	b.program(testProgram("tamtam-collectd"))
	b.debian("arm64", base{packages: []string{"redis-tools 5:7.0.15-1~deb12u3"}})
	text, err := b.encode(testHead)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Components []component
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range got.Components {
		list = append(list, fmt.Sprint(c.PURL, c.Properties))
	}
	want := []string{
		"pkg:deb/debian/redis-tools@5%3A7.0.15-1~deb12u3?arch=arm64&distro=bookworm[{tamtam:in image arm64}]",
		"pkg:golang/example.org/m@v1.0.0[{go:sum h1:sum} {tamtam:in tamtam} {tamtam:in tamtam-collectd}]",
		"pkg:golang/std@1.26.0[{tamtam:in tamtam} {tamtam:in tamtam-collectd}]",
	}
	if !slices.Equal(list, want) {
		t.Errorf("%q", list)
	}
}

// A program goes with the licence of this module, of Go, and of each module in it; a module without one is an error.
func TestLicences(t *testing.T) {
	own, err := buildinfo.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	p := program{info: &buildinfo.BuildInfo{GoVersion: own.GoVersion, Deps: []*debug.Module{
		{Path: "google.golang.org/grpc"}, {Path: "github.com/openconfig/gnmi"}, {Path: "github.com/redis/go-redis/v9"}}}}
	text, err := p.copyright()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tamtam\n", "tamtam/tam/libm\n", "Go " + own.GoVersion + "\n", "The Go Authors",
		"\ngoogle.golang.org/grpc v",
		"Copyright 2014 gRPC authors.", "SunPro", "github.com/redis/go-redis/v9 v", "openconfig/gnmi v"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the licences lack %q", want)
		}
	}
	if n := strings.Count(string(text), "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"); n > 3 {
		t.Errorf("the Apache licence stands %d times", n)
	}
	if _, err := noticesIn("internal/release"); err == nil {
		t.Error("a folder without a licence has one")
	}
}
