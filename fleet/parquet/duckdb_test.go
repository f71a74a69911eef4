package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A longQuestion is a question to the page, and to DuckDB. In its query FILES and TIME stand for the files and the
// condition of the time.
type longQuestion struct {
	name   string
	days   int64 // from the sixth day on; 0 means all
	params map[string]string
	sql    string
	loose  string // a quantile that has bounds, as there are too many rows
}

var longQuestions = []longQuestion{
	{"a day by switch, p99 of rows", 1, map[string]string{"by": "switch-id", "show": "packets,delay.max.p99"},
		`SELECT switch_id AS "switch-id", count(*) AS rows, sum(packets) AS packets,
			quantile_disc(residence_max_ns, 0.99) AS "delay.max.p99" FROM FILES WHERE TIME GROUP BY switch_id`, ""},
	{"a day by switch, p99 of packets", 1, map[string]string{"by": "switch-id", "show": "delay.p99"},
		`WITH r AS (SELECT * FROM FILES WHERE TIME),
		u AS (SELECT switch_id, residence_min_ns AS ns, unnest(residence_buckets) AS n,
			generate_subscripts(residence_buckets, 1) AS i FROM r WHERE residence_min_ns IS NOT NULL),
		b AS (SELECT switch_id, (length(bin(ns)) - 3) * 4 + 4 + ((ns >> (length(bin(ns)) - 3)) & 3) + i - 1 AS bucket,
			sum(n) AS n FROM u GROUP BY ALL),
		c AS (SELECT *, sum(n) OVER (PARTITION BY switch_id ORDER BY bucket) AS upto,
			sum(n) OVER (PARTITION BY switch_id) AS total FROM b),
		d AS (SELECT switch_id, min(bucket) AS bucket FROM c WHERE upto >= total - total * 10 // 1000 GROUP BY switch_id),
		g AS (SELECT switch_id, count(*) AS rows, min(residence_min_ns) AS least, max(residence_max_ns) AS most FROM r
			GROUP BY switch_id)
		SELECT switch_id AS "switch-id", rows,
			greatest(least, (4 + bucket % 4) << (bucket // 4 - 1)) AS "delay.p99.low",
			least(most, ((4 + (bucket + 1) % 4) << ((bucket + 1) // 4 - 1)) - 1) AS "delay.p99.high"
		FROM g JOIN d USING (switch_id)`, ""},
	{"a day, filtered, by hop and port", 1, map[string]string{"by": "hop,out-port", "show": "delay.max,packets.p50",
		"where": "packets > 100 and switch-id in (3, 7..9) and delay.max > 10us"},
		`SELECT hop, out_port AS "out-port", count(*) AS rows, max(residence_max_ns) AS "delay.max",
			quantile_disc(packets, 0.5) AS "packets.p50" FROM FILES WHERE TIME AND packets > 100
			AND (switch_id = 3 OR switch_id BETWEEN 7 AND 9) AND residence_max_ns > 10000 GROUP BY hop, out_port`, ""},
	{"a day by flow and switch, p99 of rows", 1, map[string]string{"by": "flow,switch-id", "show": "delay.max.p99"},
		`SELECT flow, switch_id AS "switch-id", count(*) AS rows,
			quantile_disc(residence_max_ns, 0.99) AS "delay.max.p99" FROM FILES WHERE TIME GROUP BY ALL`, ""},
	{"ten days, one flow, by switch", 0, map[string]string{"by": "switch-id", "show": "packets,delay.max",
		"where": `flow = "TCP 10.0.0.8:1031 > 10.1.0.8:443"`},
		`SELECT switch_id AS "switch-id", count(*) AS rows, sum(packets) AS packets, max(residence_max_ns) AS "delay.max"
			FROM FILES WHERE flow = 'TCP 10.0.0.8:1031 > 10.1.0.8:443' GROUP BY switch_id`, ""},
	{"ten days by switch, p99 of rows", 0, map[string]string{"by": "switch-id", "show": "packets,delay.max.p99"},
		`SELECT switch_id AS "switch-id", count(*) AS rows, sum(packets) AS packets,
			quantile_disc(residence_max_ns, 0.99) AS "delay.max.p99" FROM FILES GROUP BY switch_id`, "delay.max.p99"},
}

