package ping

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// pingTime is the kind of an interval or timeout of ping. The tree has it in milliseconds.
var pingTime = &kit.Kind{Label: "<time>", Parse: func(text string) (string, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > time.Minute || d%time.Millisecond != 0 {
		return "", fmt.Errorf("%q is not a time from 100ms to 1m, in whole milliseconds, such as 2s", text)
	}
	return d.String(), nil
}, ToTree: func(text string) any {
	d, _ := time.ParseDuration(text) // Parse has checked it
	return json.Number(strconv.FormatInt(d.Milliseconds(), 10))
}}

// pingFields returns the options of ping, which are leaves of its input.
func pingFields() []kit.Leaf {
	return append([]kit.Leaf{
		{Word: "count", Kind: kit.Number(1, 1000), Help: "Number of requests; without, 5"},
		{Word: "interval", Kind: pingTime, Help: "Time between requests; without, 1s"},
		{Word: "ttl", Kind: kit.Number(1, 255), Help: "TTL or hop limit; without, 64"},
	}, echoFields()...)
}

// tracerouteFields returns the options of traceroute, which are leaves of its input.
func tracerouteFields() []kit.Leaf {
	return append([]kit.Leaf{
		{Word: "probes", Kind: kit.Number(1, 10), Help: "Requests to each hop; without, 3"},
		{Word: "max-hops", Kind: kit.Number(1, 64), Help: "The last hop to look for; without, 30"},
	}, echoFields()...)
}

// echoFields returns the options that ping and traceroute have in common.
func echoFields() []kit.Leaf {
	return []kit.Leaf{
		{Word: "size", Kind: kit.Number(0, 9000), Help: "Bytes of data in a request; without, 56"},
		{Word: "source", Kind: kit.IPAddress, Help: "An address of the switch to send from"},
		{Word: "interface", Kind: &kit.Kind{Label: "<interface>", Parse: kit.ParseName, Live: kit.LiveInterfaces},
			Help: "The interface of a link-local destination"},
		{Word: "timeout", Kind: pingTime, Help: "Time to wait for each reply; without, 2s"},
	}
}

// Commands returns the commands that send echo requests from the switch.
func Commands() []*kit.Command {
	command := func(word, help string, fields []kit.Leaf, report func(*pinging, tree.Node)) *kit.Command {
		parts := []any{kit.Keyword(word, help), kit.Arg("destination", kit.IPAddress, "Address of a host")}
		for _, f := range fields {
			parts = append(parts, kit.Opt(kit.Keyword(f.Word, f.Help), kit.Arg(f.Word, f.Kind, f.Help)))
		}
		return &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Do: func(ctx context.Context, c *kit.Call) error {
			input := map[string]any{"destination": c.Args["destination"]}
			for _, f := range fields {
				if text := c.Args[f.Word]; text != "" {
					input[f.Word] = f.Kind.JSON(text)
				}
			}
			return (&pinging{session: c.Session, operation: word, report: report}).run(ctx, input)
		}}
	}
	return []*kit.Command{
		command("ping", "Send echo requests from the switch", pingFields(), (*pinging).reportPing),
		command("traceroute", "Find the routers on the way to an address", tracerouteFields(), (*pinging).reportHops),
	}
}

// A pinging is a ping or traceroute that the switch performs for the shell.
type pinging struct {
	session   *kit.Session
	operation string
	report    func(*pinging, tree.Node) // prints what is new in an answer
	begun     bool                      // true once the head line is printed
	printed   int                       // number of events or hops that are printed
	err       error                     // of writing
}

// Times of a ping in the shell.
const (
	pingPoll    = 200 * time.Millisecond // time between two looks at the answer
	pingLongest = 2 * time.Hour          // more than the switch allows
	pingEnd     = 3 * time.Second        // time for the switch to end an interrupted ping
)

