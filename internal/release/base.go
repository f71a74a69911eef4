package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// triples are the architectures, by Debian's name, with the name of their folder of libraries.
var triples = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// suite is the release of Debian that the image's packages are from.
const suite = "bookworm"

// debs are the packages that the image's files come from: those [redisPrograms], the libraries that they need, and
// the CAs.
var debs = strings.Fields(`redis-tools libc6 libssl3 libjemalloc2 liblua5.1-0 lua-bitop lua-cjson liblzf1 libatomic1
	libhiredis0.14 libsystemd0 libcap2 libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libzstd1 libgcc-s1 libstdc++6
	gcc-12-base ca-certificates`)

// redisPrograms are the image's programs beside tamtam, with their files in redis-tools. redis-server is there under
// the name of the check that the same program makes.
var redisPrograms = [][2]string{
	{"usr/bin/redis-server", "usr/bin/redis-check-rdb"}, {"usr/bin/redis-cli", "usr/bin/redis-cli"},
}

// A base is what an image has below tamtam.
type base struct {
	files    tree
	packages []string // NAME VERSION of each Debian package that has a file in it
}

// baseOf returns the base of an image, from the given root, or from Debian's packages. work is a directory for them.
func (r *release) baseOf(arch, work string) (b base, err error) {
	root := r.root
	if root == "" {
		root = filepath.Join(work, "root")
		if err := download(arch, work, root); err != nil {
			return b, fmt.Errorf("packages of Debian %s: %w\n(-root DIR uses a system that is here, such as /)", suite, err)
		}
	}
	g := &gatherer{root: root, triple: triples[arch], files: tree{}, from: map[string]bool{}}
	for _, p := range redisPrograms {
		if err := g.program(p[0], p[1]); err != nil {
			return b, err
		}
	}
	if err := g.authorities(); err != nil {
		return b, err
	}
	if b.packages, err = g.licences(); err != nil {
		return b, err
	}
	b.files = g.files
	users(b.files)
	return b, nil
}

// download extracts [debs] of an architecture into a root. apt checks their signatures. It works in folders of its own,
// so it needs neither a privilege nor the machine's architecture.
func download(arch, work, root string) error {
	state := filepath.Join(work, "apt")
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o755); err != nil {
			return err
		}
	}
	sources := ""
	for _, of := range [][2]string{{"debian", suite}, {"debian", suite + "-updates"},
		{"debian-security", suite + "-security"}} {
		sources += fmt.Sprintf("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "+
			"http://deb.debian.org/%s %s main\n", of[0], of[1])
	}
	files := map[string]string{"sources.list": sources, "status": ""}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(state, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	options := []string{"-q"}
	for _, o := range []string{
		"Dir::State=" + state, "Dir::State::status=" + state + "/status", "Dir::Cache=" + state + "/cache",
		"Dir::Etc::sourcelist=" + state + "/sources.list", "Dir::Etc::sourceparts=-", "APT::Architecture=" + arch,
		"APT::Architectures=" + arch, "APT::Sandbox::User=", "Acquire::Languages=none",
	} {
		options = append(options, "-o", o)
	}
	if _, err := run(nil, "apt-get", append(options, "update")...); err != nil {
		return err
	}
	script := `cd "$0" && apt-get "$@"`
	if _, err := run(nil, "sh", append(append([]string{"-c", script, state + "/debs"}, options...),
		append([]string{"download"}, debs...)...)...); err != nil {
		return err
	}
	found, err := filepath.Glob(state + "/debs/*.deb")
	if err != nil || len(found) != len(debs) {
		return fmt.Errorf("%d packages, want %d: %w", len(found), len(debs), err)
	}
	return extract(found, root)
}

