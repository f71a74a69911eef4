package swss_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// words returns a command as text, without the database if that does not matter.
func words(c swsstest.Command) string {
	if strings.HasSuffix(c.Args[0], "SUBSCRIBE") {
		return strings.Join(c.Args, " ")
	}
	return "[" + c.DB + "] " + strings.Join(c.Args, " ")
}

func golden(t *testing.T) []swsstest.Command {
	t.Helper()
	text := need(os.ReadFile("testdata/wire.txt"))(t)
	return swsstest.ParseMonitor(t, string(text))
}

// relevant omits the commands by which our client connects and reads, because SONiC's library uses others.
func relevant(all []swsstest.Command) []string {
	var out []string
	for _, c := range all {
		switch name := c.Args[0]; {
		case c.By == "lua", strings.Contains("SELECT HELLO CLIENT PING CONFIG SCRIPT HGETALL", name),
			name == "KEYS" && c.DB != "4":
		case c.DB == "4" && strings.HasPrefix(name, "EVAL"): // reads rows
		case name == "SUBSCRIBE" && strings.Contains(c.Args[1], "_CHANNEL@"):
		default:
			out = append(out, words(c))
		}
	}
	return out
}

// TestWire: our commands equal those of SONiC's library, word by word.
func TestWire(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ctx := t.Context()
	loadScripts(t, server.Open())
	monitor := server.Monitor()

	l := swss.NewListener(r)
	defer l.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pop := func(s swss.Source) {
		t.Helper()
		must(l.Sync(ctx))
		_, err := s.Pops(ctx)
		must(err)
	}
	p := func(fv ...string) (pairs []swss.Pair) {
		for i := 0; i < len(fv); i += 2 {
			pairs = append(pairs, swss.Pair{Field: fv[i], Value: fv[i+1]})
		}
		return pairs
	}
	appl := r.DB(swss.ApplDB)
	rules := swss.NewProducerState(appl, "ACL_RULE_TABLE")
	must(rules.Set(ctx, "T:R1", p("PRIORITY", "5", "SRC_IP", "10.0.0.0/8")))
	consumer := swss.NewConsumerState(l, appl, "ACL_RULE_TABLE")
	pop(consumer)
	must(rules.Set(ctx, "T:R1", p("PRIORITY", "6")))
	must(rules.Set(ctx, "T:R1", p("DST_IP", "1.1.1.1")))
	pop(consumer)
	must(rules.Set(ctx, "T:R1", p("X", "1")))
	must(rules.Del(ctx, "T:R1"))
	pop(consumer)
	must(rules.Set(ctx, "T:R1", p("PRIORITY", "6")))
	pop(consumer)
	must(rules.Del(ctx, "T:R1"))
	must(rules.Set(ctx, "T:R1", p("Y", "1")))
	pop(consumer)
	must(rules.SetMany(ctx, []swss.Row{{Key: "B1", Fields: p("a", "1")}, {Key: "B2", Fields: p("b", "2", "c", "3")}}))
	pop(consumer)
	for i := range 5 {
		must(rules.Set(ctx, "O"+strconv.Itoa(i), p("i", strconv.Itoa(i))))
	}
	pop(consumer)
	for _, key := range []string{"T:R1", "B1", "B2"} {
		must(rules.Del(ctx, key))
	}
	pop(consumer)

	conf := swss.NewTable(r.DB(swss.ConfigDB), "ACL_RULE")
	must(conf.Set(ctx, "T|R0", swss.FieldValues{"PRIORITY": "1"}))
	sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "ACL_RULE")
	pop(sub)
	must(conf.Set(ctx, "T|R1", swss.FieldValues{"SRC_IP": "1.1.1.1/32", "PRIORITY": "2"}))
	must(conf.HDel(ctx, "T|R1", "SRC_IP"))
	must(conf.HDel(ctx, "T|R1", "PRIORITY"))
	must(conf.Set(ctx, "T|R1", swss.FieldValues{"ports@": "Ethernet0,Ethernet4"}))
	must(conf.Del(ctx, "T|R1"))
	must(conf.Del(ctx, "T|R0"))

	swss.NewNotificationConsumer(l, appl, "MYCH")
	_, err := swss.NewNotificationProducer(appl, "MYCH").Send(ctx, "op1", "data1", p("k1", "v1"))
	must(err)

	flex := swss.NewProducer(r.DB(swss.FlexCounterDB), "FLEX_COUNTER_GROUP_TABLE")
	must(flex.Set(ctx, "G", p("POLL_INTERVAL", "1000"), ""))
	must(flex.Del(ctx, "G", ""))

	pop(swss.NewConsumer(l, r.DB(swss.ASICDB), "ASIC_STATE"))
	pop(swss.NewConsumer(l, r.DB(swss.ASICDB), "GETRESPONSE", swss.WithModify()))

	var want []string
	for _, c := range golden(t) {
		if c.By != "lua" {
			want = append(want, words(c))
		}
	}
	if diff := cmp.Diff(want, relevant(monitor.Commands())); diff != "" {
		t.Errorf("commands (-SONiC's library +ours):\n%s", diff)
	}
}

