package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/cli/kit"
	"tamtam/swss"
)

// TestTranscripts runs the sessions in testdata/*.cli. A session is a list of commands, each with the prompt of its
// mode, and the shell's answer: its output, warnings and error, and the operations of the Set that it sent ("-> update
// PATH VALUE"). A command that ends with ? requests help, and one that ends with <TAB> requests completion. With
// -update the answers are written to the files.
//
// Other lines, before the first command and between an answer and the next command:
//
//	# text                 is a comment
//	@tree FILE...          the switch is a gNMI server with the trees of testdata/FILE.json, which no Set changes
//	@load JSON             data is added to the tree
//	@switch                the switch is the northbound with three ports and its databases, but no daemon
//	@run FILE              the commands of testdata/FILE are run
//	@set DB TABLE|KEY F=V  a row is written, as a daemon would; a value with spaces is quoted
//	@del DB TABLE|KEY      a row is deleted
//	@rows DB TABLE...      the rows of tables follow
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cli")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cli"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&transcript{t: t}).run(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// A transcript runs the commands of a session in a file again.
type transcript struct {
	t     *testing.T
	shell *session
	redis *swss.Redis // nil after @tree
	modes map[string]kit.Mode
	out   strings.Builder
}

// run runs the commands of a session, and returns the session with the new answers in place of the old ones.
func (r *transcript) run(text string) string {
	explained := false // true if the previous line is a comment
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		mode, command, is := r.command(line)
		switch {
		case is:
			r.out.WriteString(line + "\n")
			r.do(mode, command)
		case strings.HasPrefix(line, "# "):
			if !explained && r.out.Len() > 0 && !strings.HasSuffix(r.out.String(), "\n\n") {
				r.out.WriteByte('\n')
			}
			r.out.WriteString(line + "\n")
		case strings.HasPrefix(line, "@"):
			r.out.WriteString(line + "\n")
			if json, is := strings.CutPrefix(line, "@load "); is {
				r.shell.server.load(r.t, json)
			} else {
				r.direct(kit.Split(line[1:]))
			}
		}
		explained = strings.HasPrefix(line, "# ")
	}
	return r.out.String()
}

// command splits a line into its mode and the command.
func (r *transcript) command(line string) (mode kit.Mode, command string, is bool) {
	prompt, command, is := strings.Cut(line, "# ")
	if !is || !strings.HasPrefix(prompt, "sonic") || strings.Contains(prompt, " ") || r.shell == nil {
		return "", "", false
	}
	if _, name, is := strings.Cut(strings.TrimSuffix(prompt, ")"), "(conf-if-"); is {
		r.shell.session.Interface = name
		return kit.ModeInterface, command, true
	}
	mode, is = r.modes[prompt]
	return mode, command, is
}

// do runs a command in a mode and writes the answer.
func (r *transcript) do(mode kit.Mode, command string) {
	s := r.shell
	s.session.Mode = mode
	if s.server != nil {
		s.server.sets = nil
	}
	s.out.Reset()
	s.err.Reset()
	if before, completes := strings.CutSuffix(command, "<TAB>"); completes {
		extended, choices := s.completion(r.t.Context(), before)
		fmt.Fprintln(s.out, strings.Join(append([]string{extended}, choices...), "\n  "))
	} else if before, asks := strings.CutSuffix(command, "?"); asks {
		s.help(r.t.Context(), s.out, before)
	} else if err := s.Exec(r.t.Context(), command); err != nil {
		fmt.Fprintln(s.err, err)
	}
	r.out.WriteString(s.out.String())
	r.out.WriteString(s.err.String())
	if s.server != nil && len(s.server.sets) > 0 {
		for line := range strings.Lines(s.sent()) {
			r.out.WriteString("-> " + line)
		}
	}
}

// direct executes a line with @.
func (r *transcript) direct(words []kit.Token) {
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = w.Text
	}
	switch args[0] {
	case "tree":
		r.shell, r.redis = newSession(r.t), nil
		r.shell.server.frozen = true
		for _, name := range args[1:] {
			r.shell.server.load(r.t, testFile(r.t, name+".json"))
		}
		r.learnModes()
	case "switch":
		r.shell, r.redis = newSwitch(r.t)
		r.learnModes()
	case "run":
		r.shell.runScript(r.t, testFile(r.t, args[1]))
	case "set", "del":
		table, key, _ := strings.Cut(args[2], "|")
		fields := swss.FieldValues{}
		for _, word := range args[3:] {
			name, value, _ := strings.Cut(word, "=")
			fields[name] = value
		}
		if args[0] == "set" {
			row(r.t, r.redis, swss.DBName(args[1]), table, key, fields)
		} else if err := swss.NewTable(r.redis.DB(swss.DBName(args[1])), table).Del(r.t.Context(), key); err != nil {
			r.t.Fatal(err)
		}
	case "rows":
		for _, table := range args[2:] {
			rows, err := swss.NewTable(r.redis.DB(swss.DBName(args[1])), table).Dump(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			for _, line := range rowLines(table, rows) {
				r.out.WriteString(line + "\n")
			}
		}
	default:
		r.t.Fatalf("there is no directive %q", args[0])
	}
}

// rowLines returns rows in the format of @set.
func rowLines(table string, rows map[string]swss.FieldValues) (lines []string) {
	for key, fields := range rows {
		line := table + "|" + key
		for _, p := range swss.Pairs(fields) {
			line += " " + kit.Quote(p.Field+"="+p.Value)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// learnModes records the prompts of the modes.
func (r *transcript) learnModes() {
	r.modes = map[string]kit.Mode{}
	for _, m := range anywhere(submodes()) {
		r.shell.session.Mode = m
		r.modes[strings.TrimSuffix(r.shell.Prompt(), "# ")] = m
	}
	r.shell.session.Mode = kit.ModeExec
}
