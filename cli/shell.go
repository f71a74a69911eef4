package cli

import (
	"bufio"
	"cmp"
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

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Shell is one session with one switch.
type Shell struct {
	session *kit.Session
	clicks  []click
	name    string // hostname of the switch, as last read; empty if it is unknown
	pager   *pager // pages the output of an interactive session
	screen  bool   // whether there is a screen that can be cleared
}

// New checks the configuration and prepares the connection, which is opened by the first command that needs the switch.
// The caller must close the Shell.
func New(conf kit.Config) (*Shell, error) {
	if err := conf.Check(); err != nil {
		return nil, err
	}
	c, err := kit.Dial(conf)
	if err != nil {
		return nil, err
	}
	modes := submodes()
	session := &kit.Session{Config: conf, Client: c, Grammar: kit.Compile(commandTable(modes), modes)}
	s := &Shell{session: session, clicks: clicks()}
	session.Help = func(ctx context.Context) { s.Help(ctx, "") }
	return s, nil
}

// Close ends the connection.
func (s *Shell) Close() error { return s.session.Client.Close() }

// Prompt returns the prompt of an interactive session before the next command, for example "sonic(config-tam)# ".
func (s *Shell) Prompt() string {
	at, _ := s.session.Grammar.Below(s.session.Mode)
	return cmp.Or(s.name, "sonic") + strings.Replace(at.Prompt, "IFACE", s.session.Interface, 1) + "# "
}

// nameTimeout bounds the time that a prompt waits for the switch's name.
const nameTimeout = time.Second

// nextPrompt returns the prompt with the present hostname of the switch, which any client may change.
func (s *Shell) nextPrompt(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	if found, err := s.session.Client.Configured(ctx, tree.Path(systemRoot, "config", "hostname")); err == nil {
		s.name, _ = kit.ParseHostname(found.Text()) // "" if a client of the databases has written what is no name
	}
	return s.Prompt()
}

// Exec runs one command line in the present mode. Blank lines and lines that begin with "!" or "#" do nothing. At a
// terminal, a line that ends in "?" lists what may follow. The
// error's text is complete, including "%Error: ", and is not printed here. A *SyntaxError also contains the line and
// the position.
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
	if before, ok := strings.CutSuffix(line, "?"); ok && s.pager != nil {
		s.Help(ctx, before)
		return nil
	}
	err := s.run(ctx, line)
	var syntax *kit.SyntaxError
	if err == nil || errors.As(err, &syntax) {
		return err
	}
	return commandError{err}
}

// commandError is the error of a command that failed after it was parsed.
type commandError struct{ err error }

func (e commandError) Error() string { return kit.ErrorText(e.err.Error()) }
func (e commandError) Unwrap() error { return e.err }

// run runs a line in the shell's own words or in those of SONiC's Click commands.
func (s *Shell) run(ctx context.Context, line string) error {
	if s.session.Mode != kit.ModeExec {
		return s.runOwn(ctx, line)
	}
	parts, bars := kit.Stages(kit.Split(line))
	lines, err := translated(parts[0], s.clicks)
	if err != nil {
		return err
	}
	if lines == nil {
		return s.runOwn(ctx, line)
	}
	pipes := ""
	if len(bars) > 0 {
		pipes = " " + line[bars[0].Col:]
	}
	return s.runTranslated(ctx, lines, pipes)
}

