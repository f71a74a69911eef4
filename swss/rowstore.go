package swss

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"

	"tamtam/swss/glob"
)

// A rowStore stores the small hashes of the embedded server in packed form. In miniredis each is a separate map, which
// needs four times the memory. A key is stored either here or in miniredis. The frequent commands on rows run here.
// Before any other command that names a row, the row moves to miniredis, and stays there.
type rowStore struct {
	dbs    map[int]map[string]packed
	shapes map[string]*shape // shapes in use, by their joined field names
	// off means that everything stays in miniredis, because a client watches keys there.
	off  bool
	text []byte // buffer for packing
}

// A packed hash holds the values of its fields, in their order, each preceded by its length.
type packed struct {
	shape  *shape
	values string
	made   int // number of changes of the hash that made a new shape
}

// A shape is a sorted list of fields that many rows share.
type shape struct{ fields []string }

// Larger hashes are not packed, because each change packs the hash again. A hash that has made maxMade shapes is not
// packed either: it is no row but a map that grows, such as that of syncd's object ids. Once there are maxShapes
// shapes, hashes with other shapes are not packed.
const (
	maxPacked = 128
	maxMade   = 16
	maxShapes = 4096
)

func newRowStore() rowStore {
	return rowStore{dbs: map[int]map[string]packed{}, shapes: map[string]*shape{}}
}

// put packs a row, sorted by its fields. It returns false if the row is not suitable. Empty rows are removed.
func (x *rowStore) put(db int, key string, row []Pair) bool {
	if len(row) == 0 {
		delete(x.dbs[db], key)
		return true
	}
	was, shapes := x.dbs[db][key], len(x.shapes)
	if was.made == maxMade {
		return false
	}
	sh := x.shapeOf(row)
	if sh == nil {
		return false
	}
	x.text = x.text[:0]
	for _, p := range row {
		x.text = append(binary.AppendUvarint(x.text, uint64(len(p.Value))), p.Value...)
	}
	if x.dbs[db] == nil {
		x.dbs[db] = map[string]packed{}
	}
	next := packed{shape: sh, values: string(x.text), made: was.made}
	if was.shape == nil {
		key = strings.Clone(key)
	} else {
		next.made += len(x.shapes) - shapes
	}
	x.dbs[db][key] = next
	return true
}

// shapeOf returns the shape of a row, or nil if the row is not suitable for packing.
func (x *rowStore) shapeOf(row []Pair) *shape {
	x.text = x.text[:0]
	for _, p := range row {
		x.text = append(binary.AppendUvarint(x.text, uint64(len(p.Field))), p.Field...)
	}
	if sh := x.shapes[string(x.text)]; sh != nil {
		return sh
	}
	if len(row) > maxPacked || len(x.shapes) >= maxShapes {
		return nil
	}
	sh := &shape{}
	for _, p := range row {
		sh.fields = append(sh.fields, strings.Clone(p.Field))
	}
	x.shapes[string(x.text)] = sh
	return sh
}

// row unpacks a row, with capacity for more fields.
func (p packed) row(more int) []Pair {
	if p.shape == nil {
		return make([]Pair, 0, more)
	}
	out := make([]Pair, 0, len(p.shape.fields)+more)
	rest := p.values
	for _, f := range p.shape.fields {
		n, size := uvarint(rest)
		out = append(out, Pair{f, rest[size : size+n]})
		rest = rest[size+n:]
	}
	return out
}

// get returns the value of a field.
func (p packed) get(field string) (value string, ok bool) {
	i, ok := slices.BinarySearch(p.shape.fields, field)
	if !ok {
		return "", false
	}
	for rest := p.values; ; i-- {
		n, size := uvarint(rest)
		if i == 0 {
			return rest[size : size+n], true
		}
		rest = rest[size+n:]
	}
}

// uvarint decodes the length of a value, and returns the number of bytes of the encoding.
func uvarint(s string) (n, size int) {
	for shift := 0; ; shift += 7 {
		b := s[size]
		size++
		if n |= int(b&0x7f) << shift; b < 0x80 {
			return n, size
		}
	}
}

