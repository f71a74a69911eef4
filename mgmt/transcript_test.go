package mgmt

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/internal/racetest"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
)

var rewrite = flag.Bool("update", false, "write the answers into the transcripts")

// TestTranscripts runs the requests in testdata/*.gnmi. Each request is followed by its answer: the data, or the code
// and the text of the error; a Set that succeeds has no answer. With -update the answers are written into the files.
//
//	# text                       explains
//	@new [FILE...]               a new server, whose databases have the rows of testdata/FILE.rows
//	@put DB KEY F=V...           a row is written; words with spaces are quoted as in Go
//	@remove DB KEY               a row is deleted
//	@row KEY                     a row of CONFIG_DB follows
//	@config                      all rows of CONFIG_DB follow, without the mark of the last Set
//	get [config|proto] PATH      a Get: of all data or of the configuration, as JSON_IETF or as protobuf values
//	delete PATH                  a Set of one operation
//	replace|update PATH VALUE
//	set OPERATION; OPERATION...  a Set of several operations
func TestTranscripts(t *testing.T) {
	racetest.Stepped(t)
	files, err := filepath.Glob("testdata/*.gnmi")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gnmi"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&transcript{t: t}).run(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// A transcript is a list of requests that is replayed.
type transcript struct {
	t   *testing.T
	bed *bed
	out strings.Builder
}

// requests holds the first words of request lines.
var requests = []string{"@new", "@put", "@remove", "@row", "@config", "get", "delete", "replace", "update", "set"}

// run executes the requests, and returns the transcript with the new answers. Former answers are omitted.
func (r *transcript) run(text string) string {
	explained := false // the line before is a comment
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "#":
			if !explained && r.out.Len() > 0 {
				r.out.WriteByte('\n')
			}
			r.out.WriteString(line + "\n")
		case slices.Contains(requests, word):
			r.out.WriteString(line + "\n")
			r.do(word, rest)
		}
		explained = word == "#"
	}
	return r.out.String()
}

// do executes a line, and writes the answer.
func (r *transcript) do(word, rest string) {
	switch word {
	case "@new":
		r.bed = newBed(r.t, nil)
		for _, name := range strings.Fields(rest) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".rows"))
			if err != nil {
				r.t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				r.put(words(line))
			}
		}
	case "@put":
		r.put(words(rest))
	case "@remove":
		db, key, _ := strings.Cut(rest, " ")
		if err := r.bed.redis.DB(swss.DBName(db)).Client().Del(r.bed.ctx, key).Err(); err != nil {
			r.t.Fatal(err)
		}
	case "@row":
		if row := r.bed.row(rest); row != "" {
			r.answer(row)
		}
	case "@config":
		r.answer(strings.TrimSuffix(r.bed.withoutMark(), "\n"))
	case "get":
		r.get(rest)
	case "set":
		r.set(strings.Split(rest, "; "))
	default:
		r.set([]string{word + " " + rest})
	}
}

func (r *transcript) answer(text string) {
	r.out.WriteString("  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
}

func (r *transcript) fail(err error) {
	r.answer(status.Code(err).String() + ": " + status.Convert(err).Message())
}

// put writes a row: database, key, fields.
func (r *transcript) put(words []string) {
	var args []any
	for _, w := range words[2:] {
		field, value, _ := strings.Cut(w, "=")
		args = append(args, field, value)
	}
	if err := r.bed.redis.DB(swss.DBName(words[0])).Client().HSet(r.bed.ctx, words[1], args...).Err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *transcript) get(text string) {
	req := &gpb.GetRequest{Encoding: gpb.Encoding_JSON_IETF}
	if rest, is := strings.CutPrefix(text, "config "); is {
		req.Type, text = gpb.GetRequest_CONFIG, rest
	}
	if rest, is := strings.CutPrefix(text, "proto "); is {
		req.Encoding, text = gpb.Encoding_PROTO, rest
	}
	req.Path = []*gpb.Path{path(text)}
	resp, err := r.bed.client.Get(r.bed.ctx, req)
	if err != nil {
		r.fail(err)
		return
	}
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			if req.Encoding == gpb.Encoding_PROTO {
				value := strings.ReplaceAll(strings.Join(strings.Fields(u.GetVal().String()), " "), ": ", ":")
				r.answer(tree.PathText(u.GetPath()) + " " + value)
				continue
			}
			raw := u.GetVal().GetJsonIetfVal()
			if len(raw) <= 100 {
				r.answer(string(raw))
				continue
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, raw, "", " "); err != nil {
				r.t.Fatal(err)
			}
			r.answer(pretty.String())
		}
	}
}

func (r *transcript) set(operations []string) {
	req := &gpb.SetRequest{}
	for _, text := range operations {
		word, rest, _ := strings.Cut(text, " ")
		p, value, _ := strings.Cut(rest, " ")
		switch word {
		case "delete":
			req.Delete = append(req.Delete, path(rest))
		case "replace":
			req.Replace = append(req.Replace, update(p, value))
		case "update":
			req.Update = append(req.Update, update(p, value))
		default:
			r.t.Fatalf("no operation: %s", text)
		}
	}
	resp, err := r.bed.client.Set(r.bed.ctx, req)
	if err != nil {
		r.fail(err)
		return
	}
	var done []string // the results: deletes, replaces and updates, in their order
	for _, result := range resp.GetResponse() {
		done = append(done, result.GetOp().String()+" "+tree.PathText(result.GetPath()))
	}
	if resp.GetTimestamp() <= 0 || !slices.Equal(done, resultsOf(req)) {
		r.t.Errorf("results %q at %d", done, resp.GetTimestamp())
	}
}

// resultsOf returns the results of a successful Set, in their order.
func resultsOf(req *gpb.SetRequest) (list []string) {
	for _, p := range req.Delete {
		list = append(list, "DELETE "+tree.PathText(p))
	}
	for _, u := range req.Replace {
		list = append(list, "REPLACE "+tree.PathText(u.GetPath()))
	}
	for _, u := range req.Update {
		list = append(list, "UPDATE "+tree.PathText(u.GetPath()))
	}
	return list
}

// words splits a line at spaces. A quoted word is read as a Go string.
func words(line string) (list []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		word, err := strconv.QuotedPrefix(line)
		if err != nil {
			word, _, _ = strings.Cut(line, " ")
		}
		line = line[len(word):]
		if text, err := strconv.Unquote(word); err == nil {
			word = text
		}
		list = append(list, word)
	}
	return list
}
