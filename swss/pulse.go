package swss

import (
	"context"
	_ "embed" // the script
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed scripts/pulse.lua
var pulseText string

// A Pulse is the state of the servers, and of some databases, at one instant. Daemons check it once per second, so it
// takes one round trip per server.
type Pulse struct {
	// Run is the id of the server process of CONFIG_DB. It is empty if the server does not report one. For example, the
	// embedded server does not, since it cannot be restarted.
	Run string
	// Emptied holds the counts of the commands that empty databases, as text. It is empty if a server does not report
	// them, or has received no such command.
	Emptied string
	DBs     map[DBName]Census
}

// A Census is the state of a database, without its rows.
type Census struct {
	Rows  int64             // number of keys except the marks and [KeyInitialized]
	Marks map[string]string // process of each daemon, see [KeyMark]; nil if another client changed the key's type
}

// Pulse returns the state of databases. It fails with [ErrUnavailable] if one of their servers, or that of CONFIG_DB,
// does not answer.
func (r *Redis) Pulse(ctx context.Context, dbs ...DBName) (*Pulse, error) {
	on := map[string][]*DB{} // databases by server
	for _, name := range append([]DBName{ConfigDB}, dbs...) {
		server := r.cfg.Databases[name].Instance
		if d := r.DB(name); !slices.Contains(on[server], d) {
			on[server] = append(on[server], d)
		}
	}
	p := &Pulse{DBs: make(map[DBName]Census, len(dbs)+1)}
	for _, list := range on {
		if err := p.read(ctx, list); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// read adds the state of a server and of databases there.
func (p *Pulse) read(ctx context.Context, list []*DB) error {
	ids := make([]any, len(list))
	for i, d := range list {
		ids[i] = strconv.Itoa(d.id)
	}
	d := list[0]
	res, err := d.Run(ctx, NewScript(pulseText).Natively(pulseNatively), nil, ids...)
	if err != nil {
		return d.wrap(err, "pulse")
	}
	words, _ := res.([]any)
	if len(words) != 2+2*len(list) {
		return d.wrap(fmt.Errorf("the script returned %d values, want %d", len(words), 2+2*len(list)), "pulse")
	}
	run, _ := words[0].(string)
	emptied, _ := words[1].(string)
	if d.name == ConfigDB {
		p.Run = run
	}
	p.Emptied = strings.TrimSpace(p.Emptied + " " + emptied)
	for i, d := range list {
		c := Census{}
		c.Rows, _ = words[2+2*i].(int64)
		if marks, ok := words[3+2*i].([]any); ok {
			c.Marks = make(map[string]string, len(marks)/2)
			for j := 0; j+1 < len(marks); j += 2 {
				name, _ := marks[j].(string)
				c.Marks[name], _ = marks[j+1].(string)
			}
		} else {
			d.redis.misuses.add(d.name, KeyMark)
		}
		p.DBs[d.name] = c
	}
	return nil
}

// pulseNatively implements pulse.lua.
func pulseNatively(r *ScriptRun) (reply string, ok bool) {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n$0\r\n\r\n$0\r\n\r\n", 2+2*len(r.Args))
	for _, arg := range r.Args {
		id, err := strconv.Atoi(arg)
		if err != nil || id < 0 || id >= databasesInRedis {
			return "", false
		}
		r.s.run(r.ss.peer, "SELECT", arg)
		rows := number(r.s.do(r.ss.peer, id, "DBSIZE", nil))
		for _, key := range []string{KeyMark, KeyInitialized} {
			rows -= number(r.s.do(r.ss.peer, id, "EXISTS", []string{key}))
		}
		out.WriteString(rawNumber(':', rows))
		marks := r.s.do(r.ss.peer, id, "HGETALL", []string{KeyMark})
		if failed(marks) {
			marks = "$5\r\nERROR\r\n"
		}
		out.WriteString(marks)
	}
	r.s.run(r.ss.peer, "SELECT", strconv.Itoa(r.ss.db))
	return out.String(), true
}
