package swss

import "strings"

// plans holds the commands that change keys, with the events that Redis publishes for them. It is constant.
var plans = map[string]*plan{
	"HSET":         {class: 'h', name: "hset", when: always},
	"HMSET":        {class: 'h', name: "hset", when: always},
	"HSETNX":       {class: 'h', name: "hset", when: counted},
	"HINCRBY":      {class: 'h', name: "hincrby", when: always},
	"HINCRBYFLOAT": {class: 'h', name: "hincrbyfloat", when: always},
	"HDEL":         {class: 'h', name: "hdel", when: counted, shrinks: true},

	"SADD": {class: 's', name: "sadd", when: counted},
	"SREM": {class: 's', name: "srem", when: counted, shrinks: true},
	"SPOP": {class: 's', name: "spop", when: notNull, shrinks: true},

	"ZADD":    {class: 'z', name: "zadd", when: counted},
	"ZINCRBY": {class: 'z', name: "zincr", when: always},
	"ZREM":    {class: 'z', name: "zrem", when: counted, shrinks: true},

	"LPUSH":   {class: 'l', name: "lpush", when: always},
	"RPUSH":   {class: 'l', name: "rpush", when: always},
	"LPUSHX":  {class: 'l', name: "lpush", when: counted},
	"RPUSHX":  {class: 'l', name: "rpush", when: counted},
	"LPOP":    {class: 'l', name: "lpop", when: notNull, shrinks: true},
	"RPOP":    {class: 'l', name: "rpop", when: notNull, shrinks: true},
	"LSET":    {class: 'l', name: "lset", when: always},
	"LREM":    {class: 'l', name: "lrem", when: counted, shrinks: true},
	"LINSERT": {class: 'l', name: "linsert", when: counted},
	"LTRIM":   {class: 'l', name: "ltrim", when: existed, trims: true},

	"SET":         {all: setEvents},
	"SETEX":       {all: setEvents},
	"PSETEX":      {all: setEvents},
	"SETNX":       {class: '$', name: "set", when: counted},
	"GETSET":      {class: '$', name: "set", when: always},
	"MSET":        {all: msetEvents},
	"MSETNX":      {all: msetEvents},
	"APPEND":      {class: '$', name: "append", when: always},
	"SETRANGE":    {class: '$', name: "setrange", when: counted},
	"SETBIT":      {class: '$', name: "setbit", when: always},
	"INCR":        {class: '$', name: "incrby", when: always},
	"DECR":        {class: '$', name: "incrby", when: always},
	"INCRBY":      {class: '$', name: "incrby", when: always},
	"DECRBY":      {class: '$', name: "incrby", when: always},
	"INCRBYFLOAT": {class: '$', name: "incrbyfloat", when: always},
	"GETDEL":      {class: 'g', name: "del", when: notNull},

	"DEL":       {}, // see server.remove
	"UNLINK":    {},
	"EXPIRE":    {shrinks: true, all: expireEvents},
	"PEXPIRE":   {shrinks: true, all: expireEvents},
	"EXPIREAT":  {shrinks: true, all: expireEvents},
	"PEXPIREAT": {shrinks: true, all: expireEvents},
	"PERSIST":   {class: 'g', name: "persist", when: counted},
	"RESTORE":   {class: 'g', name: "restore", when: always},
	"RENAME":    {all: renameEvents},
	"RENAMENX":  {all: renameEvents},

	"XADD": {class: 't', name: "xadd", when: notNull},
	"XDEL": {class: 't', name: "xdel", when: counted},
}

// expireEvents returns the events of EXPIRE and its variants: a time in the past deletes the key.
func expireEvents(o outcome) []event {
	switch {
	case number(o.reply) == 0:
		return nil
	case o.gone:
		return []event{{'g', "del", o.args[0]}}
	}
	return []event{{'g', "expire", o.args[0]}}
}

// setEvents returns the events of SET and its variants. SET with NX or XX replies null if it did nothing. A time to
// live is an event of its own.
func setEvents(o outcome) []event {
	if isNull(o.reply) {
		return nil
	}
	events := []event{{'$', "set", o.args[0]}}
	expires := o.cmd != "SET"
	if !expires && len(o.args) > 2 {
		for _, a := range o.args[2:] {
			switch strings.ToUpper(a) {
			case "EX", "PX", "EXAT", "PXAT":
				expires = true
			}
		}
	}
	if expires {
		events = append(events, event{'g', "expire", o.args[0]})
	}
	return events
}

func msetEvents(o outcome) []event {
	if o.cmd == "MSETNX" && number(o.reply) == 0 {
		return nil
	}
	var events []event
	for i := 0; i < len(o.args); i += 2 {
		events = append(events, event{'$', "set", o.args[i]})
	}
	return events
}

func renameEvents(o outcome) []event {
	if o.cmd == "RENAMENX" && number(o.reply) == 0 || len(o.args) < 2 || o.args[0] == o.args[1] {
		return nil
	}
	return []event{{'g', "rename_from", o.args[0]}, {'g', "rename_to", o.args[1]}}
}
