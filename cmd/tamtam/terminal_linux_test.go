package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/racetest"
	"tamtam/mgmt"
	"tamtam/swss"
)

// A screen is the shell at a real pseudo-terminal, with its output.
type screen struct {
	*testing.T
	keys *os.File

	mu   sync.Mutex
	text string
	more chan struct{} // receives a value when there is more text
	at   int           // number of bytes of the output that the test has read
}

// startTerminal starts the shell of a switch with some configuration, in a window.
func startTerminal(t *testing.T, rows, columns uint16) *screen {
	t.Helper()
	dir := t.TempDir()
	socket := serveSome(t, dir)
	keys, line := openTerminal(t, rows, columns)
	cmd := exec.Command(os.Args[0], "cli", "--target", "unix:"+socket)
	cmd.Env = append(os.Environ(), asTamtam+"=1", "HOME="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line.Close()
	s := &screen{T: t, keys: keys, more: make(chan struct{}, 1)}
	go s.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		keys.Close()
		if s.mu.Lock(); t.Failed() {
			t.Logf("the screen: %q", s.text)
		}
		s.mu.Unlock()
	})
	s.expect("sonic# ")
	return s
}

// serveSome serves gNMI for a CONFIG_DB with samplers.
func serveSome(t *testing.T, dir string) string {
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	samplers := map[string]swss.FieldValues{}
	for i := range 30 {
		samplers[fmt.Sprintf("sampler-%02d", i)] = swss.FieldValues{"sampling-rate": "100"}
	}
	if err := swss.NewTable(r.DB(swss.ConfigDB), "TAM_SAMPLINGRATE_TABLE").SetMany(t.Context(), samplers); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	server, err := mgmt.NewServer(mgmt.Config{Redis: r, Socket: socket, Keep: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return socket
}

// openTerminal opens both sides of a pseudo-terminal.
func openTerminal(t *testing.T, rows, columns uint16) (keys, line *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err == nil {
		line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	return keys, line
}

func (s *screen) read() {
	b := make([]byte, 4096)
	for {
		n, err := s.keys.Read(b)
		s.mu.Lock()
		s.text += string(b[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) press(keys string) {
	s.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// expect waits for text after the text that was expected last, and returns the output up to its end.
func (s *screen) expect(text string) string {
	s.Helper()
	limit := time.After(time.Minute)
	for {
		s.mu.Lock()
		i := strings.Index(s.text[s.at:], text)
		if i >= 0 {
			came := s.text[s.at : s.at+i+len(text)]
			s.at += len(came)
			s.mu.Unlock()
			return came
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-limit:
			s.Fatalf("%q does not come", text)
		}
	}
}

// At a terminal TAB completes, ? helps, and Ctrl-C abandons a line and ends a running command. Arrow up shows the
// previous line, and Ctrl-R one that contains the typed text. Ctrl-D ends the session. The window is large enough for
// the output of show version.
func TestTerminalKeys(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	s := startTerminal(t, 100, 100)
	const prompt = "sonic# "
	for _, step := range []struct {
		press  string
		expect []string
	}{
		{"sh\tver\t", []string{"show version "}},
		{"\r", []string{"gNMI version", prompt}},
		{"show tam sw?", []string{"Attributes of the switch that are in use"}},
		{"\x15show tam samplers sampler-0\t", []string{"sampler-08  sampler-09"}},
		{"\x03", nil},
		{"nonsense\r", []string{"%Error: Invalid input detected at \"^\" marker", prompt}},
		{"show tam samplers sampler-07 watch 100ms\r", []string{"Sample Rate   : 100", "Sample Rate   : 100",
			"Sample Rate   : 100"}},
		{"\x03", []string{prompt}},
		{"\x1b[A\x1b[A\r", []string{"%Error: Invalid input", prompt}},
		{"ver\x12", []string{"show version "}},
		{"\r", []string{"gNMI version", prompt}},
		{"show\x12\x12\r", []string{"Sample Rate"}}, // the second Ctrl-R finds the line before the first match
		{"\x03", []string{prompt}},
		{"\x04", nil},
	} {
		s.press(step.press)
		for _, text := range step.expect {
			s.expect(text)
		}
	}
}

// Long output stops after each screen. A line that is wider than the window counts as several lines.
func TestTerminalPages(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	s := startTerminal(t, 10, 100)
	s.press("show tam samplers\r")
	s.expect("Sample Rate")
	first := s.expect("--More--")
	if n := strings.Count(first, "\n"); n != 8 { // the heading is above the page, and one row contains the question
		t.Errorf("%d lines in front of the question: %q", n, first)
	}
	s.press("\r")
	if n := strings.Count(s.expect("--More--"), "\n"); n != 1 {
		t.Errorf("Enter shows %d lines", n)
	}
	s.press(" ")
	if n := strings.Count(s.expect("--More--"), "\n"); n != 9 {
		t.Errorf("the blank shows %d lines", n)
	}
	s.press("q")
	if rest := s.expect("sonic# "); strings.Contains(rest, "sampler-29") {
		t.Errorf("q shows the rest: %q", rest)
	}
	s.press("show tam samplers | no-more\r")
	if all := s.expect("sampler-29"); strings.Contains(all, "--More--") {
		t.Errorf("no-more stops: %q", all)
	}
	s.expect("sonic# ")
	s.press("show tam samplers\r")
	s.expect("--More--")
	s.press("G")
	s.expect("sampler-29")
	s.expect("sonic# ")
}

// In a narrow window a long line is edited over several rows, and the screens count the rows of each line.
func TestTerminalNarrow(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	s := startTerminal(t, 8, 20)
	s.press("show tam samplers sampler-07 | include Rate\r")
	s.expect("Sample Rate   : 100")
	s.expect("sonic# ")
	s.press("show running-configuration tam\r")
	first := s.expect("--More--")
	if n := strings.Count(first[strings.Index(first, "configure"):], "\n"); n > 5 {
		t.Errorf("%d lines of two rows each in a window of 8 rows: %q", n, first)
	}
	s.press("\x03")
	s.expect("sonic# ")
}
