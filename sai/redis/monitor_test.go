package sairedis

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss/swsstest"
)

// protocolOf returns the commands that carry requests and answers, in order, with every word.
func protocolOf(all []swsstest.Command) []string {
	var out []string
	for _, c := range all {
		queue := c.Args[0] == "PUBLISH" && strings.HasSuffix(c.Args[1], "@1")
		switch by := "client"; {
		case c.Args[0] == "EVALSHA", c.Args[0] == "INCR", queue:
			if c.By == "lua" {
				by = "lua"
			}
			out = append(out, "["+c.DB+" "+by+"] "+strings.Join(c.Args, " "))
		}
	}
	return out
}

// changes returns the history of each row, field by field, as commands. Real object ids are named after their virtual
// ids.
func changes(all []swsstest.Command) map[string][]string {
	vid := map[string]string{}
	rows := map[string][]string{}
	note := func(words ...string) {
		for i, w := range words {
			if v := vid[w]; v != "" {
				words[i] = "rid of " + v
			}
		}
		rows[words[1]] = append(rows[words[1]], strings.Join(words, " "))
	}
	for _, c := range all {
		switch args := c.Args; args[0] {
		case "HSET":
			for i := 2; i+1 < len(args); i += 2 {
				if args[1] == protocol.KeyVIDToRID {
					vid[args[i+1]] = args[i]
				}
				note("HSET", args[1], args[i], args[i+1])
			}
		case "HDEL":
			for _, field := range args[2:] {
				note("HDEL", args[1], field)
			}
		case "DEL":
			for _, key := range args[1:] {
				note("DEL", key)
			}
		}
	}
	return rows
}

// Our client and server send the same to Redis as libsairedis and SONiC's syncd, word by word and in the same order.
// Script digests and the way of dequeuing differ. The resulting rows are the same too; [Server] lists the
// differences.
func TestCommandsAsSONiC(t *testing.T) {
	redis := swsstest.StartServer(t)
	monitor := redis.Monitor()
	g := newRig(t, redis.Open(), saitest.NewFake(), ServerOptions{})
	// The server looks at the queue once, and from then on when a message arrives.
	looks := func(c swsstest.Command) bool { return c.Args[0] == "LRANGE" && c.Args[1] == requestList }
	for !slices.ContainsFunc(monitor.Commands(), looks) {
	}
	checkErrors(t, sameCalls(context.Background(), g.client))
	g.stop()
	ours := monitor.Commands()
	for _, c := range ours {
		if slices.Contains([]string{"LPUSH", "RPOP", "LPOP", "BRPOP", "EVAL"}, c.Args[0]) && c.By != "lua" {
			t.Errorf("%v: not by a script", c)
		}
	}
	// The ids that the server allocated for the objects of the switch are not compared. The client's ids begin where
	// the test has set the counter.
	preset := slices.IndexFunc(ours, func(c swsstest.Command) bool {
		return c.Args[0] == "SET" && c.Args[1] == protocol.KeyVIDCounter
	})
	found := func(c swsstest.Command) bool { return c.Args[0] == "INCR" }
	got := append(protocolOf(slices.DeleteFunc(slices.Clone(ours[:preset]), found)), protocolOf(ours[preset:])...)
	takes := func(c swsstest.Command) bool {
		return c.Args[0] == "EVALSHA" && c.Args[3] == requestList && c.Args[2] == "2" && len(c.Args) == 7
	}
	want := slices.DeleteFunc(trace(t), takes)
	if diff := cmp.Diff(protocolOf(want), got); diff != "" {
		t.Errorf("commands (-SONiC +ours):\n%s", diff)
	}
	rows, theirs := changes(ours[preset:]), changes(want)
	if len(theirs) != 8 {
		t.Fatalf("the trace has %d rows, want those of 6 objects and 2 maps", len(theirs))
	}
	for key, list := range theirs {
		rest := rows[key]
		for _, w := range list {
			i := slices.Index(rest, w)
			if i < 0 {
				t.Errorf("row %s: %s is missing in its place\nours: %q", key, w, rows[key])
				break
			}
			rest = rest[i+1:]
		}
	}
}
