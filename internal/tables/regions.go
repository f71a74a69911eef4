package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// region matches a part of a YANG module that is generated from package schema, and captures its kind.
var region = regexp.MustCompile(`(?s)([ ]*)// (\S[^\n]*), by go generate \./yang:\n(?:.*?\n)??[ ]*// that was all\n`)

// rewrite regenerates the regions of the modules in a folder. It returns the texts of the modules with regions.
func rewrite(folder string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yang"))
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !region.Match(text) {
			continue
		}
		made[file] = region.ReplaceAllStringFunc(string(text), func(was string) string {
			m := region.FindStringSubmatch(was)
			lines, bad := regionOf(m[2], folder)
			if bad != nil {
				err = fmt.Errorf("%s: %w", file, bad)
			}
			return indented(m[1], "// "+m[2]+", by go generate ./yang:\n"+strings.Join(lines, "\n")+"\n// that was all\n")
		})
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// indented returns the text with blanks in front of each line that is not empty.
func indented(blanks, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(blanks)
		}
		b.WriteString(line)
	}
	return b.String()
}

// regionOf returns the content of a region: the features, the statements for the status of TAM's lists, or the counters
// of a table.
func regionOf(what, folder string) ([]string, error) {
	switch kind, arg, _ := strings.Cut(what, " of "); kind {
	case "features":
		var lines []string
		for _, f := range schema.Features() {
			lines = append(lines, "enum "+f+";")
		}
		return lines, nil
	case "modules":
		imports, _, err := statusOf(folder)
		return imports, err
	case "status":
		_, augments, err := statusOf(folder)
		return augments, err
	case "counters":
		table, container, _ := strings.Cut(arg, " in ")
		return countersOf(table, container)
	}
	return nil, fmt.Errorf("%q says of nothing what is in it: want features, modules, status or counters of TABLE", what)
}

// countersOf returns the leaves of a table's counters in a container.
func countersOf(table, container string) (lines []string, err error) {
	if !slices.ContainsFunc(schema.Tables(), func(t schema.Table) bool { return t.Counters == table }) {
		return nil, fmt.Errorf("there is no table %s in COUNTERS_DB", table)
	}
	fields := schema.CountersIn(table)
	var leaves []string // replace names of fields in descriptions, except acronyms
	for _, f := range fields {
		if f.Name != f.Label {
			leaves = append(leaves, f.Name, f.Leaf)
		}
	}
	names := strings.NewReplacer(append(leaves, "_", "-")...)
	for _, f := range fields {
		at, name := "", f.Leaf
		if i := strings.LastIndex(f.Leaf, "/"); i >= 0 {
			at, name = f.Leaf[:i], f.Leaf[i+1:]
		}
		if at != container {
			continue
		}
		kind := "uint64"
		if f.Name == schema.FieldSinceAll {
			kind = "tt-types:time"
		}
		lines = append(lines, fmt.Sprintf("leaf %s { type %s; description %q; }", name, kind, names.Replace(f.Words)))
	}
	return lines, nil
}

var prefixOf = regexp.MustCompile(`(?m)^\s*prefix "?([\w-]+)"?;`)

// statusOf returns the imports and augments that add status and not-in-force to TAM's lists. imports are the modules
// with lists below /tam, except openconfig-tam. augments add the leaves to the state of each entry.
func statusOf(folder string) (imports, augments []string, err error) {
	for _, m := range models.All() {
		text, err := os.ReadFile(filepath.Join(folder, m.Name+".yang"))
		if err != nil {
			return nil, nil, err
		}
		prefix := string(prefixOf.FindSubmatch(text)[1])
		for _, path := range inForce(m) {
			if use := fmt.Sprintf("import %s { prefix %s; }", m.Name, prefix); m.Name != "openconfig-tam" &&
				!slices.Contains(imports, use) {
				imports = append(imports, use)
			}
			steps := strings.Split(strings.TrimPrefix(path, "/tam/"), "/")
			augments = append(augments, fmt.Sprintf("augment \"/oc-tam:tam/%[1]s:%[2]s/%[1]s:state\" {\n"+
				"  description \"Status of the entry.\";\n  uses status;\n  uses in-force;\n}\n", prefix,
				strings.Join(steps, "/"+prefix+":")))
		}
	}
	if n := len(augments) - 1; n >= 0 {
		augments[n] = strings.TrimSuffix(augments[n], "\n")
	}
	return imports, augments, nil
}

// inForce returns the paths below /tam of objects that are in CONFIG_DB and in APPL_DB.
func inForce(m tree.Module) (paths []string) {
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			path := g.Path
			if at, is := strings.CutSuffix(r.Behind, "/state/not-in-force"); is && g.Path == "/" {
				path = "/" + at
			}
			if r.DB == swss.ApplDB && r.Behind != "" && strings.HasPrefix(path, "/tam/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
