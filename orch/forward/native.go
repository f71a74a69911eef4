package forward

import (
	"strconv"

	"tamtam/swss"
)

// updateNatively does the work of the script update.lua in an embedded server.
func updateNatively(r *swss.ScriptRun) (reply string, ok bool) {
	if len(r.Keys) < 5 || len(r.Args) < 1 {
		return "", false
	}
	updates, ok := updatesIn(r.Args[1:], len(r.Keys)-5)
	if !ok {
		return "", false
	}
	pending, deleted, added := r.Keys[1], r.Keys[2], 0
	for i, key := range r.Keys[5:] {
		final, temp, u := r.Keys[3]+key, r.Keys[4]+key, updates[i]
		if u.replaces {
			r.Do("SADD", deleted, key)
			r.Do("DEL", temp)
		}
		for _, field := range u.lost {
			r.Do("HDEL", final, field)
			r.Do("HDEL", temp, field)
		}
		added += r.Count("SADD", pending, key)
		for j := 0; j < len(u.fields); j += 2 {
			r.Do("HSET", temp, u.fields[j], u.fields[j+1])
		}
	}
	return r.Announce(added), true
}

// An update is the part of the script's arguments about one row.
type update struct {
	replaces bool     // true if the row was another daemon's
	lost     []string // fields
	fields   []string // new fields and their values
}

// updatesIn decodes the arguments about n rows.
func updatesIn(args []string, n int) (list []update, ok bool) {
	count := func(each int) (words []string, n int, ok bool) {
		if len(args) == 0 {
			return nil, 0, false
		}
		n, err := strconv.Atoi(args[0])
		size := each * max(0, n)
		if err != nil || size > len(args)-1 {
			return nil, 0, false
		}
		words, args = args[1:1+size], args[1+size:]
		return words, n, true
	}
	for range n {
		lost, negative, ok := count(1)
		if !ok {
			return nil, false
		}
		fields, _, ok := count(2)
		if !ok {
			return nil, false
		}
		list = append(list, update{replaces: negative < 0, lost: lost, fields: fields})
	}
	return list, len(args) == 0
}