// inRow returns the index of a field in a sorted row, or the index where it belongs.
func inRow(row []Pair, field string) (at int, found bool) {
	return slices.BinarySearchFunc(row, field, func(p Pair, f string) int { return strings.Compare(p.Field, f) })
}

// do runs a command on the row store or in miniredis, and returns the raw reply. The caller holds mu.
func (s *server) do(c *mini.Peer, db int, cmd string, args []string) string {
	if reply, ok := s.runPacked(c, db, cmd, args); ok {
		return reply
	}
	s.unpack(c, db, cmd, args)
	return s.run(c, cmd, args...)
}

// runPacked runs a command on the row store. ok is false if the command must run in miniredis.
func (s *server) runPacked(c *mini.Peer, db int, cmd string, args []string) (reply string, ok bool) {
	if s.packed.off {
		return "", false
	}
	rows := s.packed.dbs[db]
	switch {
	case cmd == "DBSIZE" && len(args) == 0:
		return rawNumber(':', number(s.run(c, cmd))+len(rows)), true
	case len(args) == 0:
		return "", false
	}
	switch cmd {
	case "DEL", "UNLINK", "EXISTS":
		return s.countPacked(c, db, cmd, args)
	case "KEYS":
		if len(args) == 1 {
			return s.keys(c, db, args[0]), true
		}
		return "", false
	}
	row, here := rows[args[0]]
	switch {
	case (cmd == "HSET" || cmd == "HMSET") && len(args) > 2 && len(args)%2 == 1:
		if !here && s.exists(c, db, args[0]) {
			return "", false
		}
		return s.setPacked(db, cmd, args)
	case !here:
		return "", false
	case cmd == "HDEL" && len(args) > 1:
		return s.cutPacked(db, row, args)
	}
	return row.read(c, cmd, args)
}

// read runs a command that reads fields of the row. ok is false for other commands.
func (row packed) read(c *mini.Peer, cmd string, args []string) (reply string, ok bool) {
	switch {
	case cmd == "HGET" && len(args) == 2:
		var out strings.Builder
		row.rawGet(&out, c, args[1])
		return out.String(), true
	case cmd == "HMGET" && len(args) > 1:
		var out strings.Builder
		out.WriteString(rawNumber('*', len(args)-1))
		for _, f := range args[1:] {
			row.rawGet(&out, c, f)
		}
		return out.String(), true
	case cmd == "HGETALL" && len(args) == 1:
		return row.raw(c), true
	}
	return "", false
}

// countPacked runs a command whose reply is a number of keys. Except for EXISTS, it also removes the keys.
func (s *server) countPacked(c *mini.Peer, db int, cmd string, keys []string) (string, bool) {
	if len(keys) > 1 {
		n := 0
		for _, key := range keys {
			n += number(s.do(c, db, cmd, []string{key}))
		}
		return rawNumber(':', n), true
	}
	rows := s.packed.dbs[db]
	if _, here := rows[keys[0]]; !here {
		return "", false
	}
	if cmd != "EXISTS" {
		delete(rows, keys[0])
	}
	return rawNumber(':', 1), true
}

func (s *server) setPacked(db int, cmd string, args []string) (reply string, ok bool) {
	row := s.packed.dbs[db][args[0]].row(len(args) / 2)
	before := len(row)
	for i := 1; i < len(args); i += 2 {
		at, found := inRow(row, args[i])
		if !found {
			row = slices.Insert(row, at, Pair{Field: args[i]})
		}
		row[at].Value = args[i+1]
	}
	if !s.packed.put(db, args[0], row) {
		return "", false
	}
	if cmd == "HMSET" {
		return "+OK\r\n", true
	}
	return rawNumber(':', len(row)-before), true
}