// run requests the operation, and prints its answer as it grows. An interrupted operation is printed as far as it came.
func (p *pinging) run(ctx context.Context, input map[string]any) error {
	id := rand.Text()
	input["id"] = id
	ended := make(chan error, 1)
	go func() {
		change := kit.Change{Path: kit.OperationPath(p.operation), Value: input}
		ended <- p.session.Client.SetWithin(ctx, pingLongest, change)
	}()
	poll := time.NewTicker(pingPoll)
	defer poll.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return p.interrupted(context.WithoutCancel(ctx), id)
			}
			if err != nil {
				return err
			}
			a, err := p.look(ctx, id)
			if err != nil {
				return err
			}
			return p.conclude(a)
		case <-poll.C:
			// An answer that cannot be read now may be readable later, and the operation's end reports errors.
			if a, err := p.look(ctx, id); err == nil && p.err != nil {
				return p.err
			} else if err == nil && a.Exists() {
				p.news(a)
			}
		}
	}
}

// interrupted waits until the switch has ended an operation, and prints what came of it.
func (p *pinging) interrupted(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, pingEnd)
	defer cancel()
	for {
		a, err := p.look(ctx, id)
		if err == nil && a.Text("done") == "true" {
			p.news(a)
			p.finish(a)
			return p.err
		}
		select {
		case <-time.After(pingPoll):
		case <-ctx.Done():
			return fmt.Errorf("interrupted, and the switch has not confirmed the end of the %s", p.operation)
		}
	}
}

// look returns the present answer. It does not exist before the switch has begun.
func (p *pinging) look(ctx context.Context, id string) (tree.Node, error) {
	found, err := p.session.Client.One(ctx, gpb.GetRequest_ALL, kit.AnswerPath(id))
	if err != nil || !found.Exists() {
		return tree.Node{}, err
	}
	text, _ := found.Value.(string)
	v, err := tree.DecodeJSON(text)
	if err != nil {
		return tree.Node{}, fmt.Errorf("the switch's answer cannot be read: %w", err)
	}
	return tree.Of(v), nil
}

func (p *pinging) line(format string, args ...any) {
	if _, err := fmt.Fprintf(p.session.Config.Out, format+"\n", args...); p.err == nil {
		p.err = err
	}
}

// news prints what is new in an answer.
func (p *pinging) news(a tree.Node) {
	if !p.begun {
		p.begun = true
		p.line("%s %s from %s: %s data bytes", strings.ToUpper(p.operation), a.Text("destination"), a.Text("source"),
			a.Text("size"))
	}
	p.report(p, a)
}

// reportPing prints the events of a ping that are not printed yet.
func (p *pinging) reportPing(a tree.Node) {
	if before, _ := strconv.Atoi(a.Text("events-before")); before > p.printed {
		p.line("(%d more answers are not shown)", before-p.printed)
		p.printed = before
	}
	timeout := pingMillis(a.Text("timeout-ns"))
	for _, e := range a.Items("events") {
		n, err := strconv.Atoi(e.Text("number"))
		if err != nil || n <= p.printed {
			continue
		}
		p.printed = n
		seq := "icmp_seq=" + e.Text("sequence")
		if e.Text("late") == "true" {
			seq += " (late)"
		}
		switch e.Text("kind") {
		case "reply":
			dup := ""
			if e.Text("duplicate") == "true" {
				dup = " (DUP!)"
			}
			p.line("%s bytes from %s: %s ttl=%s time=%s ms%s", e.Text("bytes"), e.Text("from"), seq, e.Text("ttl"),
				pingMillis(e.Text("rtt-ns")), dup)
		case "no-reply":
			p.line("no reply: %s within %s ms", seq, timeout)
		case "not-sent":
			p.line("not sent: %s: %s", seq, e.Text("text"))
		default:
			p.line("From %s: %s %s", e.Text("from"), seq, e.Text("text"))
		}
	}
}

