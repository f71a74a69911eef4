// Command release makes what tamtam is installed from. It needs Go, git and, for the images, apt-get and dpkg-deb:
//
//	go run ./internal/release -out dist
//
// For each architecture it makes a .tar.gz with the static programs, Debian packages with systemd units, and an archive
// that `docker load` and `podman load` read. Beside them are an SBOM (CycloneDX) and SHA256SUMS.
//
// The bytes depend on the commit, on the Go release, and on Debian's packages in the image, and on nothing else: owners
// are fixed, and every time is that of the commit.
//
// A program computes the same numbers on arm64 and amd64, and draws the same pictures. A program for arm64 of
// `go install` computes the same numbers too, but a library may draw a point of a picture elsewhere in its last digit.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	var r release
	var arch string
	flag.StringVar(&r.out, "out", "dist", "directory for the files; earlier ones of the same names are replaced")
	flag.StringVar(&arch, "arch", "amd64 arm64", "architectures, of Go's and Debian's common names")
	flag.StringVar(&r.image, "image", "", "make only the image, under this name, of the one architecture of -arch "+
		"(default: this machine's), from the tree as it is, even if it is not committed")
	flag.StringVar(&r.root, "root", "", "directory of a Debian-like system that redis-server is taken from, such as / "+
		"(default: Debian's packages, by apt-get)")
	flag.Parse()
	if r.image != "" && !given("arch") {
		arch = runtime.GOARCH
	}
	r.archs = strings.Fields(arch)
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// given reports whether a flag is on the command line.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// A release is what one run of the command makes.
type release struct {
	out, root string
	image     string // name of the image, if only that is made
	archs     []string
	at        head
	bom       bom
}

// make makes all files.
func (r *release) make() (err error) {
	for _, arch := range r.archs {
		if triples[arch] == "" {
			return fmt.Errorf("-arch %q: want %s", arch, strings.Join(slices.Sorted(maps.Keys(triples)), " or "))
		}
	}
	if len(r.archs) == 0 || r.image != "" && len(r.archs) > 1 {
		return fmt.Errorf("-arch %q: want one or several architectures, and one with -image", strings.Join(r.archs, " "))
	}
	if r.at, err = readHead(); err != nil {
		return err
	}
	if r.at.modified && r.image == "" {
		return fmt.Errorf("the tree differs from commit %.12s, so no version can name it: commit or stash first; "+
			"git status lists what differs", r.at.commit)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tamtam-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, arch := range r.archs {
		if err := r.makeFor(arch, filepath.Join(work, arch)); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	if r.image != "" {
		return nil
	}
	text, err := r.bom.encode(r.at)
	if err != nil {
		return err
	}
	if err := r.write("tamtam_"+r.at.version()+".cdx.json", text); err != nil {
		return err
	}
	return r.sums()
}

// makeFor makes the files of one architecture. work is a directory for what they are made from.
func (r *release) makeFor(arch, work string) error {
	built, err := build(arch, work, r.image != "")
	if err != nil {
		return err
	}
	for _, p := range built {
		if err := p.check(); err != nil {
			return err
		}
	}
	switch v := built[0].info.Main.Version; {
	case v != "(devel)":
		r.at.module = v
	case r.image != "":
		r.at.module = r.at.pseudo()
	default:
		return errors.New("go build recorded no commit: want a clone, and not a linked work tree of git")
	}
	base, err := r.baseOf(arch, work)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	image, err := imageArchive(arch, cmp.Or(r.image, "tamtam"), r.at, base, built[0])
	if err != nil {
		return err
	}
	if r.image != "" {
		return r.write("image.tar", image)
	}
	if err := r.write(fmt.Sprintf("tamtam-image_%s_%s.tar.gz", r.at.version(), arch), zipped(image)); err != nil {
		return err
	}
	folder := fmt.Sprintf("tamtam_%s_linux_%s", r.at.version(), arch)
	files := tree{}
	for _, p := range built {
		files.add(folder+"/"+p.name, 0o755, p.text)
		files.add(folder+"/"+p.name+".LICENSES", 0o644, p.licences)
		r.bom.program(p)
	}
	r.bom.debian(arch, base)
	for _, name := range []string{"LICENSE", "README.md"} {
		if err := files.addFile(folder+"/"+name, 0o644, name); err != nil {
			return err
		}
	}
	text, err := files.tar(r.at.time)
	if err != nil {
		return err
	}
	if err := r.write(folder+".tar.gz", zipped(text)); err != nil {
		return err
	}
	for _, p := range built {
		text, err := debOf(p, arch, r.at)
		if err != nil {
			return fmt.Errorf("package %s: %w", p.name, err)
		}
		if err := r.write(fmt.Sprintf("%s_%s_%s.deb", p.name, r.at.version(), arch), text); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the release, and prints its size and name.
func (r *release) write(name string, text []byte) error {
	fmt.Printf("%9.1f MB  %s\n", float64(len(text))/1e6, filepath.Join(r.out, name))
	return os.WriteFile(filepath.Join(r.out, name), text, 0o644)
}

// sums writes SHA256SUMS of all files of this version.
func (r *release) sums() error {
	found, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, f := range found {
		if !strings.Contains(f.Name(), "_"+r.at.version()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	return r.write("SHA256SUMS", list.Bytes())
}
