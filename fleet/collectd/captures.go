package collectd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tamtam/collector/capture"
	"tamtam/fleet/event"
	"tamtam/fleet/ingest"
)

// topicCaptures has a message for each start with captures, and one for each run that is completely in the log. Readers
// replay it: see captureRuns.
const topicCaptures = "captures"

// A captureRun is captures that are read together, as one source, by one process or, if that is killed, by several.
type captureRun struct {
	// Started is the time of the first start, in nanoseconds since 1970: the name of their source contains it.
	Started int64 `json:"started"`
	// Sums are the SHA-256 sums of the files, in the order in which they are read. In the message of a start they are
	// the sums of all files of that start.
	Sums []string `json:"sums"`
	// Options is a digest of all options on which the batches depend.
	Options string `json:"options,omitempty"`
	// Done is true if the whole run is in the log.
	Done bool `json:"done,omitempty"`

	paths []string // paths of the files
}

// captures returns the feeds of captures, which are read one after the other. Interrupted runs are first, and continue
// where they stopped. The last is one run of the captures that are in no run yet. All captures of a feed are read
// together, in order of time.
func (o *opener) captures(ctx context.Context, paths []string) (feeds []*feed, err error) {
	for _, path := range paths { // unreadable files are reported at once
		in, err := capture.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--pcap: %w", err)
		}
		in.Close()
	}
	runs, err := o.unread(ctx, paths)
	if err != nil {
		return nil, fmt.Errorf("--pcap: %w", err)
	}
	for i, run := range runs {
		f, err := o.captureFeed(run)
		if err != nil {
			return nil, err
		}
		f.ended = make(chan struct{})
		if i > 0 {
			f.after = feeds[i-1]
		}
		feeds = append(feeds, f)
	}
	return feeds, nil
}

func (o *opener) captureFeed(run *captureRun) (*feed, error) {
	f, t, err := o.tap("captures", false, time.Unix(0, run.Started))
	if err != nil {
		return nil, err
	}
	t.Ahead = event.MaxAhead
	f.read = func(ctx context.Context) error { return ingest.ReadCaptures(ctx, t, run.paths...) }
	f.done = func(ctx context.Context) error {
		_, err := o.note(ctx, &captureRun{Started: run.Started, Sums: run.Sums, Done: true})
		return err
	}
	return f, nil
}

func (o *opener) note(ctx context.Context, run *captureRun) (uint64, error) {
	data, err := json.Marshal(run)
	if err != nil {
		return 0, err
	}
	return o.ledger.Append(ctx, topicCaptures, "", data)
}

// unread records the given captures, and returns the runs to read. These are the interrupted runs whose files are all
// given, and one run of the captures that are in no run yet. A capture that is in the log is left out, since its rows
// would be doubled.
func (o *opener) unread(ctx context.Context, paths []string) (todo []*captureRun, err error) {
	start := &captureRun{Started: o.started.UnixNano(), Options: o.captureOptions()}
	given := map[string]string{} // paths by checksum
	for _, path := range paths {
		sum, err := sumOf(path)
		if err != nil {
			return nil, err
		}
		if given[sum] != "" {
			o.logger.Warn("two captures have the same bytes: the second is not read, which would double its rows",
				"pcap", path, "same", given[sum])
			continue
		}
		given[sum] = path
		start.Sums = append(start.Sums, sum)
	}
	mine, err := o.note(ctx, start)
	if err != nil {
		return nil, err
	}
	runs, err := o.captureRuns(ctx, mine)
	if err != nil {
		return nil, fmt.Errorf("which captures were read before: %w", err)
	}
	for _, run := range runs {
		for _, sum := range run.Sums {
			if path := given[sum]; path != "" {
				run.paths = append(run.paths, path)
			}
		}
		switch began := time.Unix(0, run.Started).UTC(); {
		case len(run.paths) == 0:
		case run.Done:
			o.logger.Warn("a capture was read into this log before: it is not read again, which would double its rows; "+
				"want another --log and --store for that", "pcap", run.paths, "began", began)
		case len(run.paths) < len(run.Sums) || run.Options != start.Options:
			o.logger.Warn("the reading of a capture was cut off, and goes on only with the same captures, --host, --name, "+
				"--records and program: it is not read; want these, or another --log and --store", "pcap", run.paths,
				"began", began, "captures", len(run.Sums))
		default:
			todo = append(todo, run)
		}
	}
	return todo, nil
}

// captureRuns returns the runs that follow from the messages up to the last one, in the order of their starts. A start
// begins a run with those of its captures that are in no earlier run.
func (o *opener) captureRuns(ctx context.Context, last uint64) (runs []*captureRun, err error) {
	for next := uint64(1); next <= last; {
		entries, err := o.ledger.Read(ctx, topicCaptures, next, 64)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if next = e.Seq + 1; e.Seq > last {
				break
			}
			x, err := readCaptureRun(e.Data)
			if err != nil {
				return nil, fmt.Errorf("message %d of topic %s: %w", e.Seq, topicCaptures, err)
			}
			if i := slices.IndexFunc(runs, x.same); i >= 0 && x.Done {
				runs[i].Done = true
				continue
			}
			x.Sums = slices.DeleteFunc(x.Sums, func(sum string) bool {
				return slices.ContainsFunc(runs, func(r *captureRun) bool { return slices.Contains(r.Sums, sum) })
			})
			if len(x.Sums) > 0 {
				runs = append(runs, x)
			}
		}
	}
	return runs, nil
}

// readCaptureRun decodes a message. Logs of older versions of tamtam, whose runs could not continue, contain the sum of
// one capture and its start time as text. Whether such a capture was read to its end is unknown, and it is not read
// again.
func readCaptureRun(data []byte) (*captureRun, error) {
	if sum, at, text := strings.Cut(string(data), " "); text && !strings.HasPrefix(sum, "{") {
		began, err := time.Parse(time.RFC3339, at)
		return &captureRun{Started: began.UnixNano(), Sums: []string{sum}, Done: true}, err
	}
	x := &captureRun{}
	return x, json.Unmarshal(data, x)
}

// same reports whether a message is about this run.
func (r *captureRun) same(o *captureRun) bool {
	return r.Started == o.Started && slices.Equal(r.Sums, o.Sums)
}

// captureOptions returns a digest of everything, besides the captures themselves, on which their batches depend.
func (o *opener) captureOptions() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %v %v %v", o.version, o.Host, o.Records, o.Names, o.partitions)
	return hex.EncodeToString(h.Sum(nil))
}

// sumOf returns the SHA-256 sum of a file as a name for its contents.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