// extract extracts packages, and records their files and versions as dpkg does.
func extract(packages []string, root string) error {
	info := filepath.Join(root, "var/lib/dpkg/info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	status := ""
	for _, deb := range packages {
		if _, err := run(nil, "dpkg-deb", "-x", deb, root); err != nil {
			return err
		}
		fields, err := run(nil, "dpkg-deb", "-W", "--showformat=${Package} ${Version}", deb)
		if err != nil {
			return err
		}
		name, version, _ := strings.Cut(fields, " ")
		list, err := run(nil, "sh", "-c", `dpkg-deb --fsys-tarfile "$0" | tar -t | sed 's|^\.||; s|/$||'`, deb)
		if err != nil {
			return err
		}
		status += fmt.Sprintf("Package: %s\nVersion: %s\n\n", name, version)
		if err := os.WriteFile(filepath.Join(info, name+".list"), []byte(list), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), []byte(status), 0o644)
}

// A gatherer collects the files of an image from the root of a system.
type gatherer struct {
	root, triple string
	files        tree
	from         map[string]bool // paths in the root, of which a package knows each
}

// read reads a file of the root, and follows links within it.
func (g *gatherer) read(name string) ([]byte, error) {
	in := "/" + name
	for range 40 { // more than any chain of links
		g.from[in] = true
		at, err := g.resolved(in)
		if err != nil {
			return nil, err
		}
		if at == in {
			return os.ReadFile(filepath.Join(g.root, in))
		}
		in = at
	}
	return nil, fmt.Errorf("%s: too many links", name)
}

// resolved replaces the first link in a path by what it refers to.
func (g *gatherer) resolved(name string) (string, error) {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for i := range parts {
		at := "/" + strings.Join(parts[:i+1], "/")
		target, err := os.Readlink(filepath.Join(g.root, at))
		if err != nil {
			if _, err := os.Lstat(filepath.Join(g.root, at)); err != nil {
				return "", err
			}
			continue // no link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		return filepath.Join(append([]string{target}, parts[i+1:]...)...), nil
	}
	return name, nil
}

// program adds a program from a file of the root, its loader and the libraries that it needs.
func (g *gatherer) program(name, file string) error {
	text, err := g.read(file)
	if err != nil {
		return err
	}
	g.files.add(name, 0o755, text)
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := p.ReadAt(loader, 0); err != nil {
			return err
		}
		at := strings.Trim(string(loader), "/\x00")
		if text, err = g.read(at); err != nil {
			return err
		}
		g.files.add(at, 0o755, text)
	}
	return g.libraries(name, f)
}

// libraries adds the libraries that a file needs, and those that they need.
func (g *gatherer) libraries(name string, f *elf.File) error {
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, library := range needed {
		at := "lib/" + g.triple + "/" + library
		if _, ok := g.files[at]; ok {
			continue
		}
		text, err := g.read(at)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = g.read("usr/" + at)
		}
		if err != nil {
			return fmt.Errorf("%s needs %s: %w", name, library, err)
		}
		g.files.add(at, 0o644, text)
		next, err := elf.NewFile(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", library, err)
		}
		if err := g.libraries(library, next); err != nil {
			return err
		}
	}
	return nil
}

// authorities adds the certificates of the CAs in one file, as Debian's update-ca-certificates does.
func (g *gatherer) authorities() error {
	const at, from = "etc/ssl/certs/ca-certificates.crt", "usr/share/ca-certificates/mozilla"
	found, err := filepath.Glob(filepath.Join(g.root, from, "*.crt"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("no certificates in /%s: %w", from, err)
	}
	slices.Sort(found)
	var all bytes.Buffer
	for _, file := range found {
		text, err := g.read(from + "/" + filepath.Base(file))
		if err != nil {
			return err
		}
		all.Write(text)
	}
	g.files.add(at, 0o644, all.Bytes())
	return nil
}

// licences adds the licences of the packages that have the gathered files, and returns NAME VERSION of each.
func (g *gatherer) licences() (packages []string, err error) {
	versions, err := g.versions()
	if err != nil {
		return nil, err
	}
	lists, err := filepath.Glob(filepath.Join(g.root, "var/lib/dpkg/info/*.list"))
	if err != nil {
		return nil, err
	}
	slices.Sort(lists)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(file string) bool { return g.has(file) }) {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		packages = append(packages, name+" "+versions[name])
		at := "usr/share/doc/" + name + "/copyright"
		if text, err = g.read(at); err != nil {
			return nil, fmt.Errorf("licence of %s: %w", name, err)
		}
		g.files.add(at, 0o644, text)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s: no package of dpkg has the gathered files", g.root)
	}
	return packages, nil
}

// has reports whether a file of a package was gathered. A package may list it without the /usr that it has.
func (g *gatherer) has(file string) bool {
	info, err := os.Lstat(filepath.Join(g.root, file))
	return err == nil && !info.IsDir() && (g.from[file] || g.from["/usr"+file])
}

// versions returns the versions of the packages in the root.
func (g *gatherer) versions() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(g.root, "var/lib/dpkg/status"))
	all, name := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		switch field, value, _ := strings.Cut(strings.TrimSpace(line), ": "); field {
		case "Package":
			name = value
		case "Version":
			all[name] = value
		}
	}
	return all, err
}

// users adds users and folders. Ids are those of Debian's package and of earlier images, so a volume stays readable.
func users(t tree) {
	t.add("etc/passwd", 0o644, []byte(`root:x:0:0:root:/var/lib/tamtam:/nonexistent
redis:x:100:101:redis:/var/lib/redis:/nonexistent
tamtam:x:999:999:tamtam:/var/lib/tamtam:/nonexistent
nobody:x:65534:65534:nobody:/nonexistent:/nonexistent
`))
	t.add("etc/group", 0o644, []byte("root:x:0:\nredis:x:101:\ntamtam:x:999:\nnogroup:x:65534:\n"))
	// The user tamtam writes here, and so does a root without the capability to write the files of others.
	t.addDir("var/lib/tamtam", 0o775, 0, 999)
	t.addDir("run/tamtam", 0o775, 0, 999)
	t.addDir("var/lib/redis", 0o750, 100, 101)
	t.addDir("tmp", 0o1777, 0, 0)
	t.addDir("etc/tamtam", 0o755, 0, 0)
}
