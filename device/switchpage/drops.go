package switchpage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tamtam/device/packettrace"
	"tamtam/mgmt"
	"tamtam/mgmt/web"

	"google.golang.org/grpc/status"
)

// listDrops is the operation that requests drops.
const listDrops = "list-drops"

// lastDrops is the number of drops that are shown individually.
const lastDrops = 20

// accountTTL is the time for which the account of drops is cached, since each request costs syncd time.
const accountTTL = 2 * time.Second

// accountWait is the default of Config.AccountWait.
const accountWait = 2 * time.Second

// A dropReader reads the drop account and caches it.
type dropReader struct {
	turn chan struct{} // semaphore of the one reader
	wait time.Duration
	at   time.Time
	last *web.DropAccount // nil means that nothing was read
}

// read returns the account, or an error text if the client may not request it.
func (d *dropReader) read(ctx context.Context, r *reader) *web.DropAccount {
	if err := mgmt.LooksOf(r.engine).MayDo(ctx, listDrops); err != nil {
		return &web.DropAccount{Error: status.Convert(err).Message()}
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return &web.DropAccount{Error: ctx.Err().Error()}
	}
	if now := r.now(); d.last == nil || now.Sub(d.at) >= accountTTL {
		account := &web.DropAccount{}
		wait, cancel := context.WithTimeout(ctx, d.wait)
		defer cancel()
		for _, by := range []string{"reason", "port", "rule"} {
			if err := requestDrops(wait, r, by, account); err != nil {
				account = &web.DropAccount{Error: status.Convert(err).Message()}
				break
			}
		}
		if ctx.Err() != nil {
			return account
		}
		d.last, d.at = account, r.now() // errors are cached too, otherwise each client would wait
	}
	return d.last
}

// requestDrops requests the drops from syncd by reason, port or rule, and adds them to the account.
func requestDrops(ctx context.Context, r *reader, by string, account *web.DropAccount) error {
	last := 0
	if by == "rule" {
		last = lastDrops
	}
	// The id is the same for each request, since a unique id would stay in STATE_DB for a minute.
	request := fmt.Sprintf(`{"by":%q,"last":%d,"id":"page-%s"}`, by, last, by)
	text, err := mgmt.LooksOf(r.engine).Look(ctx, listDrops, []byte(request))
	if err != nil {
		return err
	}
	var a struct {
		Answer packettrace.DropsAnswer `json:"answer"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("the answer of syncd cannot be read: %w", err)
	}
	rows := countsOf(a.Answer.Rows)
	switch by {
	case "reason":
		account.Reasons = rows
		return nil
	case "port":
		account.Ports = rows
		return nil
	}
	account.Rules = rows
	return fill(account, &a.Answer)
}

// fill copies the totals and the last drops of an answer.
func fill(account *web.DropAccount, a *packettrace.DropsAnswer) (err error) {
	account.Total, account.Kept, account.Forgotten = a.Total, a.Kept, a.Forgotten
	if account.Since, err = time.Parse(time.RFC3339Nano, a.Since); err != nil {
		return err
	}
	for i := range a.Last {
		e := &a.Last[i]
		d := web.DroppedPacket{In: e.In, Out: e.Out, Reason: e.Why, Text: e.Text, Rule: e.Rule, Flow: e.Flow, Bytes: e.Bytes,
			Unknown: e.Unknown}
		if d.Time, err = time.Parse(time.RFC3339Nano, e.Time); err != nil {
			return err
		}
		if e.Queue != nil {
			d.Queue = fmt.Sprint(*e.Queue)
			if e.Depth != nil {
				d.Queue += fmt.Sprintf(", behind %d bytes", *e.Depth)
			}
		}
		for _, l := range e.Lookups {
			d.Tables = append(d.Tables, lookup(l))
		}
		account.Last = append(account.Last, d)
	}
	return nil
}

// lookup returns a table lookup as text.
func lookup(l packettrace.Lookup) string {
	words := []string{l.Table, "miss"}
	if l.Hit {
		words[1] = "hit"
	}
	for _, w := range []string{l.At, l.Key, l.Entry} {
		if w != "" {
			words = append(words, w)
		}
	}
	if l.Does != "" {
		words = append(words, "→ "+l.Does)
	}
	return strings.Join(words, " ")
}

func countsOf(rows []packettrace.DropRow) (list []web.Count) {
	for _, r := range rows {
		c := web.Count{Name: r.Name, Packets: r.Count, Words: r.Text}
		var reasons []string
		for _, why := range sortedKeys(r.Reasons) {
			reasons = append(reasons, fmt.Sprintf("%s %d", why, r.Reasons[why]))
		}
		if len(reasons) > 0 {
			c.Words = strings.TrimSpace(c.Words + " " + strings.Join(reasons, ", "))
		}
		list = append(list, c)
	}
	return slices.Clip(list)
}
