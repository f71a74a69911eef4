package rights

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Reasons and alarms name rows. If a role may not read a row, texts that name the row are not shown to the role.

// hiddenText is shown instead of a text that names a row that the role may not read.
const hiddenText = "not shown: it names what the role may not read"

// textFields returns the fields of STATE_DB, and of rows made from it, that contain texts in which rows may be named.
func textFields() []string {
	return append(schema.UnappliedKinds(), schema.FieldReason, schema.AlarmText, "unapplied")
}

// A Censor hides texts from a role during one request.
type Censor struct {
	hidden map[string]bool // names of rows that the role may not read; nil until looked up
	long   []string        // names in hidden that consist of several words
	failed bool            // CONFIG_DB could not be read, so that all texts are hidden
}

// lookUp finds the rows that a role may not read. A name that also belongs to a readable row is not hidden.
func (c *Censor) lookUp(ctx context.Context, v *View, config *swss.DB) {
	if c.hidden != nil {
		return
	}
	c.hidden = map[string]bool{}
	keys, err := config.AllKeys(ctx)
	c.failed = err != nil
	seen := map[string]bool{}
	for _, name := range keys {
		table, key, ok := config.Split(name)
		if !ok {
			continue
		}
		into := c.hidden
		if v.MayReadRow(nil, swss.ConfigDB, table, key) {
			into = seen
		}
		for _, part := range namesIn(key) {
			into[part] = true
		}
	}
	for name := range c.hidden {
		if seen[name] {
			delete(c.hidden, name)
		} else if strings.ContainsFunc(name, betweenWords) {
			c.long = append(c.long, name)
		}
	}
}

// namesIn returns the names that a key of CONFIG_DB consists of, and the key in each form.
func namesIn(key string) []string {
	names := []string{key, strings.ReplaceAll(key, "|", ":")} // as in CONFIG_DB and in APPL_DB
	for _, part := range strings.FieldsFunc(key, func(r rune) bool { return r == '|' || r == ',' }) {
		if strings.Trim(part, "0123456789-") != "" { // a number by itself is not a name
			names = append(names, part)
		}
	}
	return names
}

// betweenWords reports whether a character separates the words of a text.
func betweenWords(r rune) bool { return strings.ContainsRune(" \t\n\x00,;()[]\"'|=", r) }

// text returns a text, or [hiddenText] if it names a hidden row. The parts of a list are separated by zero bytes.
func (c *Censor) text(text string) string {
	list := strings.Split(text, "\x00")
	for i, part := range list {
		if part != "" && c.hides(part) {
			list[i] = hiddenText
		}
	}
	return strings.Join(list, "\x00")
}

func (c *Censor) hides(text string) bool {
	names := func(word string) bool { return c.hidden[word] }
	for _, word := range strings.FieldsFunc(text, betweenWords) {
		word = strings.Trim(word, ".:?!")
		if names(word) || slices.ContainsFunc(strings.Split(word, ":"), names) {
			return true
		}
	}
	return c.failed || slices.ContainsFunc(c.long, func(name string) bool { return strings.Contains(text, name) })
}

// Fields returns a copy of a row with its texts as the role may be shown them.
func (c *Censor) Fields(ctx context.Context, v *View, r *swss.Redis, row map[string]string) map[string]string {
	shown := maps.Clone(row)
	for _, f := range textFields() {
		if row[f] != "" {
			c.lookUp(ctx, v, r.DB(swss.ConfigDB))
			shown[f] = c.text(row[f])
		}
	}
	return shown
}

// Names removes the fields of a hash whose names or values name a hidden row.
func (c *Censor) Names(ctx context.Context, v *View, r *swss.Redis, hash map[string]string) {
	c.lookUp(ctx, v, r.DB(swss.ConfigDB))
	maps.DeleteFunc(hash, func(field, value string) bool { return c.hides(field) || c.hides(value) })
}
