package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A setting is how a browser shows the pages.
type setting struct {
	width, height int64
	scheme        string
}

// String returns the setting in the form "360x740 dark".
func (s setting) String() string { return fmt.Sprintf("%dx%d %s", s.width, s.height, s.scheme) }

// Settings of a telephone, a tablet and a small screen.
var (
	narrowLight = setting{360, 740, "light"}
	narrowDark  = setting{360, 740, "dark"}
	middleLight = setting{768, 1024, "light"}
	middleDark  = setting{768, 1024, "dark"}
	wideLight   = setting{1280, 800, "light"}
	wideDark    = setting{1280, 800, "dark"}

	settings = []setting{wideLight, wideDark, middleLight, middleDark, narrowLight, narrowDark}
)

// A view is a page: the link to it on the previous page, its title, and the setting of its picture in docs.
type view struct {
	name, click, title string
	shown              setting
}

// views lists all views, in the order of the walk.
var views = []view{
	{"network", `nav a[href="/"]`, "Network", wideLight},
	{"flows", `nav a[href^="/flows"]`, "Flows", wideDark},
	{"flow", `tbody a[href*="/flow?"]`, "A flow's path", wideLight},
	{"packets", `nav a[href^="/packets"]`, "Packets", wideLight},
	{"packet", `tbody a[href*="/packet?"]`, "A packet's path", wideDark},
	{"drops", `nav a[href^="/drops"]`, "Drops", wideLight},
	{"marking", `nav a[href^="/marking"]`, "Alternate marking", wideLight},
	{"periods", `tbody a[href*="/periods?"]`, "Periods", narrowDark},
	{"sketches", `nav a[href^="/sketches"]`, "Sketches", wideLight},
	{"switches", `nav a[href^="/switches"]`, "Switches", narrowLight},
	{"switch", `tbody a[href*="name=leaf3"]`, "A switch", wideDark},
	{"sources", `nav a[href^="/sources"]`, "Sources", narrowLight},
}

// patience is the maximum time for a page.
const patience = time.Minute

// complaints holds the errors that the browser reported and that were not taken yet.
type complaints struct {
	mu   sync.Mutex
	errs []error
}

// add adds an error, unless there is such a one.
func (c *complaints) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(c.errs, func(e error) bool { return e.Error() == err.Error() }) {
		c.errs = append(c.errs, err)
	}
}

// take removes the errors, and returns them as one.
func (c *complaints) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errors.Join(c.errs...)
	c.errs = nil
	return err
}

// tab opens a page in a setting. errs receives the complaints of the browser.
func tab(ctx context.Context, s setting) (of context.Context, errs *complaints, end func(), err error) {
	ctx, end = chromedp.NewContext(ctx)
	errs = new(complaints)
	complain := func(format string, args ...any) { errs.add("%v: "+format, append([]any{s}, args...)...) }
	chromedp.ListenTarget(ctx, func(event any) { // called for one event at a time
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				complain("%s: %s", e.Entry.URL, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			complain("%v", e.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				complain("console: %v", e.Args)
			}
		case *network.EventLoadingFailed:
			if !e.Canceled {
				complain("%s failed: %s", e.Type, e.ErrorText)
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				complain("%s: status %d", e.Response.URL, e.Response.Status)
			}
		}
	})
	if err = chromedp.Run(ctx, log.Enable(), network.Enable()); err == nil {
		err = use(ctx, s)
	}
	return ctx, errs, end, err
}

// walk clicks through all views in one setting.
func walk(ctx context.Context, url string, s setting, out, all string) (n int, err error) {
	ctx, errs, end, err := tab(ctx, s)
	defer end()
	if err != nil {
		return 0, err
	}
	if err := chromedp.Run(ctx, chromedp.Navigate(url), chromedp.WaitReady("h1")); err != nil {
		return 0, err
	}
	for _, v := range views {
		if err := v.visit(ctx, s, out, all); err != nil {
			return n, errors.Join(errs.take(), fmt.Errorf("%v: %s: %w", s, v.name, err))
		}
		n++
	}
	return n, errs.take()
}

