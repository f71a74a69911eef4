package sairedis

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A raw client sends requests without waiting for answers.
type rawClient struct {
	*testing.T
	s  *Server
	db swss.Client
}

// send makes the server answer requests that arrive together: alternating key, body and op. It returns the statuses of
// the answers.
func (c rawClient) send(words ...string) (statuses []string) {
	c.Helper()
	ctx := context.Background()
	for i := 0; i < len(words); i += 3 {
		e := entry(words[i : i+3])
		noError(c, swss.NewQueue(c.s.asic, protocol.ASICState).Push(ctx, e))
	}
	noError(c, c.s.drain(ctx))
	for {
		got, err := c.db.RPopCount(ctx, responseList, 3).Result()
		if err != nil {
			return statuses
		}
		statuses = append(statuses, got[0])
	}
}

func newRawClient(t *testing.T, opts ServerOptions) (rawClient, *bytes.Buffer) {
	t.Helper()
	r, log := swsstest.Start(t), &bytes.Buffer{}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := NewServer(r, saitest.NewFake(), opts)
	noError(t, s.Load(context.Background()))
	return rawClient{t, s, r.DB(swss.ASICDB).Client()}, log
}

var (
	newSwitch = []string{rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate"}
	newTable  = []string{rawTable, `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, "Screate"}
	askPorts  = []string{rawSwitch, `["SAI_SWITCH_ATTR_PORT_LIST","64:` + strings.Repeat("oid:0x0,", 63) + `oid:0x0"]`,
		"Sget"}
)

// SONiC's orchagent in the mode redis_async waits for no answer to a change, and takes one for that of its next get.
// Only what it waits for is answered. A change that fails stops it, since it counts on its success.
func TestAsyncClient(t *testing.T) {
	ctx := context.Background()
	c, log := newRawClient(t, ServerOptions{Async: true})
	sub := c.s.asic.Subscribe(ctx, protocol.Notifications)
	defer sub.Close()
	_, err := sub.Receive(ctx)
	noError(t, err)
	var all []string
	for _, words := range [][]string{
		{"INIT_VIEW", "[]", "Snotify"}, newSwitch, newTable, askPorts,
		{rawTable, `["SAI_ACL_TABLE_ATTR_SIZE","5"]`, "Sset"},
		{"SAI_OBJECT_TYPE_ACL_COUNTER:1", `["` + strings.TrimPrefix(rawCounter, "SAI_OBJECT_TYPE_ACL_COUNTER:") +
			`","SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x7000000001001"]`, "Sbulkcreate"},
		{"G", `["POLL_INTERVAL","1000"]`, "Sset_counter_group"},
		{"APPLY_VIEW", "[]", "Snotify"},
	} {
		all = append(all, words...)
	}
	if got := c.send(all...); strings.Join(got, " ") != "SAI_STATUS_SUCCESS SAI_STATUS_SUCCESS SAI_STATUS_SUCCESS" {
		t.Errorf("INIT_VIEW, get and APPLY_VIEW are answered by %q", got)
	}
	if n := len(c.db.Keys(ctx, "ASIC_STATE:SAI_OBJECT_TYPE_ACL_COUNTER:*").Val()); n != 1 {
		t.Errorf("%d counters are stored, want 1: %s", n, log)
	}
	if got := c.send(newTable...); len(got) > 0 {
		t.Errorf("a create that fails is answered by %q", got)
	}
	c.s.Notifier.notifyLate(ctx)
	noError(t, c.s.Notifier.publish(ctx, 1<<62, false))
	m, err := sub.ReceiveTimeout(ctx, idle)
	noError(t, err)
	want := `["switch_shutdown_request","{\"switch_id\":\"oid:0x21000000000000\"}"]`
	if got := m.(*redis.Message).Payload; got != want {
		t.Errorf("after a create that fails the client is told %s, want %s", got, want)
	}
}

// An asynchronous client of a synchronous syncd dies of answers that it does not expect. The log has the reason.
func TestClientThatReadsNoAnswers(t *testing.T) {
	c, log := newRawClient(t, ServerOptions{})
	ctx := context.Background()
	push := func(words []string) {
		noError(t, swss.NewQueue(c.s.asic, protocol.ASICState).Push(ctx, entry(words)))
		noError(t, c.s.drain(ctx))
	}
	push(newSwitch)
	push(askPorts)
	if !strings.Contains(log.String(), "--sairedis redis_async") {
		t.Errorf("the log does not say what is wrong: %s", log)
	}

	c, log = newRawClient(t, ServerOptions{})
	c.send(newSwitch...)
	c.send(askPorts...)
	if strings.Contains(log.String(), "redis_async") {
		t.Errorf("a client that reads its answers is suspected: %s", log)
	}
}

// A recording of a run can be read back, request by request, with the answers.
func TestRecordingOfExchanges(t *testing.T) {
	var text strings.Builder
	c, _ := newRawClient(t, ServerOptions{})
	c.s.Record = &text
	c.send(newSwitch...)
	c.send(newTable...)
	c.send(newTable...)
	list := need(protocol.ParseExchanges(text.String()))(t)
	answer := func(status string) swss.Entry { return swss.Entry{Key: status, Body: "[]", Op: "Sgetresponse"} }
	want := []protocol.Exchange{
		{Request: entry(newSwitch), Answer: answer("SAI_STATUS_SUCCESS")},
		{Request: entry(newTable), Answer: answer("SAI_STATUS_SUCCESS")},
		{Request: entry(newTable), Answer: answer("SAI_STATUS_ITEM_ALREADY_EXISTS")},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	for _, bad := range []string{"", "Sset\tX", "\tSAI_STATUS_SUCCESS\t[]\tSx", "Sset\tX\t[]\n\tSx\tY\t[]\n\tSx\tY\t[]"} {
		if _, err := protocol.ParseExchanges(bad); err == nil {
			t.Errorf("%q is a recording", bad)
		}
	}
}
