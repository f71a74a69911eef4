package main

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A pack describes a Debian package beside its program.
type pack struct {
	depends, recommends string
	short, long         string
	units               []string          // of docker/systemd
	conf                map[string]string // files that an operator edits, by path, with their source
}

// packs are the packages, by the program in it. redis-tools has the program of redis-server, without Debian's own
// service of it, which would occupy the port.
var packs = map[string]pack{
	"tamtam": {
		depends: "passwd, redis-tools", recommends: "ca-certificates, tamtam-collectd",
		short: "SONiC-style switch with telemetry, on a simulated ASIC",
		long: "The control plane of a switch, its simulated ASIC, and its tools. The units\n" +
			"run it as SONiC does, one daemon each: systemctl enable --now tamtam.target.",
		units: []string{"tamtam.target", "tamtam-redis.service", "tamtam-cold.service", "tamtam-syncd.service",
			"tamtam-orchagent.service", "tamtam-tammgrd.service", "tamtam-mgmtd.service", "tamtam-sflowd.service"},
		conf: map[string]string{"etc/tamtam/config_db.json": "docker/config_db.json"},
	},
	"tamtam-collectd": {
		depends: "passwd", recommends: "ca-certificates",
		short: "collector of a fleet of switches with telemetry",
		long: "It joins what switches report, shows it on a page, and keeps it as Parquet\n" +
			"files: systemctl enable --now tamtam-collectd.",
		units: []string{"tamtam-collectd.service"},
		conf:  map[string]string{"etc/default/tamtam-collectd": "docker/debian/tamtam-collectd.default"},
	},
}

// debOf returns the Debian package of a program.
func debOf(p program, arch string, at head) ([]byte, error) {
	is := packs[p.name]
	data, control := tree{}, tree{}
	data.add("usr/bin/"+p.name, 0o755, p.text)
	data.add("usr/share/doc/"+p.name+"/copyright", 0o644, p.licences)
	var errs []error
	for _, unit := range is.units {
		errs = append(errs, data.addFile("lib/systemd/system/"+unit, 0o644, filepath.Join("docker/systemd", unit)))
	}
	for name, source := range is.conf {
		errs = append(errs, data.addFile(name, 0o644, source))
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		errs = append(errs, control.addFile(script, 0o755, filepath.Join("docker/debian", p.name+"."+script)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	control.add("control", 0o644, []byte(is.control(p.name, arch, at, data)))
	control.add("md5sums", 0o644, []byte(md5sums(data)))
	var conf strings.Builder
	for _, name := range slices.Sorted(maps.Keys(is.conf)) {
		fmt.Fprintf(&conf, "/%s\n", name)
	}
	control.add("conffiles", 0o644, []byte(conf.String()))
	return archived(control, data, at.time)
}

// control returns the package's control file.
func (is pack) control(name, arch string, at head, data tree) string {
	size := 0
	for _, e := range data {
		size += (len(e.text) + 1023) / 1024
	}
	return fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: tamtam <tamtam@localhost>\n"+
		"Installed-Size: %d\nDepends: %s\nRecommends: %s\nSection: net\nPriority: optional\nDescription: %s\n %s\n .\n"+
		" Commit %s of %s.\n", name, at.version(), arch, size, is.depends, is.recommends, is.short,
		strings.ReplaceAll(is.long, "\n", "\n "), at.commit, at.time.Format(time.RFC3339))
}

// md5sums returns the list of sums that dpkg --verify compares.
func md5sums(data tree) string {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(&list, "%x  %s\n", md5.Sum(data[name].text), name)
	}
	return list.String()
}

// archived returns a package in Debian's format 2.0: an archive of ar, with two of tar.
func archived(control, data tree, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	member := func(name string, text []byte) {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, at.Unix(), 0, 0, "100644", len(text))
		out.Write(text)
		if len(text)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	member("debian-binary", []byte("2.0\n"))
	for _, part := range []struct {
		name string
		tree tree
	}{{"control.tar.gz", control}, {"data.tar.gz", data}} {
		text, err := part.tree.tar(at)
		if err != nil {
			return nil, err
		}
		member(part.name, zipped(text))
	}
	return out.Bytes(), nil
}