// visit clicks to a view, checks it and takes its picture.
func (v view) visit(ctx context.Context, s setting, out, all string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	click := func() error {
		return chromedp.Run(ctx, chromedp.Evaluate(left, nil), chromedp.Click(v.click, chromedp.ByQuery))
	}
	err := click()
	for try := 0; err != nil && strings.Contains(err.Error(), "node with given id") && try < 3; try++ {
		err = click() // the page was refreshed between the search and the click
	}
	if err != nil {
		return fmt.Errorf("a click at %s: %w", v.click, err)
	}
	if err := titled(ctx, v.title); err != nil {
		return err
	}
	if err := errors.Join(check(ctx, "layout"), named(ctx, "names")); err != nil {
		return err
	}
	if all != "" {
		name := fmt.Sprintf("%s-%d-%s.png", v.name, s.width, s.scheme)
		if err := shoot(ctx, filepath.Join(all, name), true); err != nil {
			return err
		}
	}
	if v.shown != s || out == "" {
		return nil
	}
	return shoot(ctx, filepath.Join(out, v.name+".png"), false)
}

// left marks a page that is about to be left, which may have the title of the next.
const left = `void (document.documentElement.dataset.left = "1")`

// titled waits for a page that has a title and is not the page that was left. The page never finishes loading, since it
// listens for changes.
func titled(ctx context.Context, title string) error {
	var is string
	for {
		err := chromedp.Run(ctx, chromedp.Evaluate(
			`document.readyState === "loading" || document.documentElement?.dataset.left ? "" :
				document.querySelector("h1")?.textContent ?? ""`, &is))
		if err == nil && is == title {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("want a page %q, have %q: %w", title, is, errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func shoot(ctx context.Context, name string, whole bool) error {
	var png []byte
	take := chromedp.CaptureScreenshot(&png)
	if whole {
		take = chromedp.FullScreenshot(&png, 100)
	}
	if err := chromedp.Run(ctx, take); err != nil {
		return err
	}
	png, err := smaller(png)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, png, 0o644)
}

// awaiting makes an evaluation wait for a promise.
func awaiting(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// A stop is the element with the focus.
type stop struct {
	Tag, Href, Text string
	Ring, Seen      bool // true if the focus ring is visible, and if the element is within the window
}

const focused = `(() => {
	const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
	return { Tag: e.tagName, Href: e.getAttribute("href") ?? "", Text: e.textContent.trim().slice(0, 40),
		Ring: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0,
		Seen: r.right > 0 && r.bottom > 0 && r.left < innerWidth && r.top < innerHeight };
})()`

// mostStops is the maximum number of Tab presses on the way to a link.
const mostStops = 60

// keyboard walks through all views by Tab and Enter.
func keyboard(ctx context.Context, url string) (stops int, err error) {
	ctx, errs, end, err := tab(ctx, narrowLight)
	defer end()
	if err != nil {
		return 0, err
	}
	if err := chromedp.Run(ctx, chromedp.Navigate(url), chromedp.WaitReady("h1")); err != nil {
		return 0, err
	}
	first, err := next(ctx)
	if err == nil && first.Text != "Skip to content" {
		err = fmt.Errorf("the first stop is %+v, and not the link that skips to the content", first)
	}
	for _, v := range views {
		if err != nil {
			break
		}
		var n int
		if n, err = press(ctx, v); err != nil {
			err = fmt.Errorf("by the keyboard to %s: %w", v.name, err)
		}
		stops += n
	}
	return stops, errors.Join(errs.take(), err)
}

// next presses Tab.
func next(ctx context.Context) (s stop, err error) {
	if err := chromedp.Run(ctx, chromedp.KeyEvent("\t"), chromedp.Evaluate(focused, &s)); err != nil {
		return s, err
	}
	if s.Tag != "BODY" && (!s.Ring || !s.Seen) {
		return s, fmt.Errorf("the focus is at %+v, which does not show it", s)
	}
	return s, nil
}

// press visits a view: it presses Tab until the view's link has the focus, and then Enter.
func press(ctx context.Context, v view) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n = 1; n <= mostStops; n++ {
		s, err := next(ctx)
		if err != nil {
			return n, err
		}
		var at bool
		if err := chromedp.Run(ctx, chromedp.Evaluate(
			"document.activeElement.matches('"+strings.ReplaceAll(v.click, "'", `\'`)+"')", &at)); err != nil {
			return n, err
		}
		if s.Tag == "A" && at {
			if err := chromedp.Run(ctx, chromedp.Evaluate(left, nil), chromedp.KeyEvent("\r")); err != nil {
				return n, err
			}
			return n, titled(ctx, v.title)
		}
	}
	return n, fmt.Errorf("no link %s in %d stops", v.click, mostStops)
}
