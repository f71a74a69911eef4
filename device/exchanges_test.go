package device_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// answersAgain rewrites the answers of the recordings with those of this syncd.
var answersAgain = flag.Bool("update-exchanges", false, "rewrite the answers of the recordings")

// The recordings are of runs of clients that are not ours, with syncd and chip as they are here; their README names
// the clients. Each request is made again, in order, and each answer compared. A difference is either a mistake, or a
// change of what the chip can do: then read the difference, and rewrite the answers with -update-exchanges. If the
// client would go on otherwise after it, the run must be recorded again.
func TestRecordedExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.gz")
	devicetest.NoError(t, err)
	if len(files) == 0 {
		t.Fatal("there is no recording")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			list, err := protocol.ParseExchanges(unzipped(t, file))
			devicetest.NoError(t, err)
			p := newReplay(t)
			for i := range list {
				p.exchange(&list[i])
			}
			if p.differences > 0 {
				t.Errorf("%d of %d answers differ", p.differences, len(list))
			}
			if *answersAgain {
				rewrite(t, file, list)
			}
		})
	}
}

func unzipped(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	devicetest.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	devicetest.NoError(t, err)
	text, err := io.ReadAll(z)
	devicetest.NoError(t, err)
	return string(text)
}

func rewrite(t *testing.T, file string, list []protocol.Exchange) {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	devicetest.NoError(t, err)
	for _, e := range list {
		_, err := io.WriteString(z, e.String())
		devicetest.NoError(t, err)
	}
	devicetest.NoError(t, z.Close())
	devicetest.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
}

// A replay makes recorded requests to a syncd. Ids that syncd or the client gave to objects differ from the recorded
// ones if the chip came with more or fewer objects, so they are translated.
type replay struct {
	*testing.T
	asic        *swss.DB
	requests    *swss.Queue
	answers     *swss.Inbox
	now         map[string]string // the present id of each recorded one
	recorded    map[string]string // the reverse
	differences int
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	r := swsstest.Start(t)
	var syncd *sairedis.Server
	chip, err := saisim.New(saisim.Config{
		Profile: profile.Default(), Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Notify: func(sai.Notification) {},
	})
	devicetest.NoError(t, err)
	syncd = daemons.NewSyncd(r, chip, daemons.Common{Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- syncd.Serve(ctx) }()
	asic := r.DB(swss.ASICDB)
	p := &replay{T: t, asic: asic, requests: swss.NewQueue(asic, protocol.ASICState),
		answers: swss.NewInbox(swss.NewQueue(asic, protocol.GetResponse)),
		now:     map[string]string{}, recorded: map[string]string{}}
	t.Cleanup(func() {
		cancel()
		devicetest.NoError(t, <-ended)
		p.answers.Close()
	})
	_, err = p.answers.Open(ctx)
	devicetest.NoError(t, err)
	return p
}

var objectID = regexp.MustCompile(`oid:0x[0-9a-f]+`)

// exchange makes one request and compares its answer with the recorded one, which it replaces.
func (p *replay) exchange(e *protocol.Exchange) {
	p.Helper()
	creates := strings.HasSuffix(e.Request.Op, protocol.OpCreate)
	key, body := p.present(e.Request.Key, creates), p.present(e.Request.Body, creates)
	request := swss.Entry{Op: e.Request.Op, Key: key, Body: body}
	ctx := context.Background()
	devicetest.NoError(p.T, p.requests.Push(ctx, request))
	if e.Answer == (swss.Entry{}) {
		return
	}
	for begin := time.Now(); ; {
		entries, err := p.answers.Wait(ctx, time.Second)
		devicetest.NoError(p.T, err)
		if len(entries) == 1 {
			p.compare(e, entries[0])
			return
		}
		if len(entries) > 1 || time.Since(begin) > time.Minute {
			p.Fatalf("%s: %d answers", e.Request, len(entries))
		}
	}
}

// present translates a request. Objects that it creates get new ids, as a client gives them.
func (p *replay) present(text string, creates bool) string {
	return objectID.ReplaceAllStringFunc(text, func(id string) string {
		vid, err := sai.ParseOID(id)
		devicetest.NoError(p.T, err)
		if p.now[id] == "" && creates && vid&(1<<39-1) != 0 {
			n, err := p.asic.Add(context.Background(), protocol.KeyVIDCounter, 1)
			devicetest.NoError(p.T, err)
			p.learn(id, (vid&^(1<<39-1) | sai.OID(n)).String())
		}
		if now := p.now[id]; now != "" {
			return now
		}
		return id
	})
}

func (p *replay) learn(recorded, now string) { p.now[recorded], p.recorded[now] = now, recorded }

// compare compares an answer with the recorded one. An id that is new in both is the same object from then on.
func (p *replay) compare(e *protocol.Exchange, got swss.Entry) {
	p.Helper()
	was, is := objectID.FindAllString(e.Answer.Body, -1), objectID.FindAllString(got.Body, -1)
	for i := range min(len(was), len(is)) {
		if p.now[was[i]] == "" && p.recorded[is[i]] == "" {
			p.learn(was[i], is[i])
		}
	}
	got.Body = objectID.ReplaceAllStringFunc(got.Body, func(id string) string {
		if was := p.recorded[id]; was != "" {
			return was
		}
		return id
	})
	if got == e.Answer {
		return
	}
	if p.differences++; p.differences <= 20 {
		p.Errorf("request %.300s\nanswer   %.600s\nrecorded %.600s", fmt.Sprint(e.Request), fmt.Sprint(got),
			fmt.Sprint(e.Answer))
	}
	e.Answer = got
}
