// Command pageshots clicks through the page of a lab in a real browser, at two sizes, in light and in dark. It also
// walks the page with only the keyboard, and takes pictures for docs/page.md. It reports errors of the browser, a page
// that scrolls sideways, a view that cannot be reached, and an invisible focus.
//
// It is a separate module, so that tamtam does not link the library that drives a browser. `make screenshots` runs it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/chromedp/chromedp"
)

func main() {
	tamtam := flag.String("tamtam", "bin/tamtam", "the program whose `lab serve` is shown")
	browser := flag.String("browser", "", "program of the browser (default: Chromium or Chrome as it is installed)")
	out := flag.String("out", "docs/page", "directory of the pictures of each view")
	all := flag.String("all", "", "directory for every page in every setting, whole; not written by default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *tamtam, *browser, *out, *all); err != nil {
		fmt.Fprintln(os.Stderr, "pageshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tamtam, browser, out, all string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	url, wait, err := serve(ctx, tamtam)
	if err != nil {
		return err
	}
	defer wait()
	defer cancel()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("headless", "new"),
		chromedp.Flag("hide-scrollbars", false))
	if browser != "" {
		opts = append(opts, chromedp.ExecPath(browser))
	}
	ctx, end := chromedp.NewExecAllocator(ctx, opts...)
	defer end()
	ctx, end = chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Run(ctx); err != nil {
		return fmt.Errorf("the browser does not start: %w", err)
	}
	var errs []error
	for _, s := range settings {
		n, err := walk(ctx, url, s, out, all)
		fmt.Printf("%v: %d views\n", s, n)
		errs = append(errs, err)
	}
	stops, err := keyboard(ctx, url)
	fmt.Printf("by the keyboard: %d stops of the focus\n", stops)
	return errors.Join(append(errs, err, weigh(out))...)
}

// mostBytes is the maximum total size of the pictures.
const mostBytes = 600_000

// weigh prints the total size of the pictures, and returns an error if it is too large.
func weigh(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.png"))
	var sum int64
	for _, name := range names {
		info, e := os.Stat(name)
		if e != nil {
			return e
		}
		sum += info.Size()
	}
	fmt.Printf("%d pictures, %d bytes\n", len(names), sum)
	if sum > mostBytes {
		err = errors.Join(err, fmt.Errorf("the pictures in %s have %d bytes, more than %d", dir, sum, mostBytes))
	}
	return err
}

// served matches the line with the page's address.
var served = regexp.MustCompile(`the page is at (http://\S+/)`)

// serve starts the lab's page. It returns the address, and a function that waits for its end.
func serve(ctx context.Context, tamtam string) (url string, wait func(), err error) {
	c := exec.CommandContext(ctx, tamtam, "lab", "serve", "--http", "127.0.0.1:0")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	said, err := c.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Println(lines.Text())
		if m := served.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, said)
			return m[1], func() { _ = c.Wait() }, nil // the interrupt ends the program with an error
		}
	}
	err = errors.Join(errors.New("ended"), c.Wait())
	return "", nil, fmt.Errorf("%s lab serve: %w, before it said where the page is", tamtam, err)
}
