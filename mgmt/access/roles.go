package access

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Level is the right of a role for a node.
type Level uint8

// The levels. Each level includes the rights of the levels before it.
const (
	None Level = iota
	Read
	Write
)

// String returns the word used in the file.
func (l Level) String() string { return [...]string{"none", "read", "write"}[min(l, Write)] }

func parseLevel(word string) (Level, bool) {
	for _, l := range []Level{None, Read, Write} {
		if l.String() == word {
			return l, true
		}
	}
	return None, false
}

// A Rule is the right of a role at a path and below.
type Rule struct {
	Role  Role
	Level Level
	Path  Path
	Line  int // line number in the file; 0 if the rule is built in
}

// String returns the rule as a line of the file.
func (r Rule) String() string { return fmt.Sprintf("%s %s %s", r.Role, r.Level, r.Path) }

// Roles holds all roles, with their rules.
type Roles struct{ of map[Role][]Rule }

// maxRules bounds the lines of a file.
const maxRules = 1000

// ParseRoles parses lines ROLE none|read|write [ORIGIN:]PATH, and adds the built-in rules. Empty lines and lines that
// begin with # are skipped. A nil reader means built-in rules only.
func ParseRoles(r io.Reader) (*Roles, error) {
	if r == nil {
		r = strings.NewReader("")
	}
	roles := &Roles{of: map[Role][]Rule{}}
	own := map[Role]bool{}
	s := bufio.NewScanner(r)
	for n, count := 1, 0; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if count++; count > maxRules {
			return nil, fmt.Errorf("line %d: more than %d lines", n, maxRules)
		}
		rule, err := parseRule(line)
		if err == nil {
			rule.Line = n
			err = roles.add(rule)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		own[rule.Role] = true
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, rule := range builtIn(own) {
		same := func(o Rule) bool { return o.Path.equal(rule.Path) }
		if !slices.ContainsFunc(roles.of[rule.Role], same) {
			roles.of[rule.Role] = append(roles.of[rule.Role], rule)
		}
	}
	return roles, nil
}

func parseRule(line string) (Rule, error) {
	name, rest, _ := strings.Cut(line, " ")
	word, path, ok := strings.Cut(strings.TrimSpace(rest), " ")
	if !ok {
		return Rule{}, fmt.Errorf("want ROLE none|read|write PATH")
	}
	rule := Rule{Role: Role(name)}
	if err := rule.Role.check(); err != nil {
		return Rule{}, err
	}
	if rule.Level, ok = parseLevel(word); !ok {
		return Rule{}, fmt.Errorf("%.80q: want none, read or write", word)
	}
	if rule.Role == Admin {
		return Rule{}, fmt.Errorf("%s may everything; give its users another role", Admin)
	}
	var err error
	rule.Path, err = ParsePath(strings.TrimSpace(path))
	for _, e := range rule.Path.Elems {
		if e.Name == "*" || e.Name == "..." {
			return Rule{}, fmt.Errorf("path: %s is no name: a line is of one node and all below", e.Name)
		}
	}
	return rule, err
}

func (r *Roles) add(rule Rule) error {
	for _, o := range r.of[rule.Role] {
		if o.Path.equal(rule.Path) {
			return fmt.Errorf("%s has a line for %s already, line %d", rule.Role, rule.Path, o.Line)
		}
	}
	r.of[rule.Role] = append(r.of[rule.Role], rule)
	return nil
}

// Rules returns the rules of a role in order of precedence, or nil if there is no such role.
func (r *Roles) Rules(of Role) []Rule {
	rules := slices.Clone(r.of[of])
	slices.SortStableFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(len(b.Path.Elems), len(a.Path.Elems)), cmp.Compare(b.Path.keys(), a.Path.keys()),
			cmp.Compare(a.Level, b.Level))
	})
	return rules
}

// Names returns the names of all roles, sorted.
func (r *Roles) Names() []Role { return slices.Sorted(maps.Keys(r.of)) }

// Check refuses users whose role does not exist.
func (r *Roles) Check(users []User) error {
	for _, u := range users {
		if _, ok := r.of[u.Role]; ok {
			continue
		}
		var names []string
		for _, n := range r.Names() {
			names = append(names, string(n))
		}
		return fmt.Errorf("user %s: there is no role %q; there are %s", u.Name, string(u.Role), strings.Join(names, ", "))
	}
	return nil
}
