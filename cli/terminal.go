package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"tamtam/cli/kit"
)

// console is the terminal of an interactive session, for keys and output.
type console interface {
	io.ReadWriter
	raw() (restore func(), err error) // from then on, keys are read one by one until restore is called
	size() (width, height int)
}

// tty is the console of a real terminal.
type tty struct {
	in  *os.File
	out io.Writer
}

func newConsole(in *os.File, out io.Writer) console { return tty{in, out} }

func (t tty) Read(b []byte) (int, error)  { return t.in.Read(b) }
func (t tty) Write(b []byte) (int, error) { return t.out.Write(b) }

func (t tty) raw() (func(), error) {
	fd := int(t.in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, state) }, nil
}

func (t tty) size() (int, int) {
	w, h, err := term.GetSize(int(t.in.Fd()))
	if err != nil || w <= 0 {
		return 80, 24
	}
	return w, h
}

// keys are control characters that the line editor does not handle itself.
const (
	keyCtrlC     = 0x03
	keyCtrlG     = 0x07
	keyBackspace = 0x08
	keyCtrlR     = 0x12
	keyDelete    = 0x7f
	keyTab       = '\t'
	abandon      = "\x05\x15\r"   // goes to the end of the line, erases it, and presses enter
	end          = "\x05\x15\x04" // erases the line too, and ends the input
)

// keyReader passes on keys from the console, and ctx ends the input. A Ctrl-R of an edited line is read alone, because
// the keys after it belong to the search.
type keyReader struct {
	ctx  context.Context
	keys <-chan []byte
	rest []byte

	interrupt string // keys that Ctrl-C stands for; empty if no line is edited, and Ctrl-C is a key like any other
}

func (r *keyReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		select {
		case <-r.ctx.Done():
			return 0, io.EOF
		case k, ok := <-r.keys:
			if !ok {
				return 0, io.EOF
			}
			if r.rest = k; r.interrupt != "" {
				r.rest = bytes.ReplaceAll(k, []byte{keyCtrlC}, []byte(r.interrupt))
			}
		}
	}
	n := copy(b, r.rest)
	if i := bytes.IndexByte(b[:n], keyCtrlR); i >= 0 && r.interrupt != "" {
		n = max(i, 1)
	}
	r.rest = r.rest[n:]
	return n, nil
}

// pump reads the console into a channel until it ends or ctx is done.
func pump(ctx context.Context, r io.Reader) <-chan []byte {
	keys := make(chan []byte)
	go func() {
		defer close(keys)
		for {
			b := make([]byte, 256)
			n, err := r.Read(b)
			if n > 0 {
				select {
				case keys <- b[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return keys
}

// interact runs the interactive session. It prompts, edits and runs a line, and continues with the next line even after
// an error.
func (s *Shell) interact(ctx context.Context, con console) error {
	keys := pump(ctx, con)
	edited := &keyReader{ctx: ctx, keys: keys, interrupt: abandon}
	rw := struct {
		io.Reader
		io.Writer
	}{edited, con}
	s.pager, s.screen = &pager{con, &keyReader{ctx: ctx, keys: keys}, s.session.Config.Out}, true
	editor := term.NewTerminal(rw, "")
	hist, err := openHistory(s.session.Config.HistoryFile)
	if err != nil {
		s.session.Warn("history: %v", err)
	}
	defer hist.close()
	editor.History = hist
	s.session.History = func() []string { return hist.lines }
	s.session.Confirm = func(text string) (bool, error) { return s.ask(con, question{editor, edited}, text) }
	editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key == keyCtrlR {
			w, _ := con.size()
			at := utf8.RuneCountInString(s.Prompt() + line[:pos])
			found := (&finder{history: hist, keys: edited, out: con, width: w}).find(line, at)
			return found, len(found), true
		}
		return s.onKey(ctx, editor, line, pos, key)
	}
	for !s.session.Finished {
		line, err := s.readLine(con, editor, s.nextPrompt(ctx))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, term.ErrPasteIndicator):
			return err
		}
		if err := s.execInterruptible(ctx, line); err != nil {
			s.printError(err)
		}
	}
	return nil
}

// A question is asked with the editor of the session's lines, so that an answer may be typed before it is asked.
type question struct {
	editor *term.Terminal
	keys   *keyReader
}

// ask asks a question until the answer is y, yes, n or no. Ctrl-C and the end of the input mean no, and this is shown.
func (s *Shell) ask(con console, q question, text string) (yes bool, err error) {
	text += " [y/n] "
	lines, complete := q.editor.History, q.editor.AutoCompleteCallback
	q.editor.History, q.editor.AutoCompleteCallback, q.keys.interrupt = &history{}, nil, end
	defer func() {
		q.editor.History, q.editor.AutoCompleteCallback, q.keys.interrupt = lines, complete, abandon
	}()
	for {
		answer, err := s.readLine(con, q.editor, text)
		if errors.Is(err, io.EOF) {
			q.editor.SetPrompt("")
			_, err = io.WriteString(q.editor, text+"no, because there is no answer\n")
			return false, err
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		if _, err := fmt.Fprintf(con, "%q is not an answer: want y or n\r\n", answer); err != nil {
			return false, err
		}
	}
}

// readLine edits one line. The console is raw only while it does.
func (s *Shell) readLine(con console, editor *term.Terminal, prompt string) (string, error) {
	restore, err := con.raw()
	if err != nil {
		return "", err
	}
	defer restore()
	w, h := con.size()
	if err := editor.SetSize(w, h); err != nil {
		return "", err
	}
	editor.SetPrompt(prompt)
	return editor.ReadLine()
}

// execInterruptible runs a line that Ctrl-C interrupts.
func (s *Shell) execInterruptible(ctx context.Context, line string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return s.Exec(ctx, line)
}

// printError prints an error at the prompt, with the mark under the typed line.
func (s *Shell) printError(err error) {
	var syntax *kit.SyntaxError
	if !errors.As(err, &syntax) {
		fmt.Fprintln(s.session.Config.Err, err)
		return
	}
	before := strings.Repeat(" ", utf8.RuneCountInString(s.Prompt()))
	fmt.Fprintf(s.session.Config.Err, "%s%s^\n%s\n", before, syntax.Indent(), kit.ErrorText(syntax.Reason))
}

// onKey handles TAB and ? while a line is edited. A ? inside quotes is an ordinary character.
func (s *Shell) onKey(ctx context.Context, w io.Writer, line string, pos int, key rune) (string, int, bool) {
	before := line[:pos]
	switch key {
	case '?':
		if t := kit.Split(before); len(t) > 0 && t[len(t)-1].Open {
			return "", 0, false
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "%s%s?\n", s.Prompt(), line)
		s.help(ctx, &out, before)
		_, _ = w.Write(out.Bytes())
		return line, pos, true
	case keyTab:
		extended, choices := s.completion(ctx, before)
		if len(choices) > 0 {
			fmt.Fprintf(w, "%s%s\n%s\n", s.Prompt(), line, strings.Join(choices, "  "))
		}
		return extended + line[pos:], len(extended), true
	}
	return "", 0, false
}
