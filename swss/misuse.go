package swss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tamtam/swss/glob"

	"github.com/redis/go-redis/v9"
)

// IsMisuse reports whether a command failed because a key has the wrong type. Another client must have written the key.
func IsMisuse(err error) bool {
	return err != nil && (hasCode(err, "WRONGTYPE") || strings.Contains(err.Error(), "value is not an integer"))
}

// misuses remembers the keys that commands found to be of the wrong type, until Mend deletes them.
type misuses struct {
	mu   sync.Mutex
	keys map[DBName]map[string]struct{}
}

// note remembers the keys of a command that failed because of a wrong type.
func (m *misuses) note(db DBName, cmd redis.Cmder, err error) {
	if !IsMisuse(err) {
		return
	}
	for _, key := range keysOf(cmd.Args()) {
		m.add(db, key)
	}
}

// keysOf returns the keys in the arguments of a command.
func keysOf(args []any) []string {
	word := func(i int) string {
		if i >= len(args) {
			return ""
		}
		return fmt.Sprint(args[i])
	}
	from, to := 1, 2
	if strings.HasPrefix(strings.ToLower(word(0)), "eval") {
		n, _ := strconv.Atoi(word(2))
		from, to = 3, 3+n
	}
	var keys []string
	for i := from; i < min(to, len(args)); i++ {
		keys = append(keys, word(i))
	}
	return keys
}

// add remembers a key of the wrong type.
func (m *misuses) add(db DBName, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[DBName]map[string]struct{}{}
	}
	if m.keys[db] == nil {
		m.keys[db] = map[string]struct{}{}
	}
	m.keys[db][key] = struct{}{}
}

// drain returns the noted keys, and forgets them.
func (m *misuses) drain() map[DBName]map[string]struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.keys
	m.keys = nil
	return keys
}

// A watcher notes misuses of a database's keys, and finds the failed command of a refused transaction. It closes all
// connections when one connection is dead.
type watcher struct {
	db    DBName
	redis *Redis
}

func (watcher) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w watcher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.redis.misuses.note(w.db, cmd, err)
		w.cut(ctx, err)
		return err
	}
}

func (w watcher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err == nil {
			return nil
		}
		w.cut(ctx, err)
		for _, cmd := range cmds {
			w.redis.misuses.note(w.db, cmd, cmd.Err())
			if hasCode(err, "EXECABORT") && cmd.Err() != nil && !hasCode(cmd.Err(), "EXECABORT") {
				err = fmt.Errorf("%w (%w)", cmd.Err(), err)
			}
		}
		return err
	}
}

// cut closes all connections if one did not answer in time, but not if only the caller's own time ran out.
func (w watcher) cut(ctx context.Context, err error) {
	end, ends := ctx.Deadline()
	if IsTimeout(err) && !NothingSent(err) && ctx.Err() == nil && !(ends && !time.Now().Before(end)) {
		w.redis.Cut()
	}
}

// kindOf returns the type that a key has in SONiC's databases.
func kindOf(key string) string {
	switch {
	case strings.HasSuffix(key, "_KEY_SET"), strings.HasSuffix(key, "_DEL_SET"):
		return "set"
	case strings.HasSuffix(key, "_KEY_VALUE_OP_QUEUE"):
		return "list"
	case key == "VIDCOUNTER":
		return "string"
	}
	return "hash"
}

// Mend deletes the keys that commands found to be of the wrong type, and returns their names. Their contents are
// lost, so it also deletes the marks of that database: every daemon then starts its work again (see [Claim]). In
// CONFIG_DB it deletes only the mark, because all other keys are the user's.
func (r *Redis) Mend(ctx context.Context) (deleted []string, err error) {
	noted := r.misuses.drain()
	if _, marked := noted[ConfigDB][KeyMark]; marked {
		noted[ConfigDB] = map[string]struct{}{KeyMark: {}}
	} else {
		delete(noted, ConfigDB)
	}
	var errs []error
	for name, keys := range noted {
		d := r.DB(name)
		wrong, err := d.misused(ctx, slices.Sorted(maps.Keys(keys)))
		if err == nil && len(wrong) > 0 {
			err = d.client.Del(ctx, append(slices.Collect(maps.Keys(wrong)), KeyMark)...).Err()
		}
		if errs = append(errs, d.wrap(err, "mend")); err != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(wrong)) {
			deleted = append(deleted, fmt.Sprintf("%s %s: %s", name, key, wrong[key]))
		}
	}
	return deleted, errors.Join(errs...)
}

// misused finds the keys of the wrong type, and describes the error of each. A key that ends with the separator stands
// for a table: misused checks all its rows, including the rows being handed over.
func (d *DB) misused(ctx context.Context, keys []string) (map[string]string, error) {
	var all []string
	for _, key := range keys {
		if !strings.HasSuffix(key, d.sep) {
			all = append(all, key)
			continue
		}
		for _, prefix := range []string{key, "_" + key} {
			rows, err := d.client.Keys(ctx, glob.Escape(prefix)+"*").Result()
			if err != nil {
				return nil, err
			}
			all = append(all, rows...)
		}
	}
	wrong := map[string]string{}
	for _, key := range all {
		kind, err := d.client.Type(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		want := kindOf(key)
		switch {
		case kind == "none":
		case kind != want:
			wrong[key] = "a " + kind + ", want a " + want
		case want == "string":
			text, err := d.client.Get(ctx, key).Result()
			if _, bad := strconv.ParseInt(text, 10, 64); err == nil && bad != nil {
				wrong[key] = fmt.Sprintf("%.40q, want a number", text)
			}
		}
	}
	return wrong, nil
}
