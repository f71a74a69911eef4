package doctor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// newPatient returns an installation that consists only of Redis.
func newPatient(t *testing.T, addr string) *installation {
	t.Helper()
	conf, err := swss.DefaultConfig(addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &installation{r: swss.Look(conf), proc: t.TempDir(), Config: Config{
		Redis: conf, GNMI: "127.0.0.1:1", Data: t.TempDir(), Version: "v1", Timeout: 20 * time.Second, Now: time.Now,
	}}
	t.Cleanup(func() { p.r.Close() })
	return p
}

// ask runs the check of Redis, and then the check with the name.
func (p *installation) ask(t *testing.T, name string) answer {
	t.Helper()
	list := checks()
	p.bounded(t.Context(), list[0])
	for _, c := range list {
		if c.name == name {
			return p.bounded(t.Context(), c)
		}
	}
	t.Fatalf("there is no check %q", name)
	return answer{}
}

func (a answer) is(t *testing.T, when string, verdict Verdict, word string) {
	t.Helper()
	if a.verdict != verdict || !strings.Contains(a.found, word) {
		t.Errorf("%s: %s: %s, want %s with %q", when, a.verdict, a.found, verdict, word)
	}
	if bad := a.verdict == Failed || a.verdict == Warning; bad && a.do == "" {
		t.Errorf("%s: %s: and what to do?", when, a.found)
	}
}

// Each fault of a Redis and of its rows results in its finding. Before the fault, and after it is undone, every check
// succeeds.
func TestFaultsOfRedis(t *testing.T) {
	server := swsstest.StartServer(t, "--save", "", "--appendonly", "yes")
	r := server.Open()
	p := newPatient(t, server.Addr)
	healthy(t, r)
	p.ask(t, "outputs").is(t, "without outputs", OK, "none is configured")
	const hour, output = "TAMTAM_HEALTH|orchagent", "TAMTAM_OUTPUT|syslog-x"
	const failing = "TAMTAM_ALARM|syslog-x-output-failed type-id OUTPUT_FAILED resource syslog-x"
	const injected = `'["kind","redis-full","for","1m","from","2026-01-01T00:00:00Z","until","2026-01-01T00:01:00Z",` +
		`"hits","0","over",`
	for _, tt := range []struct {
		check, fault, back string // commands, "DB word word ..."
		verdict            Verdict
		word               string
	}{
		{"keyspace events", "4 config set notify-keyspace-events E", "4 config set notify-keyspace-events AKE", Failed,
			"unnoticed"},
		{"Redis role", "4 replicaof 127.0.0.1 1", "4 replicaof no one", Failed, "slave of 127.0.0.1:1"},
		{"persistence", "4 config set appendonly no", "4 config set appendonly yes", Warning, "nothing is kept"},
		{"memory of Redis", "4 config set maxmemory 1", "4 config set maxmemory 0", Failed, "takes no writes"},
		{"marks in databases", "6 hset TAMTAM_MARK orchagent other", "6 hset TAMTAM_MARK orchagent p2", Warning,
			"of another, process other"},
		{"marks in databases", "1 del TAMTAM_MARK", "1 hset TAMTAM_MARK orchagent p2 syncd p3", Warning,
			"ASIC_DB have rows and no mark"},
		{"CONFIG_DB", "4 del CONFIG_DB_INITIALIZED", "4 set CONFIG_DB_INITIALIZED 1", Warning, "SONiC's utilities wait"},
		{"CONFIG_DB", "4 del DEVICE_METADATA|localhost", "4 hset DEVICE_METADATA|localhost mac 02:00:00:00:00:01", Failed,
			"empty"},
		{"DEVICE_METADATA", "4 hset DEVICE_METADATA|localhost mac x",
			"4 hset DEVICE_METADATA|localhost mac 02:00:00:00:00:01", Failed, "mac"},
		{"DEVICE_METADATA", "4 del DEVICE_METADATA|localhost", "4 hset DEVICE_METADATA|localhost mac 02:00:00:00:00:01",
			Warning, "no row"},
		{"rows", "6 hset TAM_STATE_TAILSTAMPING_TABLE|web status failed reason full",
			"6 del TAM_STATE_TAILSTAMPING_TABLE|web", Failed, "1 failed: TAM_TAILSTAMPING_TABLE|web"},
		{"rows", "6 hset TAM_STATE_TAILSTAMPING_TABLE|web status pending reason full",
			"6 del TAM_STATE_TAILSTAMPING_TABLE|web", Warning, "1 pending"},
		{"switch in ASIC_DB", "1 del ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:oid:0x21",
			"1 hset ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:oid:0x21 a b", Failed, "no switch"},
		{"switch in ASIC_DB", "1 del VIDTORID", "1 hset VIDTORID oid:0x21 oid:0x1", Failed, "no chip"},
		{"view in ASIC_DB", "1 hset TEMP_ASIC_STATE:x a b", "1 del TEMP_ASIC_STATE:x", Warning, "TEMP_ASIC_STATE"},
		{"requests in ASIC_DB", "1 lpush ASIC_STATE_KEY_VALUE_OP_QUEUE a b c", "1 del ASIC_STATE_KEY_VALUE_OP_QUEUE", Warning,
			"3 words"},
		{"journal of syncd", "1 del TAMTAM_SYNCD", "1 hset TAMTAM_SYNCD run r outcomes 7", Warning, "not tamtam's"},
		{"COUNTERS_DB", "2 del COUNTERS:oid:0x2", "2 hset COUNTERS:oid:0x2 a 1", Failed, "1 of 1 ports"},
		{"COUNTERS_DB", "2 del COUNTERS_PORT_NAME_MAP", "2 hset COUNTERS_PORT_NAME_MAP Ethernet0 oid:0x2", Warning,
			"no port"},
		{"orchagent", "6 hset " + hour + " state waiting reason lost", "6 hset " + hour + " state ready", Failed, "lost"},
		{"orchagent", "6 hset " + hour + " state odd", "6 hset " + hour + " state ready", NotKnown, "odd"},
		{"orchagent", "6 hset " + hour + " owner p9", "6 hset " + hour + " owner p2", Failed, "two processes"},
		{"orchagent", "6 persist " + hour, "6 pexpire " + hour + " 5000", Failed, "does not end by itself"},
		{"orchagent", "6 pexpire " + hour + " 500000", "6 pexpire " + hour + " 5000", Failed, "nothing was heard"},
		{"orchagent", "6 hdel TAMTAM_MARK orchagent", "6 hset TAMTAM_MARK orchagent p2", Failed,
			"STATE_DB has no mark of it"},
		{"orchagent", "6 rename " + hour + " away", "6 rename away " + hour, Failed, "nothing was heard"},
		{"consistency of orchagent", "6 hset TAMTAM_CONSISTENCY|orchagent state drift reason x",
			"6 hset TAMTAM_CONSISTENCY|orchagent state consistent", Failed, "x"},
		{"consistency of orchagent", "6 hset TAMTAM_CONSISTENCY|orchagent state checking",
			"6 hset TAMTAM_CONSISTENCY|orchagent state consistent", Warning, "first pass"},
		{"faults on purpose", "6 hset TAMTAM_FAULT|syncd 1 " + injected + `""]'`, "6 del TAMTAM_FAULT|syncd", Failed,
			"faults are injected on purpose: Redis is full, until"},
		{"faults on purpose", "6 hset TAMTAM_FAULT|syncd 1 " + injected + `"cleared"]'`, "6 del TAMTAM_FAULT|syncd", Warning,
			"1 were over"},
		{"faults on purpose", "6 hset TAMTAM_FAULT|syncd 1 x", "6 del TAMTAM_FAULT|syncd", Warning, `TAMTAM_FAULT|syncd "1"`},
		{"faults on purpose", "6 hset TAMTAM_FAULT_UNDO|redis by syncd", "6 del TAMTAM_FAULT_UNDO|redis", Failed,
			"syncd ended while it kept Redis full"},
		{"outputs", "6 hset " + output + " status failed reason 'no route'", "6 hset " + output + " status active reason ''",
			Warning, "tried again: syslog-x: no route"},
		{"outputs", "6 hset " + failing + " text 'nothing was delivered'", "6 del " + failing, Failed,
			"syslog-x: nothing was delivered"},
	} {
		renewed(t, r) // a daemon does so once per second
		p.ask(t, tt.check).is(t, tt.check+" before", OK, "")
		command(t, server, tt.fault)
		p.ask(t, tt.check).is(t, tt.check+" after "+tt.fault, tt.verdict, tt.word)
		command(t, server, tt.back)
		p.ask(t, tt.check).is(t, tt.check+" again", OK, "")
	}
	p.ask(t, "outputs").is(t, "with an output", OK, "1, and none fails")
	subscription := r.DB(swss.StateDB).Subscribe(t.Context(), "TAMTAM_FAULT@tammgrd")
	if _, err := subscription.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.ask(t, "faults on purpose").is(t, "one takes faults", Warning, "can inject faults into tammgrd")
	subscription.Close()
	p.Now = func() time.Time { return time.Now().Add(-time.Hour - 30*time.Second) }
	p.ask(t, "clock").is(t, "an hour apart", Warning, "1h0m")
	p.Now = time.Now
	p.ask(t, "clock").is(t, "the same machine", OK, "")
	p.ask(t, "number of databases").is(t, "64 databases", OK, "6")
	command(t, server, "1 del TAMTAM_SYNCD")
	p.ask(t, "syncd").is(t, "a syncd of others", NotKnown, "not tamtam's")
}

// healthy writes the rows of a healthy switch.
func healthy(t *testing.T, r *swss.Redis) {
	t.Helper()
	set := func(db swss.DBName, key string, words ...any) {
		if err := r.DB(db).Client().HSet(t.Context(), key, words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set(swss.ConfigDB, "DEVICE_METADATA|localhost", "mac", "02:00:00:00:00:01")
	if err := r.DB(swss.ConfigDB).SetInitialized(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	set(swss.ASICDB, "ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:oid:0x21", "a", "b")
	set(swss.ASICDB, protocol.KeyVIDToRID, "oid:0x21", "oid:0x1")
	set(swss.ASICDB, sairedis.KeySyncd, "run", "r", "outcomes", "7")
	set(swss.ASICDB, swss.KeyMark, "orchagent", "p2", "syncd", "p3")
	set(swss.StateDB, swss.KeyMark, "orchagent", "p2")
	set(swss.CountersDB, swss.KeyMark, "syncd", "p3")
	set(swss.CountersDB, schema.CountersPortNameMap, "Ethernet0", "oid:0x2")
	set(swss.CountersDB, "COUNTERS:oid:0x2", "a", "1")
	renewed(t, r)
	set(swss.StateDB, "TAMTAM_CONSISTENCY|orchagent", "state", "consistent", "objects", "1", "drift", "0", "healed", "0")
}

// renewed renews orchagent's status row.
func renewed(t *testing.T, r *swss.Redis) {
	t.Helper()
	row := swss.FieldValues{"state": "ready", "owner": "p2", "since": "2026-01-01T00:00:00Z"}
	if err := swss.NewTable(r.DB(swss.StateDB), schema.StateHealth).SetFor(t.Context(), "orchagent", row,
		5*time.Second); err != nil {
		t.Fatal(err)
	}
}

// command sends a command to the server, by a plain connection: "DB word word ...".
func command(t *testing.T, server *swsstest.Server, line string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	db, words, _ := strings.Cut(line, " ")
	if _, err := fmt.Fprintf(conn, "select %s\r\n%s\r\n", db, words); err != nil {
		t.Fatal(err)
	}
	got := ""
	for buf := make([]byte, 256); strings.Count(got, "\r\n") < 2; {
		n, err := conn.Read(buf)
		if got += string(buf[:n]); err != nil || strings.Contains(got, "-ERR") {
			t.Fatalf("%s: %s %v", line, got, err)
		}
	}
}

// Findings from server information that no server here can be made to report.
func TestWhatRedisSays(t *testing.T) {
	for _, tt := range []struct {
		check      func(context.Context, *installation) answer
		info, conf map[string]string
		verdict    Verdict
		word       string
	}{
		{redisVersion, map[string]string{"redis_version": "7.0.1"}, nil, OK, "7.0.1"},
		{redisVersion, map[string]string{"redis_version": "4.0.14"}, nil, Failed, "too old"},
		{redisVersion, nil, nil, NotKnown, ""},
		{keyspaceEvents, nil, nil, NotKnown, ""},
		{role, nil, nil, NotKnown, ""},
		{persistence, nil, nil, NotKnown, ""},
		{persistence, map[string]string{"aof_enabled": "1", "aof_last_write_status": "err"}, nil, Failed,
			"aof_last_write_status"},
		{persistence, map[string]string{"aof_enabled": "0", "rdb_last_bgsave_status": "err"}, nil, Failed,
			"rdb_last_bgsave_status"},
		{persistence, map[string]string{"aof_enabled": "1"}, map[string]string{"appendfsync": "no"}, Warning,
			"when the system likes"},
		{persistence, map[string]string{"aof_enabled": "0"}, map[string]string{"save": "900 1"}, Warning, "snapshots only"},
		{persistence, map[string]string{"aof_enabled": "0"}, nil, NotKnown, "save"},
		{memory, nil, nil, NotKnown, ""},
		{memory, map[string]string{"used_memory": "1", "evicted_keys": "3"},
			map[string]string{"maxmemory": "0", "maxmemory-policy": "noeviction"}, Failed, "3 keys were evicted"},
		{memory, map[string]string{"used_memory": "1"}, map[string]string{"maxmemory": "100",
			"maxmemory-policy": "allkeys-lru"}, Failed, "allkeys-lru"},
		{memory, map[string]string{"used_memory": "95"}, map[string]string{"maxmemory": "100",
			"maxmemory-policy": "noeviction"}, Warning, ""},
		{memory, map[string]string{"used_memory": "1"}, map[string]string{"maxmemory": "100",
			"maxmemory-policy": "noeviction"}, OK, ""},
		{clients, nil, nil, NotKnown, ""},
		{clients, map[string]string{"connected_clients": "10", "rejected_connections": "0"},
			map[string]string{"maxclients": "10"}, Warning, "10 of 10"},
		{clients, map[string]string{"connected_clients": "1", "rejected_connections": "0"},
			map[string]string{"maxclients": "10"}, OK, "1 of 10"},
		{clients, map[string]string{"connected_clients": "1", "rejected_connections": "2"},
			map[string]string{"maxclients": "9"}, Warning, "2 connections"},
	} {
		p := &installation{info: tt.info, conf: tt.conf}
		tt.check(t.Context(), p).is(t, fmt.Sprint(tt.info, tt.conf), tt.verdict, tt.word)
	}
}

// Without Redis, its content is not judged, and the other checks are made.
func TestWithoutRedis(t *testing.T) {
	p := newPatient(t, "127.0.0.1:1")
	report := p.examine(t.Context(), checks())
	if f := report.Findings[0]; f.Verdict != Failed || !strings.Contains(f.Found, "127.0.0.1:1") {
		t.Errorf("%+v", f)
	}
	needs := map[string]bool{}
	for _, c := range checks() {
		needs[c.name] = c.redis
	}
	for _, f := range report.Findings {
		if needs[f.Check] && (f.Verdict != NotKnown || f.Found != "Redis does not answer") {
			t.Errorf("%+v", f)
		}
	}
	if report.Count[OK] != 2 { // the checks of the data directory and of its free space
		t.Errorf("%+v", report)
	}
}

// A check that hangs is abandoned, and the next one is made.
func TestHangingCheck(t *testing.T) {
	p := &installation{Config: Config{Timeout: time.Millisecond, Now: time.Now}}
	never := make(chan struct{})
	defer close(never)
	report := p.examine(t.Context(), []check{
		{"dead file system", false, func(context.Context, *installation) answer { <-never; return well("") }},
		{"hostile words", false, func(context.Context, *installation) answer { return well("a\x1b[2Jb\xff") }},
	})
	if f := report.Findings[0]; f.Verdict != NotKnown {
		t.Errorf("%+v", f)
	}
	if f := report.Findings[1]; f.Verdict != OK || f.Found != "a\\x1b[2Jb\ufffd" {
		t.Errorf("%+v", f)
	}
}

// Faults of this machine are found in its files.
func TestFaultsOfTheMachine(t *testing.T) {
	p := newPatient(t, "127.0.0.1:1")
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	p.ask(t, "gNMI port").is(t, "nobody listens", Failed, "refused")
	p.ask(t, "gNMI certificate").is(t, "nobody listens", NotKnown, "")

	p.ask(t, "users file").is(t, "not given", NotKnown, "not given")
	p.Users = filepath.Join(p.Data, "users")
	if a := p.ask(t, "users file"); a.verdict != Failed {
		t.Errorf("no users file: %+v", a)
	}
	for _, tt := range []struct {
		text    string
		mode    os.FileMode
		verdict Verdict
		word    string
	}{
		{"bob:hidden:root\n", 0o600, NotKnown, "--roles"},
		{"bob:hidden:admin\n", 0o644, Failed, "0644"},
		{"bob:hidden:admin\n", 0o600, Warning, "1 of 1 passwords are in clear"},
		{"bob:$2a$04$dcmDGvY3ErlZgzzZCFgwKuKRc0CNbMAwZpOxU7S1BsTmDiyhEZ5Z6:admin\n", 0o600, OK, "1 users"},
	} {
		write(p.Users, tt.text, tt.mode)
		a := p.ask(t, "users file")
		a.is(t, tt.text, tt.verdict, tt.word)
		if strings.Contains(a.found, "hidden") {
			t.Errorf("the password is told: %s", a.found)
		}
	}
	write(p.Users, "bob:$2a$04$dcmDGvY3ErlZgzzZCFgwKuKRc0CNbMAwZpOxU7S1BsTmDiyhEZ5Z6:porter\n", 0o600)
	p.Roles = filepath.Join(p.Data, "roles")
	p.ask(t, "users file").is(t, "no roles file", Failed, "roles")
	for text, verdict := range map[string]Verdict{
		"": Failed, "porter write\n": Failed, "guard read /interfaces\n": Failed, "porter read /interfaces\n": OK,
	} {
		write(p.Roles, text, 0o600)
		p.ask(t, "users file").is(t, text, verdict, "")
	}
	if err := os.Remove(p.Roles); err != nil {
		t.Fatal(err)
	}

	p.ask(t, "data directory").is(t, "empty", OK, "0 keys")
	key := write(filepath.Join(p.Data, "server.key"), "x", 0o644)
	p.ask(t, "data directory").is(t, "a key for all", Failed, "0644")
	write(key, "x", 0o600)
	p.ask(t, "data directory").is(t, "a key for one", OK, "1 keys")
	if err := os.Chmod(p.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	p.ask(t, "data directory").is(t, "for all", Failed, "0777")
	p.Data = filepath.Join(p.Data, "none")
	p.ask(t, "data directory").is(t, "none", Warning, "not there")
	p.ask(t, "free space").is(t, "none", NotKnown, "no such file")
	judgeFree("/", 0).is(t, "full", Failed, "full")
	judgeFree("/", 1<<20).is(t, "1 MiB", Warning, "1024 KiB")

	for _, name := range []string{"processes", "descriptors", "versions", "live ports"} {
		p.ask(t, name).is(t, "no process", NotKnown, "to be seen")
	}
	process := func(pid int, limit, caps string, args ...string) {
		dir := filepath.Join(p.proc, fmt.Sprint(pid))
		write(filepath.Join(dir, "cmdline"), strings.Join(args, "\x00")+"\x00", 0o600)
		write(filepath.Join(dir, "limits"), "Max open files   "+limit+"  4096  files\n", 0o600)
		write(filepath.Join(dir, "status"), "Name: tamtam\nCapEff:\t"+caps+"\n", 0o600)
		write(filepath.Join(dir, "fd", "0"), "", 0o600)
	}
	process(7, "2048", "0000000000000000", "/bin/tamtam", "run", "syncd", "--redis=a:1", "--port", "Ethernet0=eth1")
	p.ask(t, "processes").is(t, "one", OK, "syncd (7)")
	p.ask(t, "descriptors").is(t, "enough", OK, "syncd 1 of 2048")
	p.ask(t, "live ports").is(t, "no capability", Failed, "CAP_NET_RAW")
	p.ask(t, "versions").is(t, "no file", NotKnown, "v1")
	write(filepath.Join(p.proc, "7", "exe"), "", 0o600)
	p.ask(t, "versions").is(t, "another file", Warning, "another file")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.proc, "7", "exe")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(p.proc, "7", "exe")); err != nil {
		t.Fatal(err)
	}
	p.ask(t, "versions").is(t, "this file", OK, "v1")
	process(7, "1", "0000000000002000", "/bin/tamtam", "run", "syncd", "--redis=a:1", "--port", "Ethernet0=eth1")
	p.ask(t, "live ports").is(t, "capability", OK, "1 processes")
	p.ask(t, "descriptors").is(t, "all open", Failed, "1 of 1")
	process(7, "100", "0", "/bin/tamtam", "run", "syncd", "--redis=a:1")
	p.ask(t, "descriptors").is(t, "few", Warning, "100")
	p.ask(t, "live ports").is(t, "none", OK, "none is wired")
	process(8, "2048", "0", "tamtam", "run", "syncd", "--redis", "a:1")
	p.ask(t, "processes").is(t, "two", Failed, "7 and 8 are both syncd on a:1")
	// A daemon in another container may have the same arguments, because a:1 is another host there. A process that only
	// holds interfaces is not a daemon.
	network := filepath.Join(p.proc, "8", "ns", "net")
	if err := errors.Join(os.MkdirAll(filepath.Dir(network), 0o700), os.Symlink("net:[8]", network)); err != nil {
		t.Fatal(err)
	}
	process(9, "2048", "0", "tamtam", "run", "ports")
	process(10, "2048", "0", "tamtam", "run", "ports")
	if found := p.ask(t, "processes"); strings.Contains(found.found, "ports") {
		t.Errorf("holders of interfaces are daemons: %s", found.found)
	} else {
		found.is(t, "two in their own networks", OK, "syncd (8)")
	}
}

// Faults of a certificate are found.
func TestCertificates(t *testing.T) {
	p := newPatient(t, "127.0.0.1:1")
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pair, text := newCertificate(t, begin, begin.AddDate(1, 0, 0))
	_, other := newCertificate(t, begin, begin.AddDate(1, 0, 0))
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair},
		NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			conn.Close()
		}
	}()
	p.GNMI, p.CA = l.Addr().String(), filepath.Join(p.Data, "given.pem")
	for _, tt := range []struct {
		now     time.Time
		ca      []byte
		verdict Verdict
		word    string
	}{
		{begin.AddDate(0, 1, 0), text, OK, "valid until 2027-01-01"},
		{begin.AddDate(0, 0, -1), text, Failed, "not valid before"},
		{begin.AddDate(0, 0, 350), text, Warning, "15 days"},
		{begin.AddDate(2, 0, 0), text, Failed, "expired on 2027-01-01"},
		{begin.AddDate(0, 1, 0), other, Failed, "unknown authority"},
		{begin.AddDate(0, 1, 0), []byte("x"), Failed, "no certificate"},
		{begin.AddDate(0, 1, 0), nil, NotKnown, "not checked"},
	} {
		if err := os.WriteFile(p.CA, tt.ca, 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.ca == nil {
			p.CA = ""
		}
		p.Now = func() time.Time { return tt.now }
		p.ask(t, "gNMI certificate").is(t, tt.now.String(), tt.verdict, tt.word)
	}
	p.ask(t, "gNMI port").is(t, "one listens and does not serve", Failed, "does not answer")
	server, err := mgmt.NewServer(mgmt.Config{Redis: swsstest.Start(t), Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	p.GNMI = server.Addr()
	p.ask(t, "gNMI port").is(t, "one serves", OK, "")
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}

	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		if conn, err := plain.Accept(); err == nil {
			_, _ = conn.Write([]byte("\x00\x00\x12\x04\x00\x00\x00\x00\x00")) // SETTINGS of HTTP/2
			_, _ = conn.Read(make([]byte, 1))
			conn.Close()
		}
	}()
	p.GNMI = plain.Addr().String()
	p.ask(t, "gNMI certificate").is(t, "in clear", Warning, "without TLS")
}

func newCertificate(t *testing.T, from, to time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(from.Unix()), NotBefore: from, NotAfter: to, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
