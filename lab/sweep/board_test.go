package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
	"tamtam/lab"
)

// randomSweep changes the parameters and seeds of a sweep at random. Some of its jobs cannot run.
func randomSweep(r *rand.Rand, f *File) {
	f.Seeds = Seeds{First: 1 + r.Uint64N(1000), Count: 1 + r.IntN(4)}
	f.Vary[0].Values = [][]string{{"0", "0.1", "0.5"}, {"0.3"}, {"0.2", "-1"}}[r.IntN(3)]
	if r.IntN(4) == 0 {
		f.Vary = f.Vary[:1]
	}
	f.Set = [][]string{nil, {"traffic.t.pps=200000"}, {"switches.s1.config=s1.json"}}[r.IntN(3)]
	if r.IntN(4) == 0 {
		f.Results[1].Measured = "flow.t.gone"
	}
}

// outputOf returns all output of a sweep: results by job, tables, plots, and messages.
func outputOf(t *testing.T, f *File, o Options, all []Outcome, runErr error) map[string]string {
	t.Helper()
	var said bytes.Buffer
	reportErr := f.Report(&said, o.Out, all)
	out := map[string]string{"said": said.String(), "errors": fmt.Sprint(runErr, "\n", reportErr)}
	err := filepath.WalkDir(o.Out, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, o.Out)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whenever workers and the sweep's process are killed, the output is the same to the byte as if one process had run it.
// Each job is counted once.
func TestKilled(t *testing.T) {
	config, err := os.ReadFile("testdata/s1.json")
	if err != nil {
		t.Fatal(err)
	}
	kills := atomic.Int64{}
	fixed := randtest.Cases{Seed: 1, Count: 8, Short: 2}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 0))
		f, o, _ := files(t)
		if err := os.WriteFile(filepath.Join(f.dir, "s1.json"), config, 0o644); err != nil {
			t.Fatal(err)
		}
		randomSweep(r, f)
		all, err := f.Run(t.Context(), o)
		want := outputOf(t, f, o, all, err)

		o.Out += "-posted"
		log := stream.NewMemory(0)
		stop := startWorkers(t, log, o, r, &kills)
		for left := r.IntN(4); ; left-- {
			ctx, die := context.WithCancel(t.Context())
			m := &dyingLog{Log: log, die: die, behind: r.IntN(2) == 0, left: -1}
			if left > 0 {
				m.left = r.IntN(30)
			}
			all, _, err = f.Post(ctx, &Board{Log: m, Name: "b", Program: o.Program, By: "sweep"}, o)
			die()
			if !m.free() {
				break
			}
			kills.Add(1)
		}
		stop()
		if got := outputOf(t, f, o, all, err); !reflect.DeepEqual(got, want) {
			t.Errorf("posted:\n%v\nin one process:\n%v", got, want)
		}
	})
	t.Logf("%d processes were killed", kills.Load())
	if ran.Whole(fixed) && kills.Load() == 0 {
		t.Error("no process was killed")
	}
}

// A worker dies after its result is in the log, but before it has acknowledged the job. The job runs again, and its
// result is counted once.
func TestAgain(t *testing.T) {
	f, o, _ := files(t)
	f.Seeds.Count, f.Vary, f.Plots = 2, nil, nil
	log := stream.NewMemory(0)
	board := func(log stream.Log, by string) *Board { return &Board{Log: log, Name: "b", Program: o.Program, By: by} }
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	one := o
	one.Workers = 1
	working.Go(func() {
		defer stop()
		all, posted, err := f.Post(t.Context(), board(log, "sweep"), o)
		if want := (Posted{Workers: map[string]int{"first": 1, "second": 1}}); err != nil || len(all) != 2 ||
			!reflect.DeepEqual(posted, want) {
			t.Errorf("%d outcomes, %+v, want %+v: %v", len(all), posted, want, err)
		}
	})
	alive, die := context.WithCancel(ctx)
	m := &dyingLog{Log: log, die: die, left: 2, behind: true} // it takes the job, reads the sweep, and appends the result
	if err := board(m, "first").Work(alive, one); err != nil || !m.free() {
		t.Errorf("%v, dead: %v", err, m.dead)
	}
	if err := board(log, "second").Work(ctx, one); err != nil {
		t.Error(err)
	}
	working.Wait()
}

