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

// A Board is where one sweep at a time posts its jobs for workers in any process, and where their results come back:
// four topics of a log. NAME-turn is held by the sweep whose turn it is; NAME-files has the experiment, NAME-jobs the
// jobs, which are shared out, and NAME-results what came of them.
//
// A job is done when its result is in the log. If its worker dies before, it is taken again; so it may run more than
// once, and the results are one by their name. What is left of a sweep that ended is of no use to the next: its files
// are gone from the log, and workers drop the jobs.
type Board struct {
	Log     stream.Log
	Name    string // of a-z, 0-9 and -
	Program string // which this process runs, as in [Options]
	Version string // of it, for people
	By      string // this process, for people
	// Hold is how often it is said that a job is worked on (0: DefaultHold): well within the log's hold time.
	Hold time.Duration
	// Tell, if not nil, is told what somebody should know. It may be called by several at once.
	Tell func(what string)
}

// DefaultHold is how often a Board says that something is held.
const DefaultHold = 10 * time.Second

// maxName leaves room for the topics' ends.
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

// The ends of a board's topics.
const (
	topicTurns   = "-turn"
	topicFiles   = "-files"
	topicJobs    = "-jobs"
	topicResults = "-results"
)

func (b *Board) tell(format string, args ...any) {
	if b.Tell != nil {
		b.Tell(fmt.Sprintf(format, args...))
	}
}

// hold says that work is held until ctx ends, or that is no longer so.
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

// closeWithin is how long a log may take to hear the last word of who ends.
const closeWithin = time.Second

// giveBack returns work, so that who comes next need not wait until the hold time is over.
func (b *Board) giveBack(ctx context.Context, w stream.Work) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := w.Return(last); err != nil && !errors.Is(err, stream.ErrLost) {
		b.tell("what was taken is not given back, and free when it has not been held for a while: %v", err)
	}
}

// A post is a job for whoever takes it.
type post struct {
	Program string `json:"program"`
	Version string `json:"version"`
	Bundle  chunks `json:"bundle"`
	Index   int    `json:"index"` // of the job in the sweep
	Name    string `json:"name"`  // of its result: of all that it depends on
}

// chunks are messages that together are a bundle.
type chunks struct {
	First uint64 `json:"first"`
	Count int    `json:"count"`
	Sum   string `json:"sum"`
}

// A reply is what came of a job, or another word of a worker.
type reply struct {
	By     string `json:"by"`
	Job    string `json:"job,omitempty"`    // the name of the result
	Result string `json:"result,omitempty"` // the text of its file
	Failed string `json:"failed,omitempty"` // or why there is none
	Told   string `json:"told,omitempty"`   // of no job: what somebody should know
}

// maxWhy is the length of a reason in a reply at most.
const maxWhy = 16 << 10

// strict reads a message, which has nothing else.
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

// parsePost reads a job. If it is of another program only that and the version are sure to be there.
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

// parseReply reads a reply, which says one thing.
func parseReply(data []byte) (*reply, error) {
	var r reply
	if err := strict(data, &r); err != nil {
		return nil, fmt.Errorf("no result: %w", err)
	}
	said := 0
	for _, s := range []string{r.Result, r.Failed, r.Told} {
		said += min(len(s), 1)
	}
	if said != 1 || (r.Job == "") != (r.Told != "") || r.Job != "" && !isName(r.Job) {
		return nil, fmt.Errorf("no result: job %.80q, result of %d bytes, failed %.80q, told %.80q: want a job "+
			"and its result or the reason of its failure; or a message", r.Job, len(r.Result), r.Failed, r.Told)
	}
	return &r, nil
}

// isName says whether this is what nameOf gives.
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
	_, err = b.Log.Append(ctx, b.Name+topicResults, "", data) // without an id: the same again is for another sweep
	return err
}
