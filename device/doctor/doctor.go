package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/internal/printable"
	"tamtam/swss"
)

// A Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Warning  Verdict = "warning"
	Failed   Verdict = "failed"
	NotKnown Verdict = "not known" // the check could not be made, so its object may be in any state
)

// A Finding is the result of one check.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	Do      string  `json:"do,omitempty"` // what would help
}

// A Report contains the results of all checks.
type Report struct {
	Time     time.Time       `json:"time"`
	Version  string          `json:"version"`
	Count    map[Verdict]int `json:"count"`
	Findings []Finding       `json:"findings"`
}

// A Config describes where the installation is.
type Config struct {
	Redis swss.Config
	GNMI  string // HOST:PORT of the gNMI server
	CA    string // file of the CA certificate; "" means ca.pem in Data, if it exists
	Users string // the file of the users that may log in; "" means that there is none
	Roles string // the file of the roles' rights; "" means only the built-in ones
	Data  string // the data directory
	// Local is the switch that runs on this machine in one process, if the addresses are those of its file.
	Local   *device.Local
	Version string // of this binary
	Timeout time.Duration
	Now     func() time.Time
}

// An installation holds the facts that the checks have found so far.
type installation struct {
	Config
	r    *swss.Redis
	info map[string]string // INFO of the server of CONFIG_DB
	conf map[string]string // CONFIG GET *; nil means not permitted
	proc string            // directory like /proc
}

// An answer is a finding without its name.
type answer struct {
	verdict Verdict
	found   string
	do      string
}

func well(format string, args ...any) answer {
	return answer{verdict: OK, found: fmt.Sprintf(format, args...)}
}

func warn(do, format string, args ...any) answer {
	return answer{verdict: Warning, found: fmt.Sprintf(format, args...), do: do}
}

func fail(do, format string, args ...any) answer {
	return answer{verdict: Failed, found: fmt.Sprintf(format, args...), do: do}
}

func unknown(format string, args ...any) answer {
	return answer{verdict: NotKnown, found: fmt.Sprintf(format, args...)}
}

// A check examines one aspect.
type check struct {
	name  string
	redis bool // requires a Redis that answers
	run   func(context.Context, *installation) answer
}

func checks() []check {
	list := append(redisChecks(), databaseChecks()...)
	for _, name := range daemons.Daemons() {
		list = append(list, check{name, true, func(ctx context.Context, p *installation) answer {
			return daemon(ctx, p, name)
		}})
	}
	return append(append(list, daemonChecks()...), hostChecks()...)
}

// Run makes all checks, one after the other. All have the same timeout, and a failed check does not prevent those that
// follow.
func Run(ctx context.Context, cfg Config) Report {
	p := &installation{Config: cfg, r: swss.Look(cfg.Redis), proc: "/proc"}
	defer p.r.Close()
	list := checks()
	others, _ := daemons.BesideHere(ctx, p.r) // error ignored: other checks report it
	for _, name := range others {
		list = append(
			list,
			check{name, true, func(ctx context.Context, p *installation) answer { return daemon(ctx, p, name) }},
		)
	}
	return p.examine(ctx, list)
}

func (p *installation) examine(ctx context.Context, list []check) Report {
	report := Report{Time: p.Now().UTC(), Version: p.Version, Count: map[Verdict]int{}}
	// The first check is whether Redis answers. It runs like all others.
	answers := true
	for i, c := range list {
		a := unknown("Redis does not answer")
		if !c.redis || answers {
			a = p.bounded(ctx, c)
		}
		if i == 0 {
			answers = a.verdict == OK
		}
		report.Findings = append(report.Findings, Finding{c.name, a.verdict, shown(a.found), shown(a.do)})
		report.Count[a.verdict]++
	}
	return report
}

// longest is the maximum length of a finding's text in bytes.
const longest = 2000

// shown returns text that is safe for a terminal, since rows may contain anything.
func shown(s string) string {
	if len(s) > longest {
		s = s[:longest] + "..."
	}
	return printable.Line(s)
}

// bounded makes one check. It abandons a check that ignores its context, such as a stat of a dead network file
// system.
func (p *installation) bounded(ctx context.Context, c check) answer {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	done := make(chan answer, 1)
	seen := *p // a copy, so that an abandoned check can still write to it
	go func() { done <- c.run(ctx, &seen) }()
	late := time.NewTimer(p.Timeout + p.Timeout/4)
	defer late.Stop()
	select {
	case a := <-done:
		*p = seen
		return a
	case <-late.C:
		return unknown("no answer within %v", p.Timeout)
	}
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-9s  %s: %s\n", f.Verdict, f.Check, f.Found)
		if f.Do != "" {
			fmt.Fprintf(&b, "%-9s  -> %s\n", "", f.Do)
		}
	}
	fmt.Fprintf(&b, "%d ok, %d warnings, %d failed, %d not known\n",
		r.Count[OK], r.Count[Warning], r.Count[Failed], r.Count[NotKnown])
	_, err := io.WriteString(w, b.String())
	return err
}
