package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A session runs the commands of one page.
type session struct {
	tree      string // the root of the tree
	tool      string // the tamtam that was built from it
	dir       string // holds bin, data and page
	sw        *liveSwitch
	cpu       time.Duration
	commanded bool // true if the switch received a command since the last query
}

// openSession creates the page's folder.
func openSession(tree, tool string) (*session, error) {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return nil, err
	}
	s := &session{tree: tree, tool: tool, dir: dir}
	for _, sub := range []string{"bin", "data", "page"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	for _, name := range []string{"cmd", "docs", "lab"} {
		err = errors.Join(err, os.Symlink(filepath.Join(tree, name), filepath.Join(dir, "page", name)))
	}
	err = errors.Join(err, os.Symlink(filepath.Join("..", "data"), filepath.Join(dir, "page", "data")))
	return s, errors.Join(err, s.wrapTool(""))
}

// wrapTool makes tamtam's commands find the page's switch: the shell by its socket, and those that use Redis by its
// address.
func (s *session) wrapTool(redis string) error {
	data := filepath.Join(s.dir, "data")
	config := ""
	if redis != "" {
		config = `config) word=$2; shift 2; set -- config $word --redis ` + redis + ` "$@" ;;`
	}
	return s.wrap("tamtam", `case $1 in
bench) [ -z "$`+inShort+`" ] || set -- "$@" --duration 1ms --groups 10 --changes 3 --routes 100 ;;
up) shift; set -- up --data '`+data+`' --gnmi 127.0.0.1:0 "$@" ;;
cli | subscribe | trace) word=$1; shift; set -- $word --data '`+data+`' "$@" ;;
`+config+`
esac
exec '`+s.tool+`' "$@"`)
}

// point makes the commands that use Redis find the page's switch.
func (s *session) point(port string) error {
	if port == "" {
		return nil
	}
	if path, err := exec.LookPath("redis-cli"); err == nil { // without redis-cli, pages that need it are skipped
		if err := s.wrap("redis-cli", "exec '"+path+"' -p "+port+` "$@"`); err != nil {
			return err
		}
	}
	return s.wrapTool("127.0.0.1:" + port)
}

// works waits until orchagent has started. Before that the capabilities of the switch are unknown, and a feature is
// refused.
func (s *session) works(ctx context.Context, port string) error {
	if port == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out, err := s.command(ctx, "tamtam health orchagent --redis 127.0.0.1:"+port, true, false).CombinedOutput()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("its orchagent does not start: %s", out)
		}
		time.Sleep(settle / 4)
	}
}

// wrap writes a script that the page's commands find first in PATH.
func (s *session) wrap(name, script string) error {
	return os.WriteFile(filepath.Join(s.dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755)
}

func (s *session) close() {
	s.stopSwitch()
	_ = os.RemoveAll(s.dir)
}

// command returns a command that runs a script as a reader types it, or strictly. If the switch is wired, it runs in
// the network of the interfaces.
func (s *session) command(ctx context.Context, script string, strict, tree bool) *exec.Cmd {
	args := []string{"bash"}
	if s.sw != nil && s.sw.wired {
		args = []string{"nsenter", "--target", fmt.Sprint(s.sw.cmd.Process.Pid), "--user", "--net", "--preserve-credentials",
			"bash"}
	}
	if strict {
		args = append(args, "-e", "-o", "pipefail")
	}
	args = append(args, "-c", script)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(s.dir, "page")
	if tree {
		cmd.Dir = s.tree
	}
	path := "PATH=" + filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), path, "LC_ALL=C", "TZ=UTC", "PWD="+cmd.Dir)
	cmd.WaitDelay = time.Second
	return cmd
}

var up = regexp.MustCompile(`^tamtam up\b`)

// inShort is the environment variable that is set for commands in their short form.
const inShort = "FIGURES_IN_SHORT"

// Time limits of a command, and of a long one.
const (
	quickest = 2 * time.Minute
	longest  = 3 * time.Hour
)

