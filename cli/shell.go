package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Shell is one session with one switch.
type Shell struct {
	conf    Config
	client  *client
	grammar grammar
	clicks  []click

	mode     mode
	iface    string  // the interface that modeInterface configures
	finished bool    // exit was called in exec mode
	ids      *idPool // flow group ids; nil: not asked for yet
	history  *history
	pager    *pager // of an interactive session
	screen   bool   // there is one that can be cleared
}

// New checks the configuration and prepares the connection; the first command
// that needs the switch makes it. The caller closes the Shell.
func New(conf Config) (*Shell, error) {
	if err := conf.check(); err != nil {
		return nil, err
	}
	c, err := dial(conf)
	if err != nil {
		return nil, err
	}
	return &Shell{conf: conf, client: c, grammar: compile(commandTable()), clicks: clicks()}, nil
}

// Close ends the connection.
func (s *Shell) Close() error { return s.client.close() }

// Prompt is what an interactive session shows before the next command, for
// example "sonic(config-tam)# ".
func (s *Shell) Prompt() string {
	at, _ := s.mode.below()
	return s.conf.Hostname + strings.Replace(at.prompt, "IFACE", s.iface, 1) + "# "
}

// Exec runs one command line in the present mode. Blank lines and lines that
// begin with "!" or "#" do nothing. The error's text is complete, "%Error: "
// included, and is not printed here; a *SyntaxError also holds the line and
// the place in it.
func (s *Shell) Exec(ctx context.Context, line string) error {
	steers := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
	if !utf8.ValidString(line) || strings.ContainsFunc(line, steers) {
		return commandError{errors.New("the line holds control characters or is not UTF-8")}
	}
	line = strings.TrimRight(line, " \t")
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" || trimmed[0] == '!' || trimmed[0] == '#' {
		return nil
	}
	if before, ok := strings.CutSuffix(line, "?"); ok {
		s.help(ctx, s.conf.Out, before)
		return nil
	}
	err := s.run(ctx, line)
	var syntax *SyntaxError
	if err == nil || errors.As(err, &syntax) {
		return err
	}
	return commandError{err}
}

// commandError is a command that was understood but failed.
type commandError struct{ err error }

func (e commandError) Error() string { return errorText(e.err.Error()) }
func (e commandError) Unwrap() error { return e.err }

// errorText is how SONiC's shell words a failure.
func errorText(reason string) string {
	r, n := utf8.DecodeRuneInString(reason)
	return "%Error: " + string(unicode.ToUpper(r)) + reason[n:]
}

// run runs a line, in the shell's words or in SONiC's other ones.
func (s *Shell) run(ctx context.Context, line string) error {
	if s.mode != modeExec {
		return s.runOwn(ctx, line)
	}
	parts, bars := stages(split(line))
	lines, err := translated(parts[0], s.clicks)
	if err != nil {
		return err
	}
	if lines == nil {
		return s.runOwn(ctx, line)
	}
	pipes := ""
	if len(bars) > 0 {
		pipes = " " + line[bars[0].col:]
	}
	return s.runTranslated(ctx, lines, pipes)
}

// runOwn parses the line and runs the command and its pipes.
func (s *Shell) runOwn(ctx context.Context, line string) error {
	tokens := split(line)
	for _, t := range tokens {
		if t.open {
			return &SyntaxError{Line: line, Col: t.col, Reason: "the closing quote is missing"}
		}
	}
	parts, bars := stages(tokens)
	if len(parts[0]) == 0 {
		return &SyntaxError{Line: line, Col: bars[0].col, Reason: "a command is missing before the pipe"}
	}
	found, in, err := s.grammar.parse(s.mode, line, parts[0])
	if err != nil {
		return err
	}
	if found.cmd.show == nil {
		if len(bars) > 0 {
			return &SyntaxError{Line: line, Col: bars[0].col, Reason: "only the output of show commands can be piped"}
		}
		if in != modeExec {
			s.mode = in
		}
		return found.cmd.do(ctx, &call{sh: s, args: found.args, no: found.no})
	}
	pipes, err := s.parsePipes(line, parts[1:])
	if err != nil {
		return err
	}
	c := &call{sh: s, args: found.args}
	if c.has("watch") {
		d := usualWatch
		if text, ok := found.args["every"]; ok {
			if d, err = time.ParseDuration(text); err != nil {
				return err
			}
		}
		return s.watch(ctx, d, func() error { return s.show(ctx, found.cmd, c, pipes, false) })
	}
	return s.show(ctx, found.cmd, c, pipes, true)
}

// show runs a show command and its pipes; paged: a screen at a time, if there is one.
func (s *Shell) show(ctx context.Context, cmd *command, c *call, pipes []pipe, paged bool) error {
	c.brief = len(pipes) == 0 || pipes[0].word != "json" && pipes[0].word != "yaml"
	v, err := cmd.show(ctx, c)
	if err != nil {
		return err
	}
	text, err := v.through(pipes)
	if err != nil {
		return err
	}
	if s.pager != nil && paged && !slices.ContainsFunc(pipes, func(p pipe) bool { return p.word == "no-more" }) {
		return s.pager.show(text)
	}
	_, err = s.conf.Out.Write(text)
	return err
}

// warn writes a warning for the user, apart from the output.
func (s *Shell) warn(format string, args ...any) {
	fmt.Fprintf(s.conf.Err, "%%Warning: "+format+"\n", args...)
}

// ExecFile runs the commands in a file and stops at the first that fails; the
// error names the file and the line. "-" is the Config's In.
func (s *Shell) ExecFile(ctx context.Context, name string) error {
	if name == "-" {
		return s.ExecScript(ctx, "standard input", s.conf.In)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("command file: %w", err)
	}
	defer f.Close()
	return s.ExecScript(ctx, name, f)
}

// maxLine is the longest line of a script, in bytes.
const maxLine = 1 << 20

// ExecScript is [Shell.ExecFile] for what r has; name is what errors call it.
func (s *Shell) ExecScript(ctx context.Context, name string, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for n++; lines.Scan() && !s.finished; n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if s.conf.Echo {
			fmt.Fprintf(s.conf.Out, "%s%s\n", s.Prompt(), lines.Text())
		}
		switch err := s.Exec(ctx, lines.Text()); {
		case err != nil && s.conf.Echo:
			s.printError(err)
		case err != nil:
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n, err)
	}
	return nil
}

// Run reads commands from the Config's In until it ends, `exit` is called or ctx
// is done. At a terminal it edits lines and goes on after errors, which it
// prints; other input is run like a file, up to the first error.
func (s *Shell) Run(ctx context.Context) error {
	f, ok := s.conf.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.ExecFile(ctx, "-")
	}
	return s.interact(ctx, newConsole(f, s.conf.Out))
}
