package techsupport

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tamtam/device/doctor"
	"tamtam/swss"
)

// Limits of the packed content of one database.
const (
	mostScanned = 500_000
	mostKeys    = 20_000
	mostBytes   = 16 << 20
	mostValue   = 1 << 20 // maximum bytes of one key in Redis
	atOnce      = 200     // keys in one batch
)

// A word is arbitrary text. Text that is not UTF-8 is quoted as in Go, in an object of its own. So its secrets can be
// found, unlike in base64.
type word string

// MarshalJSON encodes UTF-8 text as a string, other text as {"quoted": "..."}.
func (w word) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(w)) {
		return json.Marshal(string(w))
	}
	return json.Marshal(map[string]string{"quoted": strconv.Quote(string(w))})
}

// A pair is a field of a hash.
type pair struct {
	Field word `json:"field"`
	Value word `json:"value"`
}

// A record is a key of a database.
type record struct {
	Key    word   `json:"key"`
	Type   string `json:"type"`
	Fields []pair `json:"fields,omitempty"` // of a hash
	Items  []word `json:"items,omitempty"`  // of a list or set; the value of a string
	Note   string `json:"note,omitempty"`   // why the value is missing
}

// redis adds the server's information and the databases.
func (c *collection) redis(ctx context.Context, r *swss.Redis, cfg doctor.Config) {
	short, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	if err := r.DB(swss.ConfigDB).Ping(short); err != nil {
		c.failed("redis and all databases", err)
		return
	}
	for _, item := range c.serverItems(r) {
		c.collect(ctx, item)
	}
	numbers := map[int]bool{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Redis.Databases)) {
		d := r.DB(name)
		where := cfg.Redis.Databases[name]
		if where.Instance == cfg.Redis.Databases[swss.ConfigDB].Instance {
			if numbers[d.ID()] {
				continue // FLEX_COUNTER_DB and PFC_WD_DB are one database
			}
			numbers[d.ID()] = true
		}
		c.collect(ctx, Item{"db/" + string(name) + ".json", func(ctx context.Context) ([]byte, string, error) {
			return c.database(ctx, d)
		}})
	}
}

func (c *collection) serverItems(r *swss.Redis) []Item {
	client := r.DB(swss.ConfigDB).Client()
	return []Item{
		{"redis/info.txt", func(ctx context.Context) ([]byte, string, error) {
			text, err := client.Info(ctx).Result()
			return []byte(text), "", err
		}},
		{"redis/config.txt", func(ctx context.Context) ([]byte, string, error) {
			conf, err := client.ConfigGet(ctx, "*").Result()
			var b strings.Builder
			for _, name := range slices.Sorted(maps.Keys(conf)) {
				value := conf[name]
				if secretField.MatchString(name) && value != "" {
					c.secrets.learn(value)
					value = hiddenText
				}
				fmt.Fprintf(&b, "%s %q\n", name, value)
			}
			return []byte(b.String()), "", err
		}},
		{"redis/slowlog.txt", func(ctx context.Context) ([]byte, string, error) {
			list, err := client.SlowLogGet(ctx, 128).Result()
			var b strings.Builder
			for _, l := range list {
				fmt.Fprintf(&b, "%s %v %s %q\n", l.Time.UTC().Format("2006-01-02T15:04:05Z"), l.Duration, l.ClientAddr, l.Args)
			}
			return []byte(b.String()), "", err
		}},
		{"redis/clients.txt", func(ctx context.Context) ([]byte, string, error) {
			text, err := client.ClientList(ctx).Result()
			return []byte(text), "", err
		}},
	}
}

