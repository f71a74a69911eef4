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

// ErrUnavailable is found by errors.Is in every error that means that Redis
// did not answer (it is away, restarting, or still loading its data): the same
// call can succeed later. Whether the call took effect is then unknown.
var ErrUnavailable = errors.New("redis is not available")

// An Error is a database operation that failed.
type Error struct {
	DB  DBName
	Op  string // what was tried, as "set PORT|Ethernet0"
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.DB, e.Op, e.Err) }

// Unwrap returns the cause, and ErrUnavailable if that is what it means.
func (e *Error) Unwrap() []error {
	if unavailable(e.Err) {
		return []error{e.Err, ErrUnavailable}
	}
	return []error{e.Err}
}

// NothingSent reports whether a command's error means that Redis has not executed it: it could not
// be reached, or it refused. After other errors that is not known.
func NothingSent(err error) bool {
	var op *net.OpError
	var refused redis.Error
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrClosed) ||
		errors.As(err, &refused) && !errors.Is(err, redis.Nil)
}

// IsTimeout reports whether an error only says that nothing came in time.
func IsTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// wrap names what failed; it returns nil for nil.
func (d *DB) wrap(err error, op ...string) error {
	if err == nil {
		return nil
	}
	return &Error{DB: d.name, Op: strings.Join(op, " "), Err: err}
}

// ErrAnew is found in errors after which what a daemon remembers and a database no longer belong together: the
// database was emptied, replaced, or taken by another. The daemon has to start its work from the beginning.
var ErrAnew = errors.New("the work must start again")

func unavailable(err error) bool { return condition(err) != "" }

// Why says in words why a database cannot be worked with, as far as an error of this package tells; what it does not
// know stays as it is.
func Why(err error) string {
	words := condition(err)
	if words == "" {
		return err.Error()
	}
	return words + " (" + err.Error() + ")"
}

// WantsLogin reports whether Redis refused a command because of who asks.
func WantsLogin(err error) bool {
	return hasCode(err, "NOAUTH") || hasCode(err, "WRONGPASS") || hasCode(err, "NOPERM")
}

// condition says in words how the server is that gave an error; "" if the server is well. What is here passes: the
// same call succeeds when the server is well again.
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

// ofNetwork reports whether an error is of a connection. A bare error number has the methods of a network's error,
// and comes from sockets of other kinds too, as one that may not be opened. But go-redis takes the name of the
// connection off what the kernel says of it, so a number that only a connection gives counts.
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

// hasCode reports whether Redis answered with an error code, also where a command of a script met it.
func hasCode(err error, code string) bool {
	var refused redis.Error
	if !errors.As(err, &refused) {
		return false
	}
	text := refused.Error()
	return strings.HasPrefix(text, code+" ") || strings.Contains(text, "-"+code+" ")
}
