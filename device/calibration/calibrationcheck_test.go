package calibration

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/device/devicetest"
	"tamtam/mgmt"
)

// list reads a list of the TAM tree over gNMI. It returns the entries by name, or nil if there are none.
func list(t *testing.T, server *mgmt.Server, list, container string) map[string]map[string]any {
	t.Helper()
	p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: container}}}
	got, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string][]map[string]any
	devicetest.NoError(t, json.Unmarshal(got.Notification[0].Update[0].Val.GetJsonVal(), &tree))
	all := map[string]map[string]any{}
	for _, entry := range tree[list] {
		all[entry["name"].(string)] = entry
	}
	return all
}

// within returns the value at a path in a tree.
func within(tree any, path ...string) any {
	for _, p := range path {
		m, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = m[p]
	}
	return tree
}

func number(v any) (float64, bool) {
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n, err == nil
}

// check adds an instance's answer to its tally.
func (c *calibration) check(in *instance, tally *tally, task, query map[string]any, epoch uint64) {
	if status := within(task, "state", "status"); status != "ACTIVE" && status != "active" {
		c.t.Fatalf("%s is %v: %v", in.name, status, within(task, "state", "reason"))
	}
	answer, place := within(query, "state", "answer"), within(task, "state", "placement")
	if in.metric != "" {
		answer = nil
		metrics, _ := within(task, "metrics", "metric").([]any)
		for _, m := range metrics {
			if within(m, "quantity") == in.metric {
				answer = within(m, "state")
			}
		}
	}
	if answer == nil {
		c.t.Fatalf("%s has no answer: %v", in.name, task)
	}
	last := within(task, "state", "last-epoch")
	if lost := "digests-lost"; slices.Contains(flagsOf(last), lost) && !slices.Contains(in.flags, lost) {
		tally.n++
		tally.flagged++
		return
	}
	c.checkEpoch(in, last, epoch)
	in.buckets, _ = number(within(place, "buckets"))
	in.rows, _ = number(within(place, "rows"))
	in.bits = float64(c.width())
	if units, _ := within(place, "units").([]any); len(units) > 1 {
		_, size, _ := strings.Cut(fmt.Sprint(units[1]), "+")
		in.second, _ = number(size)
	}
	if in.algorithm == "odd-sketch" { // the second epoch has the bits
		in.buckets = in.second
	}
	if c.count(in); in.live {
		c.countWindow(in, answer)
	}
	tally.count(c.t, in, answer)
}

// flagsOf returns the flags of an epoch.
func flagsOf(last any) (names []string) {
	flags, _ := within(last, "flags").([]any)
	for _, f := range flags {
		names = append(names, strings.ToLower(fmt.Sprint(f)))
	}
	return names
}

// checkEpoch checks the time of an answer, and that it has only expected flags.
func (c *calibration) checkEpoch(in *instance, last any, epoch uint64) {
	flags := flagsOf(last)
	for _, name := range flags {
		if in.epoch > 0 && !slices.Contains(in.flags, name) {
			c.t.Fatalf("%s: the epoch is flagged %v", in.name, flags)
		}
	}
	if in.live {
		start, _ := number(within(last, "start"))
		end, _ := number(within(last, "end"))
		in.window = [2]time.Duration{time.Duration(start), time.Duration(end)}
		if len(flags) == 0 || in.window[1]-in.window[0] < in.epoch/2 {
			c.t.Fatalf("%s: from %v to %v, flagged %v", in.name, in.window[0], in.window[1], flags)
		}
		return
	}
	if n, _ := number(within(last, "epoch")); in.epoch > 0 && n != float64(epoch) {
		c.t.Fatalf("%s: the last epoch is %v, want %d", in.name, n, epoch)
	}
}

