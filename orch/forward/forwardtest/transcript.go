package forwardtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A Transcript runs the cases in testdata/*.rows. A case begins with comments ("# ..."), followed by lines for
// [Bench.Do]. Then come all resulting rows of APPL_DB ("-> TABLE:key field=value") and statuses in STATE_DB ("->
// TABLE|key status: reason (by)"). A restart changes none of these.
type Transcript struct {
	Managers    func(*orch.Daemon, *swss.Redis)
	Appl, State []string // tables whose rows are listed
	Update      bool     // true if the results are written into the files
}

// Run runs the cases, each on separate databases.
func (x Transcript) Run(t *testing.T) {
	files, err := filepath.Glob("testdata/*.rows")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".rows"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cases(string(text)) {
				got = append(got, strings.Join(append(c, x.results(t, c)...), "\n")+"\n")
			}
			if x.Update {
				if err := os.WriteFile(file, []byte(strings.Join(got, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// cases splits a file into its cases, without their results.
func cases(text string) (list [][]string) {
	comment := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		begins := strings.HasPrefix(line, "# ") && !comment
		comment = strings.HasPrefix(line, "# ")
		switch {
		case begins:
			list = append(list, []string{line})
		case line != "" && !strings.HasPrefix(line, "-> "):
			list[len(list)-1] = append(list[len(list)-1], line)
		}
	}
	return list
}

// results applies the lines of a case, and returns the results.
func (x Transcript) results(t *testing.T, c []string) []string {
	t.Helper()
	b := New(t, swsstest.Start(t), x.Managers)
	b.Do(slices.DeleteFunc(slices.Clone(c), func(line string) bool { return strings.HasPrefix(line, "#") })...)
	b.Step()
	rows := x.rows(b)
	b.Do("restart")
	if diff := cmp.Diff(rows, x.rows(b)); diff != "" {
		t.Errorf("%s: after a restart (-before +after):\n%s", c[0], diff)
	}
	return rows
}

func (x Transcript) rows(b *Bench) (lines []string) {
	for _, line := range b.Appl(x.Appl...) {
		lines = append(lines, "-> "+line)
	}
	for _, line := range b.States(x.State...) {
		row, _, _ := strings.Cut(line, " ")
		if table, _, _ := strings.Cut(row, "|"); schema.StatusField(table) != "" {
			lines = append(lines, "-> "+row+" "+b.Status(row))
		}
	}
	return lines
}