// startWorkers starts some workers. Each is killed and restarted several times.
func startWorkers(t *testing.T, log stream.Log, o Options, r *rand.Rand, kills *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for i := range 1 + r.IntN(3) {
		lives := rand.New(rand.NewPCG(r.Uint64(), 1))
		working.Go(func() {
			for left := lives.IntN(6); ctx.Err() == nil; left-- {
				alive, die := context.WithCancel(ctx)
				m := &dyingLog{Log: log, die: die, behind: lives.IntN(2) == 0, left: -1}
				if left > 0 {
					m.left = lives.IntN(20)
				}
				w := o
				w.Workers = 1 + lives.IntN(2)
				err := (&Board{Log: m, Name: "b", Program: o.Program, By: fmt.Sprint("worker ", i)}).Work(alive, w)
				die()
				if m.free() {
					kills.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	return func() { cancel(); working.Wait() }
}

// Two sweeps have their turns on a board one after the other.
func TestTurns(t *testing.T) {
	log := stream.NewMemory(0)
	ctx, stop := context.WithCancel(t.Context())
	var working, posting sync.WaitGroup
	for i := range uint64(2) {
		f, o, _ := files(t)
		f.Seeds, f.Vary, f.Plots = Seeds{First: 1 + 2*i, Count: 2}, nil, nil
		b := &Board{Log: log, Name: "b", Program: o.Program, By: fmt.Sprint("sweep ", i)}
		posting.Go(func() {
			if all, posted, err := f.Post(t.Context(), b, o); err != nil || len(all) != 2 {
				t.Errorf("%v, %+v: %v", all, posted, err)
			}
		})
		working.Go(func() {
			if err := b.Work(ctx, o); err != nil {
				t.Error(err)
			}
		})
	}
	posting.Wait()
	stop()
	working.Wait()
}

// A forgetful log gives the first turn to others, as if its holder had not renewed it in time.
type forgetful struct {
	stream.Log
	claimed atomic.Int32
}

func (l *forgetful) Claim(ctx context.Context, topic string) (stream.Work, error) {
	w, err := l.Log.Claim(ctx, topic)
	if err == nil && strings.HasSuffix(topic, topicTurns) && l.claimed.Add(1) == 1 {
		err = w.Return(ctx)
	}
	return w, err
}

// A sweep that loses its turn waits for another, and continues.
func TestTurnLost(t *testing.T) {
	f, o, _ := files(t)
	f.Seeds.Count, f.Vary, f.Plots = 3, nil, nil
	log := &forgetful{Log: stream.NewMemory(0)}
	lost := make(chan string, 1)
	b := &Board{Log: log, Name: "b", Program: o.Program, Hold: 1, Report: func(what string) { lost <- what }}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		defer stop()
		if all, posted, err := f.Post(t.Context(), b, o); err != nil || len(all) != 3 {
			t.Errorf("%v, %+v: %v", all, posted, err)
		}
	})
	if what := <-lost; !strings.Contains(what, "board b: the turn is over: ") ||
		!strings.Contains(what, "waiting for another") {
		t.Errorf("told: %s", what)
	}
	if err := (&Board{Log: log, Name: "b", Program: o.Program}).Work(ctx, o); err != nil {
		t.Error(err)
	}
	working.Wait()
}

// reported collects the messages of a board.
type reported struct {
	mu  sync.Mutex
	all []string
}

func (t *reported) report(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, what)
}

func (t *reported) has(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.all, func(s string) bool { return strings.Contains(s, what) })
}

// A worker of another build refuses, and reports the reason, itself and to the sweep. An invalid job is dropped.
// Neither stops the sweep, which a worker of the right build runs.
func TestRefused(t *testing.T) {
	f, o, _ := files(t)
	f.Seeds.Count = 1
	log := stream.NewMemory(0)
	var said reported
	board := func(program string) *Board {
		return &Board{
			Log:     log,
			Name:    "b",
			Program: program,
			Version: "v-" + program,
			By:      "by " + program,
			Report:  said.report,
		}
	}
	for _, topic := range []string{topicJobs, topicResults} {
		for _, text := range []string{"", "{}", "[", `{"program": "p", "version": "v-p"}`, `{"by": "x"}`,
			`{"program": "p", "version": "v-p", "name": "../x"}`} {
			if _, err := log.Append(t.Context(), "b"+topic, "", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const gone = "0123456789abcdef01234567.json"
	old, err := json.Marshal(post{"p", "v-p", chunks{1, 1, "x"}, 0, gone})
	_, oldErr := log.Append(t.Context(), "b"+topicFiles, "", []byte("of a sweep that ended"))
	_, appendErr := log.Append(t.Context(), "b"+topicJobs, "", old)
	if err := errors.Join(err, oldErr, appendErr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var working sync.WaitGroup
	var posting sync.WaitGroup
	posting.Go(func() {
		all, posted, err := f.Post(t.Context(), board("p"), o)
		if err != nil || len(all) != 6 || posted.Workers["worker"] != 6 {
			t.Errorf("%d outcomes, %+v: %v", len(all), posted, err)
		}
	})
	err = board("q").Work(ctx, o) // before there is another worker
	if want := "this is v-q, program q; the sweep wants v-p, program p"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("another program: %v, want %s", err, want)
	}
	working.Go(func() {
		b := board("p")
		b.By = "worker"
		if err := b.Work(ctx, o); err != nil {
			t.Error(err)
		}
	})
	posting.Wait()
	stop()
	working.Wait()
	for _, want := range []string{
		"worker by q: takes no jobs: this is v-q", `no job: program: ""`, `no job: index 0, name "../x"`, "no result: EOF",
		`no result: job "", result of 0 bytes`,
	} {
		if !said.has(want) {
			t.Errorf("nobody said %s: %q", want, said.all)
		}
	}
}

// The first result of a job counts, and an invalid result is a failure of its job.
func TestFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("TestKilled has workers for the race detector")
	}
	for first, want := range map[string]string{"": "", " ": "want the form of a result's file"} {
		f, o, _ := files(t)
		f.Seeds.Count, f.Vary, f.Plots = 1, nil, nil
		all, err := f.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		job, err := f.nameOf(o, f.settings(f.job(0)), f.job(0))
		text, textErr := all[0].text()
		b := &Board{Log: stream.NewMemory(0), Name: "b", Program: o.Program}
		err = errors.Join(err, textErr, b.say(t.Context(), reply{Job: job, Result: string(text) + first}),
			b.say(t.Context(), reply{Job: job, Failed: "out of luck"}))
		if err != nil {
			t.Fatal(err)
		}
		o.Out += "-posted"
		got, _, err := f.Post(t.Context(), b, o)
		if want == "" && (err != nil || !reflect.DeepEqual(got, all)) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q behind it: %+v, %v: want %+v, or %s", first, got, err, all, want)
		}
	}
}

// A sweep with files that a worker on another host could not have is refused where it is posted. Invalid names of
// boards are refused too.
func TestPostRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "s1.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(f *File, b *Board)
		want   string
	}{
		{func(_ *File, b *Board) { b.Name = "A" }, `the board's name: "A": want 1 to 48`},
		{func(_ *File, b *Board) { b.Name = strings.Repeat("a", 49) }, "want 1 to 48"},
		{func(_ *File, b *Board) { b.Hold = -1 }, "the board's hold: -1ns: want 0 or more"},
		{func(f *File, _ *Board) { f.Set = []string{"description=" + outside} },
			fmt.Sprintf("names the file %q: want files in its folder", outside)},
		{func(f *File, _ *Board) { f.Set = []string{"description=../" + filepath.Base(f.dir) + "/pair.yaml"} },
			`/pair.yaml": want files in its folder`},
		{func(f *File, _ *Board) {
			f.Experiment, f.Vary, f.Plots, f.Set = "two-switches", nil, nil, []string{"description=file.go"}
		}, `experiment: "two-switches": a setting names the file "file.go": want that of an experiment which is a file`},
		{func(f *File, _ *Board) {
			if err := os.WriteFile(filepath.Join(f.dir, "large"), make([]byte, maxBundle), 0o644); err != nil {
				t.Fatal(err)
			}
			f.Set = []string{"description=large"}
		}, `up to "large", have 67109`},
	} {
		f, o, _ := files(t)
		if o.Out = filepath.Join(t.TempDir(), "out"); strings.Contains(c.want, "two-switches") {
			pair := filepath.Join(f.dir, "pair.yaml")
			o.Open = func(string, []string, bool) (*lab.Topology, error) { return lab.Load(pair, nil) }
		}
		b := &Board{Log: stream.NewMemory(0), Name: "b", Program: "p"}
		c.change(f, b)
		if all, _, err := f.Post(t.Context(), b, o); len(all) != 0 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: want %s", err, c.want)
		}
	}
}

