package swss

import (
	"slices"
	"strconv"
	"strings"
)

// ownScripts maps the scripts that move rows and operations to their native versions. In Lua each needs more than 0.1
// ms, and a synchronous SAI call needs four. They need not be loaded in the embedded server. It is constant.
var ownScripts = map[string]Native{
	NewScript(stateSetText).digest:     stateSet,
	NewScript(stateSetManyText).digest: stateSetMany,
	NewScript(stateDelText).digest:     stateDel,
	NewScript(stateDelManyText).digest: stateDelMany,
	NewScript(statePopText).digest:     statePop,
	NewScript(queuePushText).digest:    queuePush,
	NewScript(queuePopText).digest:     queuePop,
}

// store sets fields of a hash, with as many commands as the scripts use.
func (r *ScriptRun) store(hash string, fields []string) {
	for part := range slices.Chunk(fields, 1000) {
		r.Do("HSET", append([]string{hash}, part...)...)
	}
}

func stateSet(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) < 3 || len(r.Args) < 2 {
		return "", false
	}
	added := r.Count("SADD", r.Keys[1], r.Args[1])
	r.store(r.Keys[2], r.Args[2:])
	return r.Announce(added), true
}

func stateSetMany(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) < 3 || len(r.Args) < 1 {
		return "", false
	}
	rows, ok := rowsOf(r.Args[1:], len(r.Keys)-3)
	if !ok {
		return "", false
	}
	added := 0
	for i, key := range r.Keys[3:] {
		added += r.Count("SADD", r.Keys[1], key)
		r.store(r.Keys[2]+key, rows[i])
	}
	return r.Announce(added), true
}

// rowsOf splits arguments into n rows. Each begins with the number of its fields, followed by fields and values.
func rowsOf(args []string, n int) (rows [][]string, ok bool) {
	rows = make([][]string, n)
	for i := range rows {
		if len(args) == 0 {
			return nil, false
		}
		fields, err := strconv.Atoi(args[0])
		if err != nil || fields < 0 || 2*fields > len(args)-1 {
			return nil, false
		}
		rows[i], args = args[1:1+2*fields], args[1+2*fields:]
	}
	return rows, true
}

func stateDel(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 4 || len(r.Args) < 2 {
		return "", false
	}
	added := r.Count("SADD", r.Keys[1], r.Args[1])
	r.Do("SADD", r.Keys[3], r.Args[1])
	r.Do("DEL", r.Keys[2])
	return r.Announce(added), true
}

func stateDelMany(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) < 4 || len(r.Args) < 1 {
		return "", false
	}
	added := 0
	for _, key := range r.Keys[4:] {
		added += r.Count("SADD", r.Keys[1], key)
		r.Do("SADD", r.Keys[3], key)
		r.Do("DEL", r.Keys[2]+key)
	}
	return r.Announce(added), true
}

func statePop(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 3 || len(r.Args) != 2 {
		return "", false
	}
	most, err := strconv.Atoi(r.Args[0])
	if err != nil || most < 0 {
		return "", false
	}
	popped := r.popSet(r.Keys[0], most)
	var out strings.Builder
	out.WriteString(rawNumber('*', len(popped)))
	for _, key := range popped {
		fields := r.finishRow(key)
		out.WriteString("*2\r\n")
		writeBulk(&out, key)
		out.WriteString(rawNumber('*', len(fields)))
		for _, f := range fields {
			writeBulk(&out, f)
		}
	}
	return out.String(), true
}

// popSet implements SPOP, which may choose any members. It removes the first members by name, in one step. miniredis
// would move all other members for each removed one.
func (r *ScriptRun) popSet(set string, most int) []string {
	members := r.list("SMEMBERS", set)
	members = members[:min(most, len(members))]
	if len(members) == 0 {
		return nil
	}
	c, db := r.ss.peer, r.ss.db
	r.s.run(c, "SREM", append([]string{set}, members...)...)
	r.s.emit(db, event{'s', "spop", set})
	if !r.s.exists(c, db, set) {
		r.s.emit(db, event{'g', "del", set})
	}
	return members
}

// finishRow makes a row final, and returns its fields and values.
func (r *ScriptRun) finishRow(key string) []string {
	final := r.Keys[1] + key
	temp := r.Args[1] + final
	old := true
	if r.Count("SREM", r.Keys[2], key) == 1 {
		r.Do("DEL", final)
		old = false
	}
	fields := r.list("HGETALL", temp)
	if len(fields) == 0 {
		return nil
	}
	r.store(final, fields)
	r.Do("DEL", temp)
	if old {
		fields = r.list("HGETALL", final)
	}
	return fields
}
