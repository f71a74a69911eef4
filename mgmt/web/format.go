package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
	"tamtam/tam/words"
)

// notKnown is shown for an unknown value, never 0 or an empty text.
const notKnown = words.Unknown

// ambiguous is the confidence of a packet's path if other packets are equal.
const ambiguous = "ambiguous: packets are alike"

// functions returns the functions of the templates.
func (p *Page) functions() template.FuncMap {
	return template.FuncMap{
		"count": func(n any) string { return countAny(n) }, "dur": durText, "at": p.timeText, "rate": rateText,
		"number": numberText, "flags": rows.FlagWords, "percent": percentText, "dist": distText, "quantile": quantileText,
		"bounds": func(r query.Range) string { return rangeText(r, query.Count) },
		"ago":    p.agoText,
		"or":     cmp.Or[string], "notknown": notKnownText,
		"estimate":     func(k result.Sketch) string { return estimateText(&k) },
		"ambiguous":    func() string { return ambiguous },
		"withinbounds": func() string { return withinBounds },
	}
}

func notKnownText() template.HTML { return `<span class="nk">` + notKnown + `</span>` }

func countAny(n any) string {
	switch n := n.(type) {
	case int:
		return count(int64(n))
	case int64:
		return count(n)
	case uint64:
		return thousands(strconv.FormatUint(n, 10))
	}
	return fmt.Sprint(n)
}

// count formats a number with separators between thousands.
func count(n int64) string {
	if n < 0 {
		return "-" + strings.TrimPrefix(thousands(strconv.FormatInt(n, 10)[1:]), "-")
	}
	return thousands(strconv.FormatInt(n, 10))
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// durText formats a time in nanoseconds with up to four significant digits.
func durText(ns int64) string {
	abs := math.Abs(float64(ns))
	for _, u := range []struct {
		of   float64
		word string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if abs >= u.of {
			return digits(float64(ns)/u.of) + " " + u.word
		}
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// digits formats a number of at least 1 with four significant digits, or as an integer if that has more.
func digits(v float64) string {
	places := 3
	for a := math.Abs(v); a >= 10 && places > 0; a /= 10 {
		places--
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// numberText formats an estimate.
func numberText(v float64) string {
	switch {
	case math.IsNaN(v):
		return notKnown
	case math.IsInf(v, 0):
		return strings.Replace(fmt.Sprint(v), "Inf", "∞", 1)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return count(int64(v))
	case math.Abs(v) >= 1000 && math.Abs(v) < 1e15:
		return count(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func percentText(share float64) string {
	if share > 0 && share < 0.0005 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}

// rateText formats a link's rate in Mbit/s.
func rateText(mbps int64) string {
	switch {
	case mbps <= 0:
		return notKnown
	case mbps%1000 == 0:
		return strconv.FormatInt(mbps/1000, 10) + " Gb/s"
	}
	return strconv.FormatInt(mbps, 10) + " Mb/s"
}

// timeText formats a time: of day, or since the start of a simulation. 0 means unknown.
func (p *Page) timeText(ns int64) string {
	if ns == 0 {
		return notKnown
	}
	if zero := p.cfg.Zero; !zero.IsZero() {
		return durText(ns - zero.UnixNano())
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000 UTC")
}

// agoText returns how long ago a time is. For a finished run it is the time of the run, since the run has no present.
func (p *Page) agoText(t time.Time) string {
	if !p.cfg.Zero.IsZero() {
		return "at " + p.timeText(t.UnixNano())
	}
	age := p.cfg.Now().Sub(t)
	if -age > rows.StaleAfter {
		return ageText(-age) + " later than now"
	}
	return ageText(age) + " ago"
}

// ageText formats the age of something.
func ageText(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// distText formats the mean of a distribution.
func distText(d result.Distribution) string {
	if d.Count == 0 {
		return notKnown
	}
	return durText(d.Sum / d.Count)
}

// quantileText formats a quantile of a distribution: the upper end of its bucket.
func quantileText(d result.Distribution, share float64) string {
	_, high, ok := d.Quantile(share)
	if !ok {
		return notKnown
	}
	return durText(high)
}