// loadScripts loads our scripts into the server, so that no call has to be repeated with the text of its script.
func loadScripts(t *testing.T, r *swss.Redis) {
	t.Helper()
	ctx := t.Context()
	appl, other := r.DB(swss.ApplDB), swss.NewListener(r)
	defer other.Close()
	s := swss.NewProducerState(appl, "WARM")
	rows := []swss.Row{{Key: "k"}, {Key: "l"}}
	err := s.Set(ctx, "k", nil)
	if err == nil {
		err = s.SetMany(ctx, rows)
	}
	if err == nil {
		err = s.Del(ctx, "k")
	}
	if err == nil {
		err = swss.NewProducer(appl, "WARMQ").Set(ctx, "k", nil, "")
	}
	for _, src := range []swss.Source{swss.NewConsumerState(other, appl, "WARM"), swss.NewConsumer(other, appl, "WARMQ")} {
		if err == nil {
			_, err = src.Pops(ctx)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	dialRaw(t, r.Addr()).do("FLUSHALL")
}

// TestScriptEffects: our scripts leave the same in the databases as the scripts of SONiC's library, after every call.
func TestScriptEffects(t *testing.T) {
	theirs := dialRaw(t, swsstest.StartServer(t).Addr)
	oursServer := swsstest.StartServer(t)
	ours := dialRaw(t, oursServer.Addr)
	digests := scriptDigests(t, ours)
	lines := golden(t)
	for i := 0; i < len(lines); i++ {
		call := lines[i]
		if call.Args[0] != "EVALSHA" || i+1 == len(lines) || lines[i+1].By != "lua" {
			continue
		}
		ours.do("SELECT", call.DB)
		args := append([]string(nil), call.Args...)
		args[1] = digests(args)
		if err, ok := ours.do(args...).(error); ok {
			t.Fatalf("%v: %v", call, err)
		}
		theirs.do("SELECT", call.DB)
		for i+1 < len(lines) && lines[i+1].By == "lua" {
			i++
			theirs.do(lines[i].Args...)
		}
		db, _ := strconv.Atoi(call.DB)
		if diff := cmp.Diff(theirs.contents(db), ours.contents(db)); diff != "" {
			t.Fatalf("after %v (-theirs +ours):\n%s", call, diff)
		}
	}
}

// scriptDigests loads our scripts. It returns a function that maps a call by SONiC's library to our script, by the form
// of the arguments.
func scriptDigests(t *testing.T, c *rawConn) func(args []string) string {
	t.Helper()
	load := func(name string) string {
		text := need(os.ReadFile("scripts/" + name + ".lua"))(t)
		digest, ok := c.do("SCRIPT", "LOAD", string(text)).(string)
		if !ok {
			t.Fatalf("%s does not load", name)
		}
		return digest
	}
	set, many, del, pop, push := load("state_set"), load("state_set_many"), load("state_del"), load("state_pop"),
		load("queue_push")
	return func(args []string) string {
		switch last := args[len(args)-1]; {
		case last == "_":
			return pop
		case last == "''":
			return del
		case strings.Contains(args[3], "_KEY_VALUE_OP_QUEUE"):
			return push
		case strings.HasSuffix(args[5], ":"):
			return many
		default:
			return set
		}
	}
}
