package swss

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Producer queues operations on a table in order (ASIC_DB, GETRESPONSE,
// FLEX_COUNTER_DB).
type Producer struct {
	db    *DB
	table string
}

// NewProducer returns a producer of the table's queue.
func NewProducer(db *DB, table string) *Producer { return &Producer{db: db, table: table} }

func queueList(table string) string { return table + "_KEY_VALUE_OP_QUEUE" }

// Set queues an operation with fields; on the wire op gets the letter S. An
// empty op is SET.
func (p *Producer) Set(ctx context.Context, key string, fields []Pair, op string) error {
	if op == "" {
		op = OpSet
	}
	flat := make([]string, 0, 2*len(fields))
	for _, f := range fields {
		flat = append(flat, f.Field, f.Value)
	}
	return p.push(ctx, key, encodeStrings(flat), "S"+op)
}

// Del queues an operation without fields; on the wire op gets the letter D. An
// empty op is DEL.
func (p *Producer) Del(ctx context.Context, key, op string) error {
	if op == "" {
		op = OpDel
	}
	return p.push(ctx, key, "{}", "D"+op)
}

func (p *Producer) push(ctx context.Context, key, fields, opcode string) error {
	keys := []string{queueList(p.table), p.db.channel(p.table)}
	_, err := p.db.Run(ctx, NewScript(queuePushText), keys, key, fields, opcode, payload)
	return p.db.wrap(err, opcode[1:], p.table, key)
}

// encodeStrings returns a JSON array as SONiC writes it: no blanks, and only
// what JSON demands is escaped.
func encodeStrings(list []string) string {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, s)
	}
	return string(append(b, ']'))
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func decodeStrings(text string) ([]string, error) {
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%.80q: want a JSON array of strings: %w", text, err)
	}
	return list, nil
}
