package swss

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// A shelf has the small hashes of the embedded server, packed: in miniredis each is a map of its own, which
// takes four times the room. A key is either here or in miniredis. What is done to rows all the time is done here;
// before any other command that names a row, the row goes to miniredis, and stays there.
type shelf struct {
	dbs    map[int]map[string]packed
	shapes map[string]*shape // by their fields
	// off: everything is in miniredis for good, because somebody watches keys there.
	off bool
	// asis: what is in miniredis stays there, because fields may have times to live.
	asis bool
	// paused: a transaction runs in miniredis, which must find there what was made before.
	paused bool
}

// A packed hash is the values of its fields, in their order, each behind its length.
type packed struct {
	shape  *shape
	values string
}

// A shape is the fields that many rows have, sorted.
type shape struct{ fields []string }

// Larger hashes are not packed, for each change of one packs it again; nor those of ever new shapes.
const (
	maxPacked = 32
	maxShapes = 4096
)

func newShelf() shelf { return shelf{dbs: map[int]map[string]packed{}, shapes: map[string]*shape{}} }

// put packs a row, and reports false if it is not to be packed. Empty rows are removed.
func (x *shelf) put(db int, key string, row map[string]string) bool {
	if len(row) == 0 {
		delete(x.dbs[db], key)
		return true
	}
	fields := slices.Sorted(maps.Keys(row))
	name, room := strings.Join(fields, "\x00"), 0
	sh := x.shapes[name]
	if sh == nil {
		if len(row) > maxPacked || len(x.shapes) >= maxShapes {
			return false
		}
		for i, f := range fields {
			if strings.ContainsRune(f, 0) {
				return false
			}
			fields[i] = strings.Clone(f)
		}
		sh = &shape{fields}
		x.shapes[name] = sh
	}
	for _, f := range fields {
		room += len(row[f]) + 2
	}
	values := make([]byte, 0, room)
	for _, f := range fields {
		values = append(binary.AppendUvarint(values, uint64(len(row[f]))), row[f]...)
	}
	if x.dbs[db] == nil {
		x.dbs[db] = map[string]packed{}
	}
	if _, known := x.dbs[db][key]; !known {
		key = strings.Clone(key)
	}
	x.dbs[db][key] = packed{sh, string(values)}
	return true
}

// list returns fields and values in turn.
func (p packed) list() []string {
	out := make([]string, 0, 2*len(p.shape.fields))
	rest := p.values
	for _, f := range p.shape.fields {
		n, size := uvarint(rest)
		out = append(out, f, rest[size:size+n])
		rest = rest[size+n:]
	}
	return out
}

// uvarint reads the length of a value, and how many bytes that takes.
func uvarint(s string) (n, size int) {
	for shift := 0; ; shift += 7 {
		b := s[size]
		size++
		if n |= int(b&0x7f) << shift; b < 0x80 {
			return n, size
		}
	}
}

func (p packed) row() map[string]string {
	row := make(map[string]string, len(p.shape.fields))
	list := p.list()
	for i := 0; i < len(list); i += 2 {
		row[list[i]] = list[i+1]
	}
	return row
}

// do runs a command on the shelf or in miniredis, and returns the raw reply. The caller holds mu.
func (s *server) do(c *mini.Peer, db int, cmd string, args []string) string {
	if reply, ok := s.shelved(c, db, cmd, args); ok {
		return reply
	}
	s.unshelve(c, db, cmd, args)
	return s.run(c, cmd, args...)
}

// shelved runs a command on the shelf, if it is one for that.
func (s *server) shelved(c *mini.Peer, db int, cmd string, args []string) (reply string, ok bool) {
	if s.shelf.off || s.shelf.paused {
		return "", false
	}
	rows := s.shelf.dbs[db]
	switch {
	case cmd == "DBSIZE" && len(args) == 0:
		o := outcome{reply: s.run(c, cmd)}
		return fmt.Sprintf(":%d\r\n", o.number()+len(rows)), true
	case len(args) == 0:
		return "", false
	}
	switch cmd {
	case "DEL", "UNLINK", "EXISTS":
		return s.countShelved(c, rows, cmd, args)
	case "KEYS":
		if len(rows) > 0 && len(args) == 1 {
			return s.keys(c, rows, args[0]), true
		}
		return "", false
	}
	row, here := rows[args[0]]
	switch {
	case (cmd == "HSET" || cmd == "HMSET") && len(args) > 2 && len(args)%2 == 1:
		if !here && s.run(c, "EXISTS", args[0]) != ":0\r\n" {
			return "", false
		}
		return s.setShelved(db, cmd, args)
	case !here:
		return "", false
	case cmd == "HDEL" && len(args) > 1:
		return s.cutShelved(db, row, args)
	case cmd == "HGET" && len(args) == 2:
		return row.get(c, args[1]), true
	case cmd == "HMGET" && len(args) > 1:
		var out strings.Builder
		fmt.Fprintf(&out, "*%d\r\n", len(args)-1)
		for _, f := range args[1:] {
			out.WriteString(row.get(c, f))
		}
		return out.String(), true
	case cmd == "HGETALL" && len(args) == 1:
		return rawMap(c, row.list()), true
	}
	return "", false
}

// countShelved is for commands that count keys, each for itself.
func (s *server) countShelved(c *mini.Peer, rows map[string]packed, cmd string, args []string) (string, bool) {
	n := 0
	var others []string
	for _, key := range args {
		if _, here := rows[key]; !here {
			others = append(others, key)
			continue
		}
		if n++; cmd != "EXISTS" {
			delete(rows, key)
		}
	}
	if n == 0 {
		return "", false
	}
	if len(others) > 0 {
		o := outcome{reply: s.run(c, cmd, others...)}
		n += o.number()
	}
	return fmt.Sprintf(":%d\r\n", n), true
}

