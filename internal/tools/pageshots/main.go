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
	"strings"
	"time"

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
		chromedp.Flag("hide-scrollbars", false), chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(2*patience))
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
	used := 0
	var failed []string
	for _, of := range sites {
		if !chosen.MatchString(of.name) {
			continue
		}
		used++
		began, n := time.Now(), 0
		of.use(ctx, browsing, programs{tamtam, collectd, filepath.Join(dir, fmt.Sprint(used))}, out, all, func(err error) {
			if err != nil {
				n++
				fmt.Fprintf(os.Stderr, "%s: %v\n", of.name, err)
			}
		})
		word := "passed"
		if n > 0 {
			word = "FAILED"
			failed = append(failed, regexp.QuoteMeta(of.name))
		}
		fmt.Printf("%s: %s in %.0f s\n", of.name, word, time.Since(began).Seconds())
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted at %s: %w", of.name, ctx.Err())
		}
	}
	if used == 0 {
		return fmt.Errorf("-only %q: no site has such a name", only)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d sites failed; to use only these: -only '^(%s)$'", len(failed), used,
			strings.Join(failed, "|"))
	}
	if out != "" {
		return weigh(out)
	}
	return nil
}

// use serves a site, uses it in the browser, and reports each error as it occurs.
func (s site) use(ctx, browsing context.Context, p programs, out, all string, report func(error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, err := s.serve(ctx, &s, p)
	if wait != nil {
		defer wait()
	}
	defer cancel() // before the wait
	if err != nil {
		report(err)
		return
	}
	fmt.Printf("%s: %d pages, each in %d settings\n", s.name, s.crawl(browsing, report), len(settings))
	if s.pictured {
		report(picture(browsing, s.url, wideLight))
		report(picture(browsing, s.url, narrowDark))
	}
	if s.walked {
		for _, set := range settings {
			n, err := walk(browsing, s.url, set, out, all)
			report(err)
			fmt.Printf("%s, %v: %d views by the mouse\n", s.name, set, n)
		}
		stops, err := keyboard(browsing, s.url)
		report(err)
		fmt.Printf("%s: %d stops of the focus by the keyboard\n", s.name, stops)
	}
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
