package swss

import "strconv"

func queuePush(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 2 || len(r.Args) != 4 {
		return "", false
	}
	if r.Do("LPUSH", r.Keys[0], r.Args[0], r.Args[1], r.Args[2]); r.failed != "" {
		return "", true
	}
	return rawNumber(':', r.s.pubsub.publish(r.Keys[1], r.Args[3])), true
}

// queuePop dequeues operations. If one of them must be applied to hashes, it returns false, and the script runs in Lua.
func queuePop(r *ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 2 || len(r.Args) != 2 {
		return "", false
	}
	n, err := strconv.Atoi(r.Args[0])
	if err != nil {
		return "", false
	}
	list := r.s.do(r.ss.peer, r.ss.db, "LRANGE", []string{r.Keys[0], strconv.Itoa(-3 * n), "-1"})
	if failed(list) {
		return "", false
	}
	words := texts(list)
	for i := len(words) - 1; r.Args[1] == "1" && i >= 2; i -= 3 {
		if op := words[i-2]; op != nil && followed(*op) {
			return "", false
		}
	}
	r.Do("LTRIM", r.Keys[0], "0", strconv.Itoa(-3*n-1))
	return list, true
}

// followed reports whether dequeuing this operation, with its letter, changes hashes if the caller requests that.
func followed(opcode string) bool {
	if opcode == "" {
		return false
	}
	switch opcode[1:] {
	case "set", "SET", "create", "remove", "DEL", "bulkcreate", "bulkset", "bulkremove":
		return true
	}
	return false
}
