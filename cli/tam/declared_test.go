package tam

import (
	"slices"
	"strings"
	"testing"
)

// A command offers exactly the words of the field in the switch's schema.
func TestWordsAreDeclared(t *testing.T) {
	compared := 0
	for _, o := range objects() {
		for _, l := range o.Leaves {
			f, ok := fieldOf(o.Table, l.TreeName())
			if !ok || f.words == nil || l.Kind == nil || len(l.Kind.Choices) == 0 || l.Kind.FromTree != nil {
				continue
			}
			compared++
			var words []string
			for _, c := range l.Kind.Choices {
				words = append(words, c.Word)
			}
			slices.Sort(words)
			want := slices.Sorted(slices.Values(f.words))
			if !slices.EqualFunc(words, want, strings.EqualFold) {
				t.Errorf("%s %s offers %q, the field has %q", o.Table, l.Word, words, want)
			}
		}
	}
	if compared < 10 {
		t.Errorf("%d leaves have words, want at least 10", compared)
	}
}

// If a leaf's help states a default, it is the default in the schema.
func TestHelpNamesTheDefault(t *testing.T) {
	for _, o := range objects() {
		for _, l := range o.Leaves {
			f, ok := fieldOf(o.Table, l.TreeName())
			_, text, named := strings.Cut(l.Help, "; default ")
			if text, _, _ = strings.Cut(text, ","); ok && named && f.def != "" && text != f.def {
				t.Errorf("%s %s: the help says %q, the default is %q", o.Table, l.Word, l.Help, f.def)
			}
		}
	}
}
