package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/tam/words"
)

// displays lists the folders whose texts users read, with the words of package words that mean something else there.
var displays = map[string][]string{
	"mgmt/web": nil, "mgmt/web/templates": nil, "device/switchpage": nil,
	"cli": {"waiting", "standing"}, "cli/kit": nil, "cli/tam": nil, // show outputs counts waiting messages
}

// codes matches names in texts: those of the style sheet and of JSON.
var codes = regexp.MustCompile(`^[a-z-]+$|class="[^"]*"|\{\{[^}]*\}\}|<[^>]*>|json:"[^"]*"`)

// The page and the shell name status and confidence only by the words that package words declares.
func TestWords(t *testing.T) {
	retired := map[string]*regexp.Regexp{}
	for _, word := range words.Retired() {
		retired[word] = regexp.MustCompile(`(?i)\b` + word + `\b`)
	}
	for folder, other := range displays {
		names, err := filepath.Glob(filepath.Join("../..", folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		texts := 0
		for _, name := range names {
			for _, text := range textsOf(t, name) {
				texts++
				plain := codes.ReplaceAllString(text, " ")
				for word, is := range retired {
					if !slices.Contains(other, word) && is.MatchString(plain) {
						t.Errorf("%s/%s: %q has %q, which package words replaces", folder, filepath.Base(name), text, word)
					}
				}
			}
		}
		if texts == 0 {
			t.Errorf("%s has no texts", folder)
		}
	}
	page, err := os.ReadFile(filepath.Join("../..", "docs/concepts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words.Statuses() {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/concepts.md does not explain the status %q", word)
		}
	}
}

// textsOf returns the literals of a source file, or the text of a template.
func textsOf(t *testing.T, name string) (texts []string) {
	switch {
	case strings.HasSuffix(name, ".html"):
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, imports := n.(*ast.ImportSpec); imports {
			return false
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}
