package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

//go:embed check.js
var wrongs string

// check checks the layout of a page, and the names of its parts.
func check(ctx context.Context, where string) error {
	var found []string
	if err := chromedp.Run(ctx, chromedp.Evaluate(wrongs, &found)); err != nil {
		return err
	}
	var errs []error
	for _, text := range found {
		errs = append(errs, fmt.Errorf("%s: %s", where, text))
	}
	return errors.Join(errs...)
}

// mustBeNamed lists the roles of parts that need a name, by which a screen reader announces them.
var mustBeNamed = []string{"link", "button", "textbox", "searchbox", "combobox", "spinbutton", "image", "img", "region",
	"navigation", "table", "columnheader", "rowheader", "heading", "group", "search", "form"}

// A part is a node of the accessibility tree. The client's own type refuses words of newer browsers.
type part struct {
	NodeID     string     `json:"nodeId"`
	Ignored    bool       `json:"ignored"`
	Role       word       `json:"role"`
	Name       word       `json:"name"`
	Properties []property `json:"properties"`
}

type property struct {
	Name  string `json:"name"`
	Value word   `json:"value"`
}

type word struct {
	Value any `json:"value"`
}

// focusable reports whether a part can have the focus.
func (p *part) focusable() bool {
	for _, x := range p.Properties {
		if x.Name == "focusable" && x.Value.Value == true {
			return true
		}
	}
	return false
}

// named checks that the parts of a page have names, as the browser computes them.
func named(ctx context.Context, where string) error {
	var tree struct {
		Nodes []part `json:"nodes"`
	}
	if err := chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	})); err != nil {
		return err
	}
	if len(tree.Nodes) == 0 {
		return fmt.Errorf("%s: the browser has no accessibility tree", where)
	}
	var errs []error
	for i := range tree.Nodes {
		p := &tree.Nodes[i]
		role, _ := p.Role.Value.(string)
		name, _ := p.Name.Value.(string)
		switch {
		case p.Ignored || name != "" || !slices.Contains(mustBeNamed, role):
		case slices.Contains([]string{"group", "search", "form"}, role) && !p.focusable(): // may go without a name
		default:
			errs = append(errs, fmt.Errorf("%s: a %s without a name (node %s)", where, role, p.NodeID))
		}
	}
	return errors.Join(errs...)
}

// wrongPage is a page with every mistake, and after each the beginning of what must be found.
const wrongPage = `<!doctype html><title>wrong</title><meta name="viewport" content="width=device-width">
<style>p { margin: 0; line-height: 20px; } .over { margin-top: -14px; }
.narrow { width: 40px; overflow-wrap: anywhere; }
.wide { width: 3000px; }</style><h1>Wrong</h1><button></button><p>first<p class="over">second
<p class="narrow">1,234,567,890<p class="wide">wide<svg class="topology" width="100" height="100">
<line class="hit" x1="0" y1="0" x2="100" y2="100"/><line class="hit" x1="0" y1="100" x2="100" y2="0"/>
<text class="label" x="30" y="55">covers</text></svg>
<table><tr><td style="display: block; width: 20px">longerword</table>`

// able checks that each mistake of wrongPage is found.
func able(ctx context.Context) error {
	ctx, complaints, end, err := tab(ctx, narrowLight)
	defer end()
	if err != nil {
		return err
	}
	if err := chromedp.Run(ctx, chromedp.Navigate("about:blank"), chromedp.Evaluate(
		fmt.Sprintf("document.write(%q); document.close(); console.error('wrong')", wrongPage), nil)); err != nil {
		return err
	}
	all := errors.Join(check(ctx, "layout"), named(ctx, "names"), complaints.take())
	var errs []error
	for _, want := range []string{"the page scrolls sideways", "texts over each other: \"first\" and \"second\"",
		"a number on two lines: 1,234,567,890", "wider than its place: td", "a label on a crossing: \"covers\"",
		"a button without a name", "console:"} {
		if all == nil || !strings.Contains(all.Error(), want) {
			errs = append(errs, fmt.Errorf("a page with every mistake: %q is not found in: %w", want, all))
		}
	}
	return errors.Join(errs...)
}

// use changes the window of a page to a setting.
func use(ctx context.Context, s setting) error {
	media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}
	return chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures(media),
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.width < 500))
}