// Any message in a topic is refused, or decoded completely.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(
		`{"program":"p","version":"v","bundle":{"first":1,"count":1,"sum":"x"},"index":3,` +
			`"name":"0123456789abcdef01234567.json"}`))
	f.Add([]byte(`{"by":"a/1","job":"0123456789abcdef01234567.json","failed":"x"}`))
	f.Add([]byte(`{"sweep":{"Experiment":"x","Seeds":{"First":1,"Count":1},"Results":[{"Name":"a","Measured":"b"}]}}`))
	f.Add([]byte(
		`{"sweep":{"Experiment":"./x","Seeds":{"First":1,"Count":1},"Results":[{"Name":"a","Measured":"b"}]},"path":"/a/x",` +
			`"files":{"y":"AA=="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePost(data, "p"); err == nil && p.Program == "p" && !isName(p.Name) {
			t.Errorf("%+v", p)
		}
		if r, err := parseReply(data); err == nil && (r.Job == "") == (r.Reported == "") {
			t.Errorf("%+v", r)
		}
		dir := t.TempDir()
		u, err := unpack(data, filepath.Join(dir, "in"))
		if err == nil && u.file.count() > maxJobs {
			t.Errorf("%d jobs", u.file.count())
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != "in" {
			t.Errorf("%v, %v", left, err)
		}
	})
}
