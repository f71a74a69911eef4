package mgmt

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A point is a guarantee to clients: a row of the table in docs/reference/gnmi.md.
type point struct {
	id  string
	raw bool // no command-line client can send the request
}

// points reads the table of docs/reference/gnmi.md.
func points(t *testing.T) (list []point) {
	text, err := os.ReadFile("../docs/reference/gnmi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, found := strings.Cut(string(text), "| point | wanted | where | result | choice | |\n| --- | --- |")
	if !found {
		t.Fatal("docs/reference/gnmi.md has no table of points")
	}
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, " | ")
		if id, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) > 1 {
			list = append(list, point{id, strings.HasSuffix(strings.TrimSpace(row), " | raw |")})
		} else if len(list) > 0 {
			break
		}
	}
	return list
}

// TestConformance checks each point of docs/reference/gnmi.md. A point without a check fails, as does a check without a
// point.
func TestConformance(t *testing.T) {
	checks := map[string]func(*bed){}
	for _, part := range []map[string]func(*bed){
		readingChecks(), writingChecks(), subscribingChecks(), streamingChecks(), extensionChecks(), securityChecks(),
	} {
		for id, check := range part {
			if checks[id] != nil {
				t.Errorf("point %s has two checks", id)
			}
			checks[id] = check
		}
	}
	shared := newBed(t, nil)
	program := clientOfEnvironment(t, shared)
	for _, p := range points(t) {
		check := checks[p.id]
		delete(checks, p.id)
		if check == nil {
			t.Errorf("point %s has no check", p.id)
			continue
		}
		t.Run(p.id, func(t *testing.T) {
			b := *shared
			ctx, cancel := context.WithCancel(shared.ctx)
			defer cancel()
			b.t, b.ctx = t, ctx
			if !p.raw {
				b.client = program
			}
			b.renew()
			check(&b)
		})
	}
	for id := range checks {
		t.Errorf("check %s has no point", id)
	}
}

// renew resets the databases to the rows of [someSwitch].
func (b *bed) renew() {
	b.t.Helper()
	for _, name := range []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB, swss.CountersDB} {
		c := b.redis.DB(name).Client()
		keys, err := c.Keys(b.ctx, "*").Result()
		if err != nil {
			b.t.Fatal(err)
		}
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == swss.KeyMark })
		if len(keys) > 0 {
			if err := c.Del(b.ctx, keys...).Err(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.rows(someSwitch())
}

// ask gets paths in an encoding.
func (b *bed) ask(enc gpb.Encoding, paths ...string) *gpb.GetResponse {
	b.t.Helper()
	req := &gpb.GetRequest{Encoding: enc}
	for _, p := range paths {
		req.Path = append(req.Path, path(p))
	}
	return b.mustGet(req)
}

func (b *bed) mustGet(req *gpb.GetRequest) *gpb.GetResponse {
	b.t.Helper()
	resp, err := b.client.Get(b.ctx, req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// refused checks that a Get fails.
func (b *bed) refused(req *gpb.GetRequest, code string, words ...string) {
	b.t.Helper()
	_, err := b.client.Get(b.ctx, req)
	wantErr(b.t, err, code, words...)
}

// refusedSet checks that a Set fails and changes nothing.
func (b *bed) refusedSet(req *gpb.SetRequest, code string, words ...string) {
	b.t.Helper()
	before := b.config()
	_, err := b.client.Set(b.ctx, req)
	wantErr(b.t, err, code, words...)
	if after := b.config(); after != before {
		b.t.Errorf("a Set that failed made of\n%s\n%s", before, after)
	}
}

// answerText returns a response as "PATH VALUE" for each update, a blank line between Notifications.
func answerText(resp *gpb.GetResponse) string {
	var notes []string
	for _, n := range resp.GetNotification() {
		var lines []string
		for _, u := range n.GetUpdate() {
			v := u.GetVal()
			text := string(v.GetJsonIetfVal()) + string(v.GetJsonVal())
			if text == "" {
				text = v.String()
			}
			lines = append(lines, tree.PathText(u.GetPath())+" "+text)
		}
		notes = append(notes, strings.Join(lines, "\n"))
	}
	return strings.Join(notes, "\n\n")
}

// wantText compares texts.
func (b *bed) wantText(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// wantRow compares a row of CONFIG_DB.
func (b *bed) wantRow(key, want string) {
	b.t.Helper()
	if got := b.row(key); got != want {
		b.t.Errorf("%s is %q, want %q", key, got, want)
	}
}

// modelsBelow returns the names of the models of all nodes below a node.
func modelsBelow(n *tree.Node, in map[string]bool) []string {
	in[n.Module] = true
	for _, k := range n.Kids {
		modelsBelow(k, in)
	}
	return slices.Sorted(maps.Keys(in))
}