func (s *server) cutPacked(db int, was packed, args []string) (reply string, ok bool) {
	row := was.row(0)
	before := len(row)
	for _, f := range args[1:] {
		if at, found := inRow(row, f); found {
			row = slices.Delete(row, at, at+1)
		}
	}
	if len(row) < before && !s.packed.put(db, args[0], row) {
		return "", false
	}
	return rawNumber(':', before-len(row)), true
}

// keys lists the keys of both stores. For each pattern miniredis would compile a regular expression.
func (s *server) keys(c *mini.Peer, db int, pattern string) string {
	var others []string
	if s.depth == 0 {
		others = s.data.DB(db).Keys()
	} else { // miniredis is locked
		for _, name := range texts(s.run(c, "KEYS", "*")) {
			others = append(others, *name)
		}
	}
	prefix, plain := glob.Prefix(pattern)
	names := []string{}
	add := func(key string) {
		if strings.HasPrefix(key, prefix) && (plain || glob.Match(pattern, key)) {
			names = append(names, key)
		}
	}
	for _, key := range others {
		add(key)
	}
	for key := range s.packed.dbs[db] {
		add(key)
	}
	slices.Sort(names)
	var out strings.Builder
	out.WriteString(rawNumber('*', len(names)))
	for _, name := range names {
		writeBulk(&out, name)
	}
	return out.String()
}

// rawGet writes a field as a reply.
func (p packed) rawGet(out *strings.Builder, c *mini.Peer, field string) {
	value, ok := p.get(field)
	if ok {
		writeBulk(out, value)
	} else {
		out.WriteString(rawNull(c))
	}
}

func rawNull(c *mini.Peer) string {
	if c.Resp3 {
		return "_\r\n"
	}
	return "$-1\r\n"
}

// raw returns the row as a reply.
func (p packed) raw(c *mini.Peer) string {
	row := p.row(0)
	var out strings.Builder
	if c.Resp3 {
		out.WriteString(rawNumber('%', len(row)))
	} else {
		out.WriteString(rawNumber('*', 2*len(row)))
	}
	for _, f := range row {
		writeBulk(&out, f.Field)
		writeBulk(&out, f.Value)
	}
	return out.String()
}

func writeBulk(out *strings.Builder, text string) {
	var head [24]byte
	out.Write(append(strconv.AppendInt(append(head[:0], '$'), int64(len(text)), 10), '\r', '\n'))
	out.WriteString(text)
	out.WriteString("\r\n")
}

// rawNumber returns an encoded reply of the given kind that consists of a number, or the head of a longer reply.
func rawNumber(kind byte, n int) string {
	var text [24]byte
	return string(append(strconv.AppendInt(append(text[:0], kind), int64(n), 10), '\r', '\n'))
}

// unpack moves rows to miniredis before a command runs there: all rows that the command may name or count.
func (s *server) unpack(c *mini.Peer, db int, cmd string, args []string) {
	x := &s.packed
	switch cmd {
	case "WATCH":
		s.unpackAll(c, db)
		x.off = true
	case "KEYS", "SCAN", "DBSIZE", "RANDOMKEY", "FLUSHDB", "FLUSHALL", "SWAPDB", "MOVE", "COPY":
		s.unpackAll(c, db)
	}
	for _, key := range args {
		s.unpackKey(c, db, key)
	}
}

// unpackKey moves a row to miniredis. db is the database that c has selected.
func (s *server) unpackKey(c *mini.Peer, db int, key string) {
	if row, here := s.packed.dbs[db][key]; here {
		delete(s.packed.dbs[db], key)
		args := []string{key}
		for _, p := range row.row(0) {
			args = append(args, p.Field, p.Value)
		}
		s.run(c, "HSET", args...)
	}
}

// unpackAll moves all rows to miniredis.
func (s *server) unpackAll(c *mini.Peer, db int) {
	for n, rows := range s.packed.dbs {
		if len(rows) == 0 {
			continue
		}
		s.run(c, "SELECT", fmt.Sprint(n))
		for key := range rows {
			s.unpackKey(c, n, key)
		}
		s.run(c, "SELECT", fmt.Sprint(db))
	}
}
