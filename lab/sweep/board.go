package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tamtam/fleet/stream"
)

// A Board is where one sweep at a time posts its jobs for workers in any process, and receives their results. It
// consists of four topics of a log. The sweep whose turn it is holds NAME-turn. NAME-files has the experiment,
// NAME-jobs the jobs, which workers share, and NAME-results the results.
//
// A job is done when its result is in the log. If its worker ends before that, another worker runs the job. So a job
// may run more than once, and its results are deduplicated by their name. The remains of a finished sweep do not affect
// the next one. Its files are deleted from the log, and workers drop its jobs.
type Board struct {
	Log     stream.Log
	Name    string // name of the board, of the characters a-z, 0-9 and -
	Program string // the program that this process runs, as in [Options]
	Version string // version of Program, for display
	By      string // name of this process, for display
	// Hold is the interval at which a held job is renewed. Zero means DefaultHold. It must be well within the log's
	// hold time.
	Hold time.Duration
	// Report, if not nil, receives messages for the user. Several goroutines may call it concurrently.
	Report func(what string)
}

// DefaultHold is the interval at which a Board renews its holds.
const DefaultHold = 10 * time.Second

// maxName limits names, so that the topics' suffixes fit.
const maxName = 48

func (b *Board) check() error {
	if len(b.Name) > maxName || stream.CheckTopic(b.Name) != nil {
		return fmt.Errorf("the board's name: %.80q: want 1 to %d of the characters a-z, 0-9 and -", b.Name, maxName)
	}
	if b.Hold < 0 {
		return fmt.Errorf("the board's hold: %v: want 0 or more", b.Hold)
	}
	return nil
}

// Suffixes of a board's topics.
const (
	topicTurns   = "-turn"
	topicFiles   = "-files"
	topicJobs    = "-jobs"
	topicResults = "-results"
)

func (b *Board) report(format string, args ...any) {
	if b.Report != nil {
		b.Report(fmt.Sprintf(format, args...))
	}
}

// hold renews work until ctx ends. It returns an error once the work is no longer held.
func (b *Board) hold(ctx context.Context, w stream.Work) error {
	tick := time.NewTicker(cmp.Or(b.Hold, DefaultHold))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := w.Hold(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// closeWithin is the maximum time for the last call to the log when a process ends.
const closeWithin = time.Second

// giveBack returns work, so that the next process need not wait until the hold time is over.
func (b *Board) giveBack(ctx context.Context, w stream.Work) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := w.Return(last); err != nil && !errors.Is(err, stream.ErrLost) {
		b.report("what was taken is not given back, and free when it has not been held for a while: %v", err)
	}
}

// A post is a job that any worker may take.
type post struct {
	Program string `json:"program"`
	Version string `json:"version"`
	Bundle  chunks `json:"bundle"`
	Index   int    `json:"index"` // index of the job in the sweep
	Name    string `json:"name"`  // name of its result: a hash of everything that it depends on
}

// chunks identify the messages that together form a bundle.
type chunks struct {
	First uint64 `json:"first"`
	Count int    `json:"count"`
	Sum   string `json:"sum"`
}

// A reply is the result of a job, or another message of a worker.
type reply struct {
	By       string `json:"by"`
	Job      string `json:"job,omitempty"`    // the name of the result
	Result   string `json:"result,omitempty"` // the text of its file
	Failed   string `json:"failed,omitempty"` // the reason why there is no result
	Reported string `json:"told,omitempty"`   // in a reply about no job: a message for the user
}

// maxWhy is the maximum length of a reason in a reply.
const maxWhy = 16 << 10

// strict decodes a message. Unknown fields and trailing data are errors.
func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// parsePost decodes a job. If it is from another program, only the program and the version are certain to be set.
func parsePost(data []byte, program string) (*post, error) {
	var of struct{ Program, Version string }
	if err := json.Unmarshal(data, &of); err != nil {
		return nil, fmt.Errorf("no job: %w", err)
	}
	if of.Program == "" {
		return nil, errors.New(`no job: program: "": want the sum of the program that posted it`)
	}
	if of.Program != program {
		return &post{Program: of.Program, Version: of.Version}, nil
	}
	var p post
	if err := strict(data, &p); err != nil {
		return nil, fmt.Errorf("no job: %w", err)
	}
	if c := p.Bundle; p.Index < 0 || p.Index >= maxJobs || c.First == 0 || c.Count < 1 || c.Count > maxChunks ||
		!isName(p.Name) {
		return nil, fmt.Errorf("no job: index %d, name %.80q, bundle of %d messages from %d: want an index below %d, the "+
			"name of a result, and 1 to %d messages", p.Index, p.Name, c.Count, c.First, maxJobs, maxChunks)
	}
	return &p, nil
}

// parseReply decodes a reply, which has exactly one content.
func parseReply(data []byte) (*reply, error) {
	var r reply
	if err := strict(data, &r); err != nil {
		return nil, fmt.Errorf("no result: %w", err)
	}
	said := 0
	for _, s := range []string{r.Result, r.Failed, r.Reported} {
		said += min(len(s), 1)
	}
	if said != 1 || (r.Job == "") != (r.Reported != "") || r.Job != "" && !isName(r.Job) {
		return nil, fmt.Errorf("no result: job %.80q, result of %d bytes, failed %.80q, told %.80q: want a job "+
			"and its result or the reason of its failure; or a message", r.Job, len(r.Result), r.Failed, r.Reported)
	}
	return &r, nil
}

// isName reports whether the name could be a result of nameOf.
func isName(name string) bool {
	digits, ok := strings.CutSuffix(name, resultEnd)
	return ok && len(digits) == 2*nameBytes && strings.Trim(digits, "0123456789abcdef") == ""
}

// say appends a reply.
func (b *Board) say(ctx context.Context, r reply) error {
	r.By = b.By
	if len(r.Failed) > maxWhy {
		r.Failed = strings.ToValidUTF8(r.Failed[:maxWhy], "") + " ... (cut)"
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(data) > stream.MaxData {
		return b.say(ctx, reply{Job: r.Job, Failed: fmt.Sprintf("its result takes %d bytes: want at most %d, so fewer "+
			"results, or checks that fail", len(data), stream.MaxData)})
	}
	// without an id, since the same reply may be needed for another sweep
	_, err = b.Log.Append(ctx, b.Name+topicResults, "", data)
	return err
}