// The page of a collector answers questions about the rows of ten days as DuckDB does from the same files (make
// query-test). TAMTAM_QUERY_ROWS is the number of rows, TAMTAM_QUERY_BATCH that of each file, and TAMTAM_QUERY_DIR a
// folder that keeps them.
func TestOthersAnswerQuestions(t *testing.T) {
	collectd, duck := os.Getenv("TAMTAM_COLLECTD"), os.Getenv("TAMTAM_DUCKREAD")
	rows, err := strconv.Atoi(os.Getenv("TAMTAM_QUERY_ROWS"))
	if err != nil || collectd == "" || duck == "" {
		t.Skip("TAMTAM_QUERY_ROWS, TAMTAM_COLLECTD, TAMTAM_DUCKREAD name no rows and no programs: make query-test")
	}
	batch, err := strconv.Atoi(os.Getenv("TAMTAM_QUERY_BATCH"))
	if err != nil {
		t.Fatalf("TAMTAM_QUERY_BATCH: %v", err)
	}
	shape := tenDays(rows, batch)
	dir := generatedOnce(t, os.Getenv("TAMTAM_QUERY_DIR"), shape)
	fmt.Printf("%d rows in %d files, load of the machine %s\n", rows, shape.batches(), load())
	fmt.Printf("%-38s %9s %6s %5s  %-20s  %-20s  %-20s\n", "", "", "", "", "tamtam", "DuckDB", "DuckDB, named files")
	fmt.Printf("%-38s %9s %6s %5s", "seconds, from a cold cache and warm", "rows", "groups", "files")
	fmt.Println(strings.Repeat("     cold   warm    CPU", 3)[3:])
	var most [2]int
	for _, q := range longQuestions {
		ours, mb := askPage(t, collectd, dir, q, shape)
		most[0] = max(most[0], mb)
		theirs, mb := askDuck(t, duck, q, shape, fmt.Sprintf("'%s/hops/*.parquet'", dir))
		most[1] = max(most[1], mb)
		named, _ := askDuck(t, duck, q, shape, filesOfTime(t, dir, q, shape))
		sameAnswer(t, q, ours.List, theirs.list)
		sameAnswer(t, q, ours.List, named.list)
		fmt.Printf("%-38s %9d %6d %5s  %s  %s  %s\n", q.name, ours.Read, len(ours.List), ours.files, ours.seconds,
			theirs.seconds, named.seconds)
	}
	fmt.Printf("MB of memory at most: tamtam %d, DuckDB %d; load of the machine %s\n", most[0], most[1], load())
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return string(bytes.TrimSpace(text[:min(len(text), 14)]))
}

// time returns the time of a question.
func (q *longQuestion) time(shape fleetShape) (from, to int64) {
	if q.days == 0 {
		return shape.from, shape.to
	}
	from = shape.from + 5*testDay
	return from, from + q.days*testDay - 1
}