// database dumps a database. If it has too many keys, it dumps the first by name.
func (c *collection) database(ctx context.Context, d *swss.DB) (text []byte, note string, err error) {
	keys, all, err := scan(ctx, d)
	if err != nil && strings.Contains(err.Error(), "DB index is out of range") {
		return nil, "", nil // there is no such database; the doctor reports whether it is needed
	}
	if err != nil || len(keys) == 0 {
		return nil, "", err
	}
	var notes []string
	if !all {
		notes = append(notes, fmt.Sprintf("has more than %d keys, of which some are here", mostScanned))
	}
	total := len(keys)
	keys = keys[:min(total, c.mostKeys)]
	var list []record
	bytes := 0
	for len(keys) > 0 && bytes < mostBytes && err == nil {
		var some []record
		n := min(len(keys), atOnce)
		some, err = read(ctx, d, keys[:n])
		for i := range some {
			bytes += c.redact(d, &some[i])
		}
		list, keys = append(list, some...), keys[n:]
	}
	if len(list) < total {
		notes = append(notes, fmt.Sprintf("%d of %d keys, the first by name", len(list), total))
	}
	return encode(list), strings.Join(notes, "; "), err
}

func scan(ctx context.Context, d *swss.DB) (keys []string, all bool, err error) {
	seen := map[string]bool{}
	for at := uint64(0); ; {
		some, next, err := d.Client().Scan(ctx, at, "*", 1000).Result()
		if err != nil {
			return nil, false, err
		}
		for _, key := range some {
			seen[key] = true // SCAN may return a key twice
		}
		if at = next; at == 0 || len(seen) >= mostScanned {
			return slices.Sorted(maps.Keys(seen)), at == 0, nil
		}
	}
}

// read reads some keys.
func read(ctx context.Context, d *swss.DB, keys []string) ([]record, error) {
	var list []record
	for _, key := range keys {
		rec := record{Key: word(key)}
		kind, err := d.Client().Type(ctx, key).Result()
		if err != nil {
			return list, err
		}
		rec.Type = kind
		// The embedded server does not report the size of a key.
		if size, err := d.Client().MemoryUsage(ctx, key, 0).Result(); err == nil && size > mostValue {
			rec.Note = fmt.Sprintf("left out: %d bytes", size)
		} else if err := value(ctx, d, &rec); err != nil {
			if ctx.Err() != nil {
				return list, err
			}
			rec.Note = err.Error() // the type of the key has changed meanwhile
		}
		list = append(list, rec)
	}
	return list, nil
}

// value reads the value of a key.
func value(ctx context.Context, d *swss.DB, rec *record) (err error) {
	key, client := string(rec.Key), d.Client()
	var items []string
	switch rec.Type {
	case "hash":
		var fields map[string]string
		fields, err = client.HGetAll(ctx, key).Result()
		for _, f := range slices.Sorted(maps.Keys(fields)) {
			rec.Fields = append(rec.Fields, pair{word(f), word(fields[f])})
		}
	case "string":
		items = make([]string, 1)
		items[0], err = client.Get(ctx, key).Result()
	case "list":
		items, err = client.LRange(ctx, key, 0, -1).Result()
	case "set":
		items, err = client.SMembers(ctx, key).Result()
		slices.Sort(items)
	case "zset":
		items, err = client.ZRange(ctx, key, 0, -1).Result()
	case "none":
		rec.Note = "has gone meanwhile"
	default:
		rec.Note = "values of this type are not packed"
	}
	for _, item := range items {
		rec.Items = append(rec.Items, word(item))
	}
	return err
}

// redact hides the secrets of a record, and returns its size in bytes.
func (c *collection) redact(d *swss.DB, rec *record) int {
	table, key, _ := strings.Cut(string(rec.Key), d.Separator())
	if hidden := c.secrets.keyOf(table, key); hidden != key {
		rec.Key = word(table + d.Separator() + hidden)
	}
	c.secrets.row(table, rec.Fields)
	n := len(rec.Key)
	for _, f := range rec.Fields {
		n += len(f.Field) + len(f.Value)
	}
	for _, item := range rec.Items {
		n += len(item)
	}
	return n
}
