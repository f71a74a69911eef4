package swss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// ErrUnavailable is matched by errors.Is for every error that means that Redis did not answer because it is away,
// restarting, or still loading its data. The same call can succeed later. It is unknown whether the failed call took
// effect.
var ErrUnavailable = errors.New("redis is not available")

// An Error is a database operation that failed.
type Error struct {
	DB  DBName
	Op  string // the attempted operation, such as "set PORT|Ethernet0"
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.DB, e.Op, e.Err) }

// Unwrap returns the cause, and ErrUnavailable if the cause means that.
func (e *Error) Unwrap() []error {
	if unavailable(e.Err) {
		return []error{e.Err, ErrUnavailable}
	}
	return []error{e.Err}
}

// NothingSent reports whether a command's error proves that Redis has not executed the command: Redis was unreachable,
// or refused it. After other errors the command may have been executed.
func NothingSent(err error) bool {
	var op *net.OpError
	var refused redis.Error
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrClosed) ||
		errors.As(err, &refused) && !errors.Is(err, redis.Nil)
}

// IsTimeout reports whether an error means only that nothing arrived in time.
func IsTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// wrap adds the database and the operation to an error. It returns nil for nil.
func (d *DB) wrap(err error, op ...string) error {
	if err == nil {
		return nil
	}
	return &Error{DB: d.name, Op: strings.Join(op, " "), Err: err}
}

// ErrReset is matched by errors after which a daemon's memory no longer corresponds to a database: the database was
// emptied, replaced, or claimed by another process. The daemon must start its work again.
var ErrReset = errors.New("the work must start again")

func unavailable(err error) bool { return condition(err) != "" }

// Why describes in words why a database cannot be used, as far as an error of this package reveals it. Other errors
// keep their text.
func Why(err error) string {
	words := condition(err)
	if words == "" {
		return err.Error()
	}
	return words + " (" + err.Error() + ")"
}

// WantsLogin reports whether Redis refused a command because of the client's user or password.
func WantsLogin(err error) bool {
	return hasCode(err, "NOAUTH") || hasCode(err, "WRONGPASS") || hasCode(err, "NOPERM")
}

// condition describes the state of the server that returned an error; it returns "" if the server is well. All these
// conditions are temporary: the same call succeeds when the server is well again.
func condition(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	for _, c := range [...]struct{ code, words string }{
		{"LOADING", "Redis is loading its data"},
		{"READONLY", "Redis is read-only, a replica"},
		{"MASTERDOWN", "Redis is a replica without its master"},
		{"OOM", "Redis is out of memory and takes no writes"},
		{"MISCONF", "Redis cannot save to disk and takes no writes"},
		{"NOREPLICAS", "Redis lacks replicas and takes no writes"},
		{"EXECABORT", "Redis takes no writes"},
		{"TRYAGAIN", "Redis is moving its data"},
		{"BUSY", "Redis is busy with a script"},
		{"NOAUTH", "Redis wants a password"},
		{"WRONGPASS", "Redis refuses the user or the password"},
		{"NOPERM", "Redis does not permit it"},
	} {
		if hasCode(err, c.code) {
			return c.words
		}
	}
	switch {
	case ofNetwork(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed), errors.Is(err, redis.ErrClosed),
		errors.Is(err, ErrUnavailable), strings.Contains(err.Error(), "connection pool"):
		return "Redis does not answer"
	}
	return ""
}

// ofNetwork reports whether an error comes from a connection. go-redis removes the connection's name from the kernel's
// error, so that only an error number is left. A number counts if only connections return it. Other numbers can also
// come from other descriptors, such as a socket that may not be opened.
func ofNetwork(err error) bool {
	var netErr net.Error
	if !errors.As(err, &netErr) {
		return false
	}
	number, bare := netErr.(syscall.Errno)
	if !bare {
		return true
	}
	switch number {
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.EPIPE, syscall.ENOTCONN,
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN:
		return true
	}
	return false
}

// hasCode reports whether Redis replied with an error code, directly or from a command of a script.
func hasCode(err error, code string) bool {
	var refused redis.Error
	if !errors.As(err, &refused) {
		return false
	}
	text := refused.Error()
	return strings.HasPrefix(text, code+" ") || strings.Contains(text, "-"+code+" ")
}