// generatedOnce returns the folder of a store with generated rows.
func generatedOnce(t *testing.T, dir string, shape fleetShape) string {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprintf("%d-by-%d", shape.rows, shape.batch))
	done := filepath.Join(dir, "generated")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s := open(t, Options{Dir: dir, Bytes: 1 << 40})
	var running sync.WaitGroup
	for partition := range 2 {
		running.Go(func() {
			for i := partition; i < shape.batches(); i += 2 {
				if kept, err := s.Put(t.Context(), shape.make(i)); !kept || err != nil {
					t.Errorf("batch %d: kept %v, %v", i, kept, err)
					return
				}
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d rows written in %.0f s\n", shape.rows, time.Since(start).Seconds())
	return dir
}

// seconds holds the times of a question: from a cold cache, from a warm one, and of the processor, as the mean of both.
type seconds [3]float64

func (s seconds) String() string { return fmt.Sprintf("%6.3f %6.3f %6.3f", s[0], s[1], s[2]) }

// cpuTime returns the time of the processor that a process has used.
func cpuTime(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	if userErr != nil || systemErr != nil {
		t.Fatalf("%s: %v, %v", text, userErr, systemErr)
	}
	return float64(user+system) / 100
}

// A pageAnswer is an answer of the page.
type pageAnswer struct {
	Read    int64            `json:"read"`
	Inexact []string         `json:"inexact"`
	List    []map[string]any `json:"list"`

	files   string
	seconds seconds
}

// askPage asks the page of a new process twice, first from a cold cache, and returns the peak of its memory in MB.
func askPage(t *testing.T, collectd, dir string, q longQuestion, shape fleetShape) (a pageAnswer, mb int) {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listen.Addr().String()
	listen.Close()
	var said bytes.Buffer
	daemon := exec.Command(collectd, "run", "--role", "serve", "--store", dir, "--store-bytes", "1099511627776", "--http",
		address)
	daemon.Stdout, daemon.Stderr = &said, &said
	daemon.Env = append(os.Environ(), "GOMAXPROCS=2", "GOGC=100")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	params := url.Values{}
	from, to := q.time(shape)
	params.Set("after", strconv.FormatInt(from, 10))
	params.Set("before", strconv.FormatInt(to, 10))
	for k, v := range q.params {
		params.Set(k, v)
	}
	get := func(path string) ([]byte, error) {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			return nil, err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", r.Status, text)
		}
		return text, err
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for i := 0; ; i++ {
		if _, err := get("/stored?since=1m"); err == nil {
			break
		} else if i == 600 {
			t.Fatalf("%v\n%s", err, said.Bytes())
		}
		<-again.C
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0); err != nil {
		t.Logf("the cache of files is not cold: %v", err)
	}
	before := cpuTime(t, daemon.Process.Pid)
	for i := range 2 {
		start := time.Now()
		text, err := get("/stored.json?" + params.Encode())
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		a.seconds[i] = time.Since(start).Seconds()
		a.List, a.Inexact = nil, nil
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
	}
	a.seconds[2] = (cpuTime(t, daemon.Process.Pid) - before) / 2
	for _, why := range a.Inexact {
		if strings.Contains(why, "cannot be read") || strings.Contains(why, "has no files") {
			t.Errorf("%s: %s", q.name, why)
		}
	}
	page, err := get("/stored?" + params.Encode())
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "rows of this time are stored. Of ")
	a.files, _, _ = strings.Cut(rest, " ")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", daemon.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ = strings.Cut(string(status), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return a, kb / 1000
}

// filesOfTime returns the files whose names have a time of the question, as DuckDB's list.
func filesOfTime(t *testing.T, dir string, q longQuestion, shape fleetShape) string {
	t.Helper()
	if q.days == 0 { // all files, whose names may be longer than a command line
		return fmt.Sprintf("'%s/hops/*.parquet'", dir)
	}
	from, to := q.time(shape)
	s := &Store{dir: dir, kinds: kinds()}
	all, err := s.list()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		if f.to >= from && f.from <= to {
			names = append(names, fmt.Sprintf("'%s/hops/%s'", dir, f.name))
		}
	}
	return "read_parquet([" + strings.Join(names, ", ") + "])"
}

// A duckAnswer is an answer of DuckDB.
type duckAnswer struct {
	list    []map[string]any
	seconds seconds // that of the processor contains the start
}

// askDuck asks DuckDB twice, first from a cold cache, and returns the peak of its memory in MB.
func askDuck(t *testing.T, duck string, q longQuestion, shape fleetShape, files string) (
	a duckAnswer, mb int,
) {
	t.Helper()
	from, to := q.time(shape)
	when := fmt.Sprintf("window_start_ns <= %d AND window_start_ns >= %d AND window_start_ns + window_length_ns >= %d", to,
		from-testWindow, from)
	text := strings.NewReplacer("FILES", files, "TIME", when).Replace(q.sql)
	c := exec.Command(duck, "-measure", text)
	var measured bytes.Buffer
	c.Stderr = &measured
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", q.name, err, measured.Bytes(), text[:min(len(text), 2000)])
	}
	for line := range strings.Lines(string(out)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		a.list = append(a.list, row)
	}
	var cold bool
	if _, err := fmt.Sscan(measured.String(), &a.seconds[0], &a.seconds[1], &mb, &cold); err != nil {
		t.Fatalf("%s: %v", measured.Bytes(), err)
	}
	a.seconds[2] = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds() / 2
	return a, mb
}

// sameAnswer compares the groups of the page with those of DuckDB. Where DuckDB has one number, and the page has an
// open range because messages were lost, the range's begin counts.
func sameAnswer(t *testing.T, q longQuestion, ours, theirs []map[string]any) {
	t.Helper()
	by := strings.Split(q.params["by"], ",")
	keyed := func(list []map[string]any) map[string]map[string]any {
		all := map[string]map[string]any{}
		for _, row := range list {
			var key []string
			for _, name := range by {
				key = append(key, fmt.Sprint(row[name]))
			}
			all[strings.Join(key, "|")] = row
		}
		return all
	}
	a, b := keyed(ours), keyed(theirs)
	if len(a) != len(b) || len(a) != len(ours) || len(b) != len(theirs) || len(a) == 0 {
		t.Errorf("%s: %d groups, and %d of DuckDB", q.name, len(ours), len(theirs))
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		for name, want := range b[key] {
			field, end, _ := strings.Cut(name, ".low")
			if field == name {
				field, end, _ = strings.Cut(name, ".high")
				end = map[bool]string{true: "high", false: ""}[field != name]
			} else {
				end = "low"
			}
			got := a[key][field]
			low, high := got, got
			if r, is := got.(map[string]any); is {
				low, high = r["low"], r["high"]
			}
			same := low == want && (high == low || high == nil)
			switch {
			case end == "low":
				same = low == want
			case end == "high":
				same = high == want
			case name == q.loose:
				x, y, z := low.(float64), want.(float64), high.(float64)
				same = x <= y && y <= z && z-x <= math.Abs(y)/32+1
			}
			if !same {
				t.Fatalf("%s, group %s, %s: %v, and DuckDB has %v", q.name, key, name, got, want)
			}
		}
	}
}
