// Command pageshots uses the page in a real browser, at three sizes, in light and in dark: the page of several
// experiments of the lab, that of a switch, and that of a fleet's collector. It clicks through all views, and walks
// them with only the keyboard. It fails on texts over each other, a page that scrolls sideways, a number on two lines,
// a view that cannot be reached, an invisible focus, parts without a name, and errors of the browser. With -out it
// takes the pictures of docs/page.md.
//
// It is a separate module, so that tamtam does not link the library that drives a browser. `make page-test` and `make
// screenshots` run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/chromedp/chromedp"
)

func main() {
	tamtam := flag.String("tamtam", "bin/tamtam", "the program that is shown")
	collectd := flag.String("collectd", "bin/tamtam-collectd", "the fleet's collector that is shown")
	browser := flag.String("browser", "", "program of the browser (default: Chromium or Chrome as it is installed)")
	out := flag.String("out", "", "directory for the pictures of docs; none by default")
	all := flag.String("all", "", "directory for pictures of each view in every setting, whole; none by default")
	only := flag.String("only", "", "regular expression of the sites that are used (default: all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *tamtam, *collectd, *browser, *out, *all, *only); err != nil {
		fmt.Fprintln(os.Stderr, "pageshots:", err)
		os.Exit(1)
	}
}

// browsers lists the programs that can be used, as distributions name them.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// found returns the browser that is used, or an error that names what is missing.
func found(browser string) (string, error) {
	if browser != "" {
		return exec.LookPath(browser)
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("none of the browsers %v is installed: install Debian's chromium (apt-get install chromium), "+
		"or name another by -browser", browsers)
}

func run(ctx context.Context, tamtam, collectd, browser, out, all, only string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only %q: %w", only, err)
	}
	path, err := found(browser)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "pageshots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("headless", "new"),
		chromedp.Flag("hide-scrollbars", false), chromedp.ExecPath(path))
	browsing, end := chromedp.NewExecAllocator(ctx, opts...)
	defer end()
	browsing, end = chromedp.NewContext(browsing)
	defer end()
	if err := chromedp.Run(browsing); err != nil {
		return fmt.Errorf("the browser does not start: %w", err)
	}
	if err := able(browsing); err != nil {
		return err
	}
	var errs []error
	used := 0
	for _, of := range sites {
		if !chosen.MatchString(of.name) {
			continue
		}
		used++
		errs = append(errs, of.use(ctx, browsing, programs{tamtam, collectd, filepath.Join(dir, fmt.Sprint(used))}, out, all))
	}
	if used == 0 {
		return fmt.Errorf("-only %q: no site has such a name", only)
	}
	if out != "" {
		errs = append(errs, weigh(out))
	}
	return errors.Join(errs...)
}

// use serves a site, and uses it in the browser.
func (s site) use(ctx, browsing context.Context, p programs, out, all string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, err := s.serve(ctx, &s, p)
	if wait != nil {
		defer wait()
	}
	defer cancel() // before the wait
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	pages, err := s.crawl(browsing)
	fmt.Printf("%s: %d pages, each in %d settings\n", s.name, pages, len(settings))
	errs := []error{err}
	if s.pictured {
		errs = append(errs, picture(browsing, s.url, wideLight), picture(browsing, s.url, narrowDark))
	}
	if s.walked {
		for _, set := range settings {
			n, err := walk(browsing, s.url, set, out, all)
			fmt.Printf("%s, %v: %d views by the mouse\n", s.name, set, n)
			errs = append(errs, err)
		}
		stops, err := keyboard(browsing, s.url)
		fmt.Printf("%s: %d stops of the focus by the keyboard\n", s.name, stops)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
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