// runOwn parses the line and runs the command and its pipes.
func (s *Shell) runOwn(ctx context.Context, line string) error {
	tokens := s.session.Grammar.JoinText(s.session.Mode, kit.Split(line))
	for _, t := range tokens {
		if t.Open {
			return &kit.SyntaxError{Line: line, Col: t.Col, Reason: "the closing quote is missing"}
		}
	}
	parts, bars := kit.Stages(tokens)
	if len(parts[0]) == 0 {
		return &kit.SyntaxError{Line: line, Col: bars[0].Col, Reason: "a command is missing before the pipe"}
	}
	found, in, err := s.session.Grammar.Parse(s.session.Mode, line, parts[0])
	if err != nil {
		return err
	}
	if found.Cmd.Show == nil {
		if len(bars) > 0 {
			return &kit.SyntaxError{Line: line, Col: bars[0].Col, Reason: "only the output of show commands can be piped"}
		}
		if in != kit.ModeExec {
			s.session.Mode = in
		}
		return found.Cmd.Do(ctx, &kit.Call{Session: s.session, Args: found.Args, No: found.No})
	}
	pipes, err := kit.ParsePipes(s.session, line, parts[1:])
	if err != nil {
		return err
	}
	c := &kit.Call{Session: s.session, Args: found.Args}
	if c.Has("watch") {
		d := usualWatch
		if text, ok := found.Args["every"]; ok {
			if d, err = time.ParseDuration(text); err != nil {
				return err
			}
		}
		return s.watch(ctx, d, func() error { return s.show(ctx, found.Cmd, c, pipes, false) })
	}
	return s.show(ctx, found.Cmd, c, pipes, true)
}

// show runs a show command and its pipes. If paged is set and there is a screen, it shows one screen at a time.
func (s *Shell) show(ctx context.Context, cmd *kit.Command, c *kit.Call, pipes []kit.Pipe, paged bool) error {
	c.Brief = len(pipes) == 0 || pipes[0].Word != "json" && pipes[0].Word != "yaml"
	v, err := cmd.Show(ctx, c)
	if err != nil {
		return err
	}
	text, err := v.Through(pipes, s.width())
	if err != nil {
		return err
	}
	if s.pager != nil && paged && !slices.ContainsFunc(pipes, func(p kit.Pipe) bool { return p.Word == "no-more" }) {
		return s.pager.show(text)
	}
	_, err = s.session.Config.Out.Write(text)
	return err
}

// width returns the columns of the screen that shows the output, or 0 if there is none.
func (s *Shell) width() int {
	if s.pager != nil {
		w, _ := s.pager.con.size()
		return w
	}
	if f, ok := s.session.Config.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w, _ := tty{in: f}.size()
		return w
	}
	return 0
}

// ExecEvery runs lines, and repeats them at the interval every until ctx ends or a line fails. If every is 0, it runs
// them once.
func (s *Shell) ExecEvery(ctx context.Context, lines []string, every time.Duration) error {
	var ticks <-chan time.Time
	if every > 0 {
		tick := time.NewTicker(every)
		defer tick.Stop()
		ticks = tick.C
	}
	for {
		for _, line := range lines {
			err := s.Exec(ctx, line)
			if ctx.Err() != nil && every > 0 { // the end was requested
				return nil
			}
			if err != nil {
				return err
			}
		}
		if every == 0 {
			return nil
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return nil
		}
	}
}

// ExecFile runs the commands in a file, and stops at the first that fails. The error contains the file and the line.
// The name "-" stands for the Config's In.
func (s *Shell) ExecFile(ctx context.Context, name string) error {
	if name == "-" {
		return s.ExecScript(ctx, "standard input", s.session.Config.In)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("command file: %w", err)
	}
	defer f.Close()
	return s.ExecScript(ctx, name, f)
}

// maxLine is the maximum length of a line of a script, in bytes.
const maxLine = 1 << 20

// ExecScript does the work of [Shell.ExecFile] for the content of r. name is used in errors.
func (s *Shell) ExecScript(ctx context.Context, name string, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for n++; lines.Scan() && !s.session.Finished; n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if s.session.Config.Echo {
			fmt.Fprintf(s.session.Config.Out, "%s%s\n", s.nextPrompt(ctx), lines.Text())
		}
		switch err := s.Exec(ctx, lines.Text()); {
		case err != nil && s.session.Config.Echo:
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

// Run reads commands from the Config's In until it ends, `exit` is called or ctx is done. At a terminal it edits lines,
// prints errors and continues after them. Other input is run like a file, up to the first error.
func (s *Shell) Run(ctx context.Context) error {
	f, ok := s.session.Config.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.ExecFile(ctx, "-")
	}
	return s.interact(ctx, newConsole(f, s.session.Config.Out))
}