func (s *server) setShelved(db int, cmd string, args []string) (reply string, ok bool) {
	row := map[string]string{}
	if was, here := s.shelf.dbs[db][args[0]]; here {
		row = was.row()
	}
	before := len(row)
	for i := 1; i < len(args); i += 2 {
		row[args[i]] = args[i+1]
	}
	if !s.shelf.put(db, args[0], row) {
		return "", false
	}
	if cmd == "HMSET" {
		return "+OK\r\n", true
	}
	return fmt.Sprintf(":%d\r\n", len(row)-before), true
}

func (s *server) cutShelved(db int, was packed, args []string) (reply string, ok bool) {
	row := was.row()
	before := len(row)
	for _, f := range args[1:] {
		delete(row, f)
	}
	if len(row) < before && !s.shelf.put(db, args[0], row) {
		return "", false
	}
	return fmt.Sprintf(":%d\r\n", before-len(row)), true
}

// keys lists those of both places.
func (s *server) keys(c *mini.Peer, rows map[string]packed, pattern string) string {
	raw, err := splitArray(s.run(c, "KEYS", pattern))
	if err != nil {
		return "-ERR " + err.Error() + "\r\n"
	}
	names := make([]string, 0, len(raw)+len(rows))
	for _, r := range raw {
		names = append(names, bulkText(r))
	}
	for key := range rows {
		if globMatch(pattern, key) {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(names))
	for _, name := range names {
		writeBulk(&out, name)
	}
	return out.String()
}

func (p packed) get(c *mini.Peer, field string) string {
	i, ok := slices.BinarySearch(p.shape.fields, field)
	switch {
	case !ok && c.Resp3:
		return "_\r\n"
	case !ok:
		return "$-1\r\n"
	}
	var out strings.Builder
	writeBulk(&out, p.list()[2*i+1])
	return out.String()
}

func rawMap(c *mini.Peer, list []string) string {
	var out strings.Builder
	if c.Resp3 {
		fmt.Fprintf(&out, "%%%d\r\n", len(list)/2)
	} else {
		fmt.Fprintf(&out, "*%d\r\n", len(list))
	}
	for _, text := range list {
		writeBulk(&out, text)
	}
	return out.String()
}

func writeBulk(out *strings.Builder, text string) { fmt.Fprintf(out, "$%d\r\n%s\r\n", len(text), text) }

// unshelve moves to miniredis what a command that runs there may name or count.
func (s *server) unshelve(c *mini.Peer, db int, cmd string, args []string) {
	x := &s.shelf
	switch cmd {
	case "WATCH":
		s.unshelveAll(c, db)
		x.off = true
	case "KEYS", "SCAN", "DBSIZE", "RANDOMKEY", "FLUSHDB", "FLUSHALL", "SWAPDB", "MOVE", "COPY":
		s.unshelveAll(c, db)
	case "HEXPIRE", "HSETEX":
		x.asis = true
	}
	for _, key := range args {
		s.unshelveKey(c, db, key)
	}
}

// unshelveKey moves a row to miniredis. The database is the one that c has selected.
func (s *server) unshelveKey(c *mini.Peer, db int, key string) {
	if row, here := s.shelf.dbs[db][key]; here {
		delete(s.shelf.dbs[db], key)
		s.run(c, "HSET", append([]string{key}, row.list()...)...)
	}
}

// unshelveAll moves everything to miniredis.
func (s *server) unshelveAll(c *mini.Peer, db int) {
	for n, rows := range s.shelf.dbs {
		if len(rows) == 0 {
			continue
		}
		s.run(c, "SELECT", fmt.Sprint(n))
		for key := range rows {
			s.unshelveKey(c, n, key)
		}
		s.run(c, "SELECT", fmt.Sprint(db))
	}
}

// beforeTx moves to miniredis what the commands of a transaction name, and what its scripts do not name
// when they ask.
func (s *server) beforeTx(db int, tx []queued) {
	own := &s.own
	s.run(own, "SELECT", fmt.Sprint(db))
	for _, q := range tx {
		if q.cmd == "SELECT" {
			s.unshelveAll(own, db)
			break
		}
		s.unshelve(own, db, q.cmd, q.args)
	}
	s.shelf.paused = true
}

// afterTx shelves the rows that a transaction has set.
func (s *server) afterTx(c *mini.Peer, db int, tx []queued) {
	s.shelf.paused = false
	if s.shelf.off || s.shelf.asis || slices.ContainsFunc(tx, func(q queued) bool { return q.cmd == "SELECT" }) {
		return
	}
	for _, q := range tx {
		if q.cmd != "HSET" && q.cmd != "HMSET" || len(q.args) == 0 {
			continue
		}
		key := q.args[0]
		var n outcome
		if n.reply = s.run(c, "HLEN", key); n.number() == 0 || n.number() > maxPacked {
			continue
		}
		if s.run(c, "TTL", key) != ":-1\r\n" {
			continue
		}
		list := rawList(s.run(c, "HGETALL", key))
		row := map[string]string{}
		for i := 0; i+1 < len(list); i += 2 {
			row[bulkText(list[i])] = bulkText(list[i+1])
		}
		if len(row) > 0 && s.shelf.put(db, key, row) {
			s.run(c, "DEL", key)
		}
	}
}
