package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	fenced     = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)\)|<(?:img src|a href)="([^"]+)"`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	namedHTML  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)

	// ofDocs matches paths of files in docs, with or without an anchor, in code, scripts and configuration.
	ofDocs = regexp.MustCompile(`\bdocs/[\w./-]+\.\w+(?:#[\w-]+)?`)
)

// anchors returns the anchors of a page, including those that GitHub makes of its headings.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	text = fenced.ReplaceAllString(text, "")
	for _, m := range namedHTML.FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		base := anchor(m[1])
		name := base
		for n := 1; all[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		all[name] = true
	}
	return all
}

// anchor returns GitHub's anchor of a heading that is unique on its page.
func anchor(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// broken returns the links of a page that lead to no file or to no heading.
func (tr *tree) broken(page string, pages map[string]string) (lost []string) {
	text := codeSpan.ReplaceAllString(fenced.ReplaceAllString(pages[page], ""), "")
	for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
		link := m[1] + m[2]
		if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
			continue
		}
		target, at, _ := strings.Cut(link, "#")
		file := page
		if target != "" {
			file = path.Join(path.Dir(page), target)
		}
		if !tr.reaches(file, at, pages) {
			lost = append(lost, link)
		}
	}
	return lost
}

// reaches reports whether a file of the tree exists and contains the anchor, if one is given.
func (tr *tree) reaches(file, at string, pages map[string]string) bool {
	text, isPage := pages[file]
	if !isPage && (!filepath.IsLocal(file) || !tr.has(file, ".")) {
		return false
	}
	return at == "" || anchors(text)[at]
}

// The links of a page lead to files and headings that exist.
func TestLinksLead(t *testing.T) {
	tr := newTree(t, nil)
	pages := tr.pages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range tr.broken(page, pages) {
			t.Errorf("%s: the link %s leads nowhere", page, link)
		}
	}
}

// Paths from the root to pages of docs, and to files beside them, exist if code, scripts or configuration contain them.
func TestPagesThatCodeNames(t *testing.T) {
	tr := newTree(t, nil)
	pages := tr.pages(t)
	// Tests of pages contain pages of their own, and built files are no source.
	skip := []string{".git", "bin", "docs", "internal/figures", "internal/archtest"}
	kinds := []string{
		"", ".go", ".sh", ".py", ".md", ".yaml", ".yml", ".yang", ".json", ".html", ".js", ".target", ".service",
	}
	err := filepath.WalkDir(tr.root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(tr.root, file)
		switch {
		case d.IsDir() && slices.Contains(skip, filepath.ToSlash(name)):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(kinds, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range ofDocs.FindAllString(string(text), -1) {
			target, at, _ := strings.Cut(found, "#")
			if !tr.reaches(target, at, pages) {
				t.Errorf("%s: there is no %s", name, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	tr := newTree(t, nil)
	deep := "# A `b` & [c](../demo.png), d_e\n\n## Twice\n\n## Twice\n\n```\n# none\n```\n"
	for text, want := range map[string]int{
		"[top](../../README.md), ![picture](../demo.png)": 0,
		"[over\nlines](#a-b--c-d_e)":                      0,
		"[second](#twice-1)":                              0,
		"[elsewhere](https://example.com/x#y)":            0,
		"`[code](nothing.md)`":                            0,
		"[folder](../programs)":                           0,
		"[nothing](nothing.md)":                           1,
		"[no third](#twice-2)":                            1,
		"[in a block](#none)":                             1,
		"[![picture](nothing.png)](../../README.md)":      1,
		"[out of the tree](../../../README.md)":           1,
		`<img src="../nothing.png" width="800">`:          1,
		"[no heading](../../README.md#nothing-of-this)":   1,
	} {
		pages := map[string]string{"docs/deep/page.md": deep + text, "README.md": "# top\n"}
		if lost := tr.broken("docs/deep/page.md", pages); len(lost) != want {
			t.Errorf("%s: lost %q, want %d", text, lost, want)
		}
	}
}
