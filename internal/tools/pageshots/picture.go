package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A pictured is the state of the picture of the network.
type pictured struct {
	Width, Height        float64 // of the picture
	X, Y                 float64 // the middle of its frame in the window
	Left, Top            float64 // how far it is scrolled
	MostLeft, MostTop    float64 // how far it can be scrolled
	Whole                bool    // true if all of it is visible
	Says                 string  // the text below it
	Links, Nodes, Labels int
	LinkX, LinkY         float64 // the middle of the first link in the window
	Letters              float64 // height of the letters of names, in pixels of the window
}

const picturing = `(() => {
	const frame = document.querySelector(".frame"), svg = document.querySelector(".topology");
	frame.scrollIntoView({ block: "center" });
	const b = frame.getBoundingClientRect(), hit = svg.querySelector(".hit").getBoundingClientRect();
	const name = svg.querySelector(".name").getBoundingClientRect();
	return { Width: svg.getBoundingClientRect().width, Height: svg.getBoundingClientRect().height,
		X: b.left + b.width / 2, Y: b.top + b.height / 2, Left: frame.scrollLeft, Top: frame.scrollTop,
		MostLeft: frame.scrollWidth - frame.clientWidth, MostTop: frame.scrollHeight - frame.clientHeight,
		Whole: frame.scrollWidth <= frame.clientWidth + 1 && frame.scrollHeight <= frame.clientHeight + 1,
		Says: document.getElementById("pointed").textContent,
		Links: svg.querySelectorAll('.link[tabindex="0"]').length, Nodes: svg.querySelectorAll(".node").length,
		Labels: svg.querySelectorAll(".label").length, Letters: name.height,
		LinkX: (hit.left + hit.right) / 2, LinkY: (hit.top + hit.bottom) / 2 };
})()`

// picture uses the picture of the network by wheel, buttons, mouse and keyboard, in a setting.
func picture(ctx context.Context, at string, s setting) error {
	ctx, complaints, end, err := tab(ctx, s)
	defer end()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Navigate(at)); err != nil {
		return err
	}
	if err := ready(ctx); err != nil {
		return err
	}
	var was, is pictured
	var errs []error
	after := func(what string, right func() bool, do ...chromedp.Action) {
		was = is
		if err := chromedp.Run(ctx, append(do, chromedp.Evaluate(picturing, &is))...); err != nil {
			errs = append(errs, fmt.Errorf("%v: the picture, %s: %w", s, what, err))
		} else if !right() {
			errs = append(errs, fmt.Errorf("%v: the picture, %s: %+v, before it %+v", s, what, is, was))
		}
	}
	larger := func() bool { return is.Width > was.Width && is.Height > was.Height }
	smaller := func() bool { return is.Width < was.Width && is.Height < was.Height }
	both := func() bool { return is.Says != was.Says && len(is.Says) > 0 }
	button := func(name string) chromedp.Action { return chromedp.Click(`#zoom [data-zoom="` + name + `"]`) }
	focus := func(selector string) chromedp.Action {
		return chromedp.Evaluate(`document.querySelector("`+selector+`").focus()`, nil)
	}
	wheel := func(by float64) chromedp.Action {
		return chromedp.ActionFunc(func(ctx context.Context) error {
			return input.DispatchMouseEvent(input.MouseWheel, is.X, is.Y).WithDeltaY(by).WithDeltaX(0).
				WithModifiers(input.ModifierCtrl).Do(ctx)
		})
	}
	settled := chromedp.Evaluate(`new Promise((done) => setTimeout(done, 150))`, nil, awaiting)
	after("first", func() bool { return is.Letters >= 10 && is.Nodes > 1 && is.Links > 0 })
	after("Ctrl and wheel up", larger, wheel(-100), settled)
	after("Ctrl and wheel down", smaller, wheel(100), settled)
	after("button +", larger, button("1.25"))
	after("button −", smaller, button("0.8"))
	after("button 100 %", func() bool { return is.Letters >= 10 }, button("1:1"))
	after("button Whole", func() bool { return is.Whole }, button("fit"))
	after("key +", larger, focus(".frame"), chromedp.KeyEvent("+"))
	after("key + again, six times", larger, chromedp.KeyEvent("++++++"))
	after("arrows", func() bool { return is.Left > was.Left && (is.Top > was.Top || is.Top == is.MostTop) },
		chromedp.KeyEvent(kb.ArrowRight+kb.ArrowDown), settled)
	after("a drag", func() bool { return is.Left < was.Left && (is.Top < was.Top || is.MostTop == 0) },
		mouse(input.MousePressed, &is, 0), mouse(input.MouseMoved, &is, 20), mouse(input.MouseReleased, &is, 20), settled)
	after("key 0", smaller, focus(".frame"), chromedp.KeyEvent("0"))
	after("focus on a link", both, focus(".link"))
	after("focus on a node", both, focus(".node"))
	after("whole again", func() bool { return is.Whole }, button("fit"))
	after("pointer over a link", both, chromedp.ActionFunc(func(ctx context.Context) error {
		return input.DispatchMouseEvent(input.MouseMoved, is.LinkX, is.LinkY).Do(ctx)
	}), settled)
	return errors.Join(append(errs, complaints.take())...)
}

// mouse does something with the left button, at a distance from the middle of the picture.
func mouse(what input.MouseType, at *pictured, by float64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		return input.DispatchMouseEvent(what, at.X+by, at.Y+by).WithButton(input.Left).WithButtons(1).
			WithClickCount(1).Do(ctx)
	})
}