// reportHops prints the hops of a traceroute that are complete and not printed yet.
func (p *pinging) reportHops(a tree.Node) {
	for i, h := range a.Items("hops") {
		if i < p.printed {
			continue
		}
		if h.Text("complete") != "true" {
			return
		}
		p.printed++
		var text strings.Builder
		last := ""
		for _, e := range h.Items("probes") {
			if from := e.Text("from"); from != "" && from != last {
				text.WriteString("  " + from)
				last = from
			}
			switch kind := e.Text("kind"); kind {
			case "no-reply":
				text.WriteString("  *")
			case "not-sent":
				text.WriteString("  not sent: " + e.Text("text"))
			case "reply", "ttl-exceeded":
				text.WriteString("  " + pingMillis(e.Text("rtt-ns")) + " ms")
			default:
				text.WriteString("  " + pingMillis(e.Text("rtt-ns")) + " ms (" + e.Text("text") + ")")
			}
		}
		p.line("%2s%s", h.Text("hop"), text.String())
	}
}

// conclude prints the end of an operation. It returns an error if nothing has answered.
func (p *pinging) conclude(a tree.Node) error {
	if !a.Exists() {
		return errors.New("the switch's answer is gone")
	}
	p.news(a)
	p.finish(a)
	if p.err != nil || a.Text("received") != "0" {
		return p.err
	}
	return fmt.Errorf("no reply from %s", a.Text("destination"))
}

// finish prints the summary of an operation, and what may explain missing replies.
func (p *pinging) finish(a tree.Node) {
	count := func(name string) int {
		n, _ := strconv.Atoi(a.Text(name))
		return n
	}
	if p.operation == "ping" {
		sent, waits := count("sent"), count("waiting")
		p.line("\n--- %s ping statistics ---", a.Text("destination"))
		line := fmt.Sprintf("%d packets transmitted, %d received", sent, count("received"))
		for _, more := range []struct{ name, text string }{
			{"duplicates", "+%d duplicates"}, {"errors", "+%d errors"}, {"not-sent", "%d not sent"},
			{"waiting", "%d not waited for"},
		} {
			if n := count(more.name); n > 0 {
				line += ", " + fmt.Sprintf(more.text, n)
			}
		}
		if sent > waits {
			line += ", " + lossText(sent-waits-count("received"), sent-waits) + " packet loss"
		}
		p.line("%s", line)
		if rtt := a.At("rtt"); rtt.Exists() {
			p.line("rtt min/avg/max = %s/%s/%s ms", pingMillis(rtt.Text("min-ns")), pingMillis(rtt.Text("avg-ns")),
				pingMillis(rtt.Text("max-ns")))
		}
	}
	for _, note := range a.Texts("notes") {
		p.line("Note: %s", note)
	}
	if p.operation == "traceroute" && count("no-reply") > 0 {
		p.line("Note: * means no reply; routers limit the rate of their errors, and some send none")
	}
}

// lossText returns the share of lost packets in percent. It is neither 0 nor 100 unless none or all were lost.
func lossText(lost, of int) string {
	percent := (2000*lost + of) / (2 * of) // in tenths
	if lost > 0 && lost < of {
		percent = min(max(percent, 1), 999)
	}
	if percent%10 == 0 {
		return fmt.Sprintf("%d%%", percent/10)
	}
	return fmt.Sprintf("%d.%d%%", percent/10, percent%10)
}

// pingMillis returns nanoseconds in milliseconds with as many places as ping of iputils has.
func pingMillis(nanoseconds string) string {
	n, err := strconv.ParseInt(nanoseconds, 10, 64)
	if err != nil {
		return "?"
	}
	switch {
	case n < int64(10*time.Millisecond):
		return fmt.Sprintf("%d.%03d", n/1e6, n/1e3%1e3)
	case n < int64(100*time.Millisecond):
		return fmt.Sprintf("%d.%02d", n/1e6, n/1e4%1e2)
	}
	return strconv.FormatInt(n/1e6, 10)
}
