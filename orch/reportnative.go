package orch

import "tamtam/swss"

// reportNatively implements report.lua for the embedded server.
func reportNatively(r *swss.ScriptRun) (reply string, ok bool) {
	const head, each = 3, 7
	if len(r.Args) != head+each*len(r.Keys) {
		return "", false
	}
	manager, writer, now := r.Args[0], r.Args[1], r.Args[2]
	is := func(s *string, text string) bool { return s != nil && *s == text }
	for i, key := range r.Keys {
		a := r.Args[head+each*i:]
		op, field, status, reason, by, sonic, state := a[0], a[1], a[2], a[3], a[4], a[5], a[6]
		old := r.HMGet(key, field, "reason", "since", "by", "was", "state")
		if writer != manager && is(old[3], manager) {
			continue
		}
		switch {
		case op == swss.OpDel:
			r.Do("DEL", key)
		case !is(old[0], status) || old[2] == nil:
			r.Do("HSET", key, field, status, "reason", reason, "since", now, "by", by)
			if old[4] != nil {
				r.Do("HDEL", key, "was")
			}
		case !is(old[1], reason) || !is(old[3], by):
			r.Do("HSET", key, "reason", reason, "by", by)
		}
		switch {
		case op == swss.OpDel || sonic == "":
		case reason != "":
			r.Do("HSET", key, "status", sonic, "status_detail", reason)
		default:
			r.Do("HSET", key, "status", sonic)
			r.Do("HDEL", key, "status_detail")
		}
		switch {
		case op == swss.OpDel || state == "":
		case state == "-":
			if old[5] != nil {
				r.Do("HDEL", key, "state")
			}
		case !is(old[5], state):
			r.Do("HSET", key, "state", state)
		}
	}
	return "", true
}
