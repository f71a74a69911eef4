package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// wrong lists phrases that are wrong in every comment and page, each with the reason. CONTRIBUTING.md has the rules. A
// phrase that is right in some sentence does not belong here.
var wrong = []struct{ pattern, why string }{
	{`\b([Nn]obody|[Ss]omebody|[Ww]hoever)\b`, "programs are not persons: name the process or the client"},
	{`\b(is|are|was|were|be|been|being) told\b`, "programs are not persons: it is reported, or receives"},
	{`\b[Tt]ells? (it|them|the|of|what|how|that|whether|which)\b`, "programs are not persons: reports"},
	{`\bsays (so|that|what|how|whether|which|why|of)\b`, "programs are not persons: reports, contains"},
	{`\b[Ii]t is said\b`, "programs are not persons: the message reports"},
	{`\b[Hh]as a say\b`, "programs are not persons: decides, has an effect"},
	{`(\bnil|\b0|""|\bempty|\bzero): (none|no|not|all|it|there|they|nothing|never|the|any)\b`,
		"a clause has a verb: \"zero if there is none\""},
	{`\b[Ww]hat (became|becomes|has become|is to become|comes) of\b`, "use the noun: result, status, fate"},
	{`\banew\b`, "again"},
	{`\bin doubt\b`, "unknown, suspect or uncertain"},
}

// definitions returns the function comments that begin as if they defined a thing: "NAME is the ...".
func (t *tree) definitions() (list []finding) {
	for _, f := range slices.Concat(t.of(code), t.of(test)) {
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Doc == nil {
				continue
			}
			words := strings.Fields(fn.Doc.Text())
			if len(words) > 1 && words[0] == fn.Name.Name && slices.Contains([]string{"is", "are", "was", "were"}, words[1]) {
				list = append(list, finding{t.at(fn.Pos()), strings.Join(words[:min(len(words), 8)], " "), 1})
			}
		}
	}
	return list
}

// phrases returns the lines of comments and pages that contain a wrong phrase.
func (t *tree) phrases() (list []finding) {
	patterns := make([]*regexp.Regexp, len(wrong))
	for i, w := range wrong {
		patterns[i] = regexp.MustCompile(w.pattern)
	}
	look := func(where, line string) {
		for i, w := range wrong {
			if found := patterns[i].FindString(line); found != "" {
				list = append(list, finding{where, fmt.Sprintf("%q: %s", found, w.why), 1})
			}
		}
	}
	for _, f := range slices.Concat(t.of(code), t.of(test)) {
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				for i, line := range strings.Split(c.Text, "\n") {
					at := t.set.PositionFor(c.Pos(), false)
					look(fmt.Sprintf("%s:%d", at.Filename, at.Line+i), line)
				}
			}
		}
	}
	for name, text := range t.pages {
		fenced := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			} else if !fenced {
				look(fmt.Sprintf("%s:%d", name, i+1), line)
			}
		}
	}
	return list
}
