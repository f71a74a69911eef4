package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// mostOfView is the maximum number of pages of one view, such as paths of flows.
const mostOfView = 3

// mostWrong is the number of pages with errors after which a crawl ends.
const mostWrong = 50

// crawl clicks through the links of a site, checks each page in all settings, and reports its errors.
func (s *site) crawl(ctx context.Context, report func(error)) (pages int) {
	ctx, complaints, end, err := tab(ctx, wideLight)
	defer end()
	if err != nil {
		report(err)
		return 0
	}
	type link struct{ from, to string }
	queue, seen, done := []link{{"", "/"}}, map[string]int{}, map[string]bool{"/": true}
	for _, to := range s.also {
		queue = append(queue, link{"", to})
	}
	at, wrong := "", 0
	for ; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		path, _, _ := strings.Cut(next.to, "?")
		if seen[path] >= mostOfView && next.from != "" {
			continue
		}
		seen[path]++
		links, err := s.visit(ctx, next.from, next.to, at)
		if err = errors.Join(err, complaints.take()); err != nil {
			report(fmt.Errorf("%s: %w", next.to, err))
			if wrong++; wrong == mostWrong {
				report(fmt.Errorf("%d pages have errors: the crawl ends here", wrong))
				return pages
			}
		}
		at = next.to
		pages++
		for _, to := range links {
			if !done[to] {
				done[to] = true
				queue = append(queue, link{next.to, to})
			}
		}
	}
	for _, path := range s.want {
		if seen[path] == 0 {
			report(fmt.Errorf("no link leads to %s", path))
		}
	}
	for _, path := range s.lack {
		if seen[path] > 0 {
			report(fmt.Errorf("a link leads to %s, which can have no content here", path))
		}
	}
	return pages
}

// hrefs lists the addresses of a page's links to pages of the same site.
const hrefs = `[...new Set([...document.querySelectorAll("nav a, main a")].map((a) => a.getAttribute("href")).
	filter((h) => h.startsWith("/") && !/^[^?]*\.(csv|json)/.test(h)))]`

// visit follows the link from one page to another, unless from is "", and checks the page in all settings. It returns
// the links of the page.
func (s *site) visit(ctx context.Context, from, to, at string) (links []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	open := func(path string) error {
		if err := chromedp.Run(ctx, chromedp.Navigate(s.url+path)); err != nil {
			return err
		}
		return ready(ctx)
	}
	if from == "" {
		err = open(to)
	} else {
		if from != at {
			if err = open(from); err != nil {
				return nil, err
			}
		}
		var there bool
		err = chromedp.Run(ctx, chromedp.Evaluate(left, nil), chromedp.Evaluate(fmt.Sprintf(`(() => {
			const a = [...document.querySelectorAll("a")].find((a) => a.getAttribute("href") === %q);
			a?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
			return !!a;
		})()`, to), &there))
		switch {
		case err != nil:
		case there:
			err = ready(ctx)
		default: // live data may have removed the link since
			err = open(to)
		}
	}
	if err != nil {
		return nil, err
	}
	if err = chromedp.Run(ctx, chromedp.Evaluate(hrefs, &links)); err != nil {
		return nil, err
	}
	var errs []error
	for _, set := range settings {
		errs = append(errs, use(ctx, set), check(ctx, set.String()))
	}
	return links, errors.Join(append(errs, named(ctx, "names"))...)
}

// ready waits for a page that was not left, and for its script.
func ready(ctx context.Context) error {
	for {
		var is bool
		err := chromedp.Run(ctx, chromedp.Evaluate(`document.readyState !== "loading" &&
			!document.documentElement?.dataset.left && !!document.querySelector("h1") &&
			!document.querySelector("#pause[hidden], #zoom[hidden]")`, &is))
		if err == nil && is {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the page does not load: %w", errors.Join(err, ctx.Err()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// filtered returns addresses of a view: filtered, grouped, sorted, without rows.
func filtered(path, field string) (list []string) {
	for _, v := range []url.Values{
		{"where": {field + " is known"}, "top": {"5"}}, {"by": {field}}, {"sort": {"-" + field}},
		{"where": {field + " is none"}},
	} {
		list = append(list, path+"?"+v.Encode())
	}
	return list
}
