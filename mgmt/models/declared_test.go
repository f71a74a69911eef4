package models

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/openconfig/goyang/pkg/yang"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"
)

// A leaf of config in tamtam's own modules agrees with the declaration of its field in package schema. This holds for
// the range of numbers, the words, and any default.
func TestModulesSayWhatSchemaDeclares(t *testing.T) {
	root, err := tamyang.Schema()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, m := range All() {
		if !strings.HasPrefix(m.Name, "tamtam-") && m.Name != "openconfig-tam" {
			continue
		}
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				if r.DB != swss.ConfigDB || r.Entry && g.View != "" {
					continue
				}
				for _, l := range r.Leaves {
					e := root.RootSchema()
					for step := range strings.SplitSeq(strings.Trim(g.Path+"/"+l.Path, "/"), "/") {
						if e != nil {
							e = e.Dir[step]
						}
					}
					for _, f := range declaredAs(r.Table, l.Path) {
						asItIs := tree.Record{Fields: map[string]string{f.Name: "value"}}
						if tree.First(l.Codec.Get(asItIs)) == "value" {
							compared++
							agrees(t, g.Path+"/"+l.Path, e, f)
						}
					}
				}
			}
		}
	}
	if compared < 60 {
		t.Errorf("%d leaves are fields that are declared, want at least 60", compared)
	}
}

// declaredAs returns the fields of a table of CONFIG_DB that have this leaf of config.
func declaredAs(table, path string) (list []schema.Field) {
	for _, t := range schema.TablesOf(table) {
		for _, f := range t.Fields {
			if at, is := strings.CutSuffix(path, "config/"+f.Leaf); is && f.Leaf != "" && (at == "" || at[len(at)-1] == '/') {
				list = append(list, f)
			}
		}
	}
	return list[:min(len(list), 1)]
}

func agrees(t *testing.T, path string, e *yang.Entry, f schema.Field) {
	t.Helper()
	if e == nil || e.Type == nil {
		t.Errorf("%s: there is no such leaf", path)
		return
	}
	if lo, hi, number := f.Range(); number && len(e.Type.Range) == 1 {
		if r := e.Type.Range[0]; r.Min.Value != lo || r.Max.Value != hi {
			t.Errorf("%s: %v, and the field %s is in %d..%d", path, r, f.Name, lo, hi)
		}
	}
	if words := f.Choices(); words != nil && e.Type.Kind == yang.Yenum {
		names := e.Type.Enum.Names()
		slices.Sort(names)
		slices.Sort(words)
		if !slices.EqualFunc(names, words, strings.EqualFold) {
			t.Errorf("%s is one of %q, the field %s one of %q", path, names, f.Name, words)
		}
	}
	def := f.Default
	if n, err := strconv.ParseBool(def); err == nil && e.Type.Kind == yang.Ybool {
		def = strconv.FormatBool(n)
	}
	if len(e.Default) > 0 && !strings.EqualFold(e.Default[0], def) {
		t.Errorf("%s is %s by default, the field %s is %s", path, e.Default[0], f.Name, f.Default)
	}
}