// count compares an answer with the exact value, and counts the result.
func (c *tally) count(t *testing.T, in *instance, answer any) {
	c.n++
	estimate, ok := number(within(answer, "estimate"))
	if !ok {
		t.Fatalf("%s: no estimate in %v", in.name, answer)
	}
	slack := 5e-5 + 1e-6*math.Abs(in.exact) // gNMI has four decimals
	if exact, ok := number(within(answer, "exact")); !ok {
		if in.metric != "similarity" && in.metric != "difference" && !in.share && !in.live {
			c.withoutOracle++
		}
	} else if math.Abs(exact-in.exact) > slack+oracleSlack(in) {
		c.disagree++
		t.Logf("%s %s: the oracle says %v, the test counted %v", in.name, in.query, exact, in.exact)
	} else if in.attribute != "max(size)" && strings.HasPrefix(in.attribute, "max") {
		in.exact = exact // exact to the nanosecond
	}
	confidence, _ := number(within(answer, "confidence"))
	lower, below := number(within(answer, "lower"))
	upper, above := number(within(answer, "upper"))
	if !above {
		upper = math.Inf(1)
	}
	full := fmt.Sprint(within(answer, "saturated")) == "true"
	if full {
		c.flagged++
	}
	ratio := math.Inf(1)
	switch {
	case confidence == 0 || !above && !below:
		c.unbounded++
		if text := fmt.Sprint(within(answer, "bound")); !full && !strings.Contains(text, "no bound") || above || below ||
			confidence > 0 {
			t.Errorf("%s of %s: an answer without bounds does not say so: %v", in.name, in.query, answer)
		}
	default:
		c.chances = append(c.chances, 1-confidence)
		if in.exact < lower-slack || in.exact > upper+slack {
			c.missed++
			t.Logf("%s of %s: %v (%v to %v, %.3g), exactly %v", in.name, in.query, estimate, lower, upper, confidence, in.exact)
		}
		if in.width != nil {
			if ratio = 1; in.width(in) > 0 {
				ratio = (upper - lower) / in.width(in)
			}
		}
	}
	c.ratios = append(c.ratios, ratio)
}

// oracleSlack returns how far the oracle may differ from the test. The oracle measures intervals between times at which
// copies enter the egress pipe. The test measures them between times at which frames leave.
func oracleSlack(in *instance) float64 {
	switch in.attribute {
	case "max(interval)":
		return 4
	case "max(queue-length)", "max(queue-delay)": // the test does not model queues
		return math.Inf(1)
	}
	return 0
}

// count computes the exact value that an instance estimates.
func (c *calibration) count(in *instance) {
	values, last := map[string]float64{}, map[string]time.Duration{}
	in.packets = 0
	elements := [2]map[string]map[string]bool{{}, {}}
	in.total = 0
	for _, p := range c.left {
		if p.packet.class != in.class || in.live && !in.during(p.at, 0) {
			continue
		}
		if in.element != "" {
			key, e := valuesOf(p.packet.flowOf, in.key), valuesOf(p.packet.flowOf, in.element)
			for epoch := range 2 {
				if p.packet.epoch == epoch || in.epoch == 0 && epoch == 1 {
					set := elements[epoch][key]
					if set == nil {
						set = map[string]bool{}
						elements[epoch][key] = set
					}
					set[e] = true
				}
			}
		}
		if p.packet.epoch == 0 && in.epoch > 0 && !in.live {
			continue
		}
		in.packets++
		key := valuesOf(p.packet.flowOf, in.key)
		size := float64(p.packet.size + 4) // with FCS
		switch in.attribute {
		case "frequency":
			values[key]++
			in.total++
		case "frequency(bytes)":
			values[key] += size
			in.total += size
		case "max(size)":
			values[key] = max(values[key], size)
		case "max(interval)":
			if before, ok := last[key]; ok {
				values[key] = max(values[key], float64(p.at-before))
			}
			last[key] = p.at
		}
	}
	in.flows = float64(len(values))
	in.elements = float64(len(elements[1][""]))
	switch {
	case in.attribute == "similarity":
		both := 0.0
		for e := range elements[0][""] {
			if elements[1][""][e] {
				both++
			}
		}
		all := float64(len(elements[0][""])) + in.elements - both
		if in.exact = both / all; in.metric == "difference" {
			in.exact = all - both
		}
	case in.attribute == "existence" && in.metric == "":
		in.exact = 0
		if elements[1][""][in.query] {
			in.exact = 1
		}
	case in.metric != "" && in.element != "":
		in.exact = in.elements
	case in.metric == "maximum":
		in.exact = values[""]
	case in.metric == "packets":
		in.exact = in.packets
	case in.metric == "bytes":
		in.exact = in.total
	case in.metric == "entropy":
		in.exact = entropyOf(values)
	case in.metric != "":
		in.exact = in.flows
	case in.element != "":
		in.exact = float64(len(elements[1][in.query]))
	default:
		in.exact = values[in.query]
	}
}