// run runs a command. It returns the lines that it prints, and whether its exit status was 0.
func (s *session) run(ctx context.Context, st step, b *block) (lines []string, ok bool, err error) {
	if up.MatchString(st.command) {
		lines, err = s.startSwitch(ctx, st.command)
		return lines, err == nil, err
	}
	limit := quickest
	if b.long && !b.inShort {
		limit = longest
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	cmd := s.command(ctx, st.command, st.strict, b.tree)
	if b.inShort {
		cmd.Env = append(cmd.Env, inShort+"=1")
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil {
		s.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var status *exec.ExitError
	if errors.As(err, &status) && status.Exited() {
		err = nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	lines = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	return lines[min(st.skip, len(lines)):], status == nil, err
}

// reads matches commands that only read, so that they may be repeated.
var reads = regexp.MustCompile(
	`(?i)^redis-cli( -n \d+)? (hget|hmget|hgetall|hkeys|get|keys|exists|smembers|lrange|zrange|type) |` +
		`^tamtam cli( -c '(do )?show [^']*')+( \||$)|^tamtam cli --echo <<'END'\n` +
		`(configure terminal\ntam\n([a-z-]+\n)?)?((do )?show .*\n)+END$`)

const (
	// settle is the time that a switch gets before its result is queried. The query is repeated until its output equals
	// the page's, or patience has passed.
	settle   = 200 * time.Millisecond
	patience = 10 * time.Second
)

// ask runs a command. If the command only reads from a live switch, ask repeats it until the output is as expected.
func (s *session) ask(
	ctx context.Context, st step, b *block, wanted func([]string) bool,
) (lines []string, ok bool, err error) {
	if s.sw == nil || !reads.MatchString(st.command) {
		s.commanded = true
		return s.run(ctx, st, b)
	}
	if s.commanded {
		time.Sleep(settle)
	}
	s.commanded = false
	for start := time.Now(); ; time.Sleep(settle) {
		lines, ok, err = s.run(ctx, st, b)
		if err != nil || wanted(lines) || time.Since(start) > patience {
			return lines, ok, err
		}
	}
}

// A liveSwitch is a `tamtam up` in the background.
type liveSwitch struct {
	cmd   *exec.Cmd
	wired bool // true if its ports have interfaces in a separate network
	mu    sync.Mutex
	out   bytes.Buffer // output so far
	done  chan struct{}
}

var ready = regexp.MustCompile(`the switch is up: Redis at \S*?(?::(\d+))?,`)

// startSwitch starts a switch, replaces the previous one, and waits until it is up.
func (s *session) startSwitch(ctx context.Context, script string) ([]string, error) {
	s.stopSwitch()
	wired := wires.MatchString(script)
	cmd := s.command(ctx, wire(script), false, false)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, err
	}
	sw := &liveSwitch{cmd: cmd, wired: wired, done: make(chan struct{})}
	s.sw = sw
	isUp := make(chan string, 1)
	go func() {
		defer close(sw.done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			sw.mu.Lock()
			fmt.Fprintln(&sw.out, lines.Text())
			sw.mu.Unlock()
			if m := ready.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case isUp <- m[1]:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, r)
		_ = r.Close()
	}()
	select {
	case port := <-isUp:
		if err := errors.Join(s.point(port), s.works(ctx, port)); err != nil {
			return sw.lines(), err
		}
		s.commanded = true
		return sw.lines(), nil
	case <-sw.done:
		return sw.lines(), fmt.Errorf("it ended: %s", strings.Join(sw.lines(), "\n"))
	case <-time.After(time.Minute):
		return sw.lines(), fmt.Errorf("not up after a minute: %s", strings.Join(sw.lines(), "\n"))
	}
}

func (sw *liveSwitch) lines() []string {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	return strings.Split(strings.TrimSuffix(sw.out.String(), "\n"), "\n")
}

func (s *session) stopSwitch() {
	if s.sw == nil {
		return
	}
	_ = s.sw.cmd.Process.Signal(os.Interrupt)
	_ = s.sw.cmd.Wait()
	<-s.sw.done
	s.cpu += s.sw.cmd.ProcessState.UserTime() + s.sw.cmd.ProcessState.SystemTime()
	s.sw = nil
}
