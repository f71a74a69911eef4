package swss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

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

// wrap names what failed; it returns nil for nil.
func (d *DB) wrap(err error, op ...string) error {
	if err == nil {
		return nil
	}
	return &Error{DB: d.name, Op: strings.Join(op, " "), Err: err}
}

func unavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var netErr net.Error
	switch {
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed), errors.Is(err, redis.ErrClosed),
		errors.Is(err, ErrUnavailable):
		return true
	}
	for _, prefix := range []string{"LOADING ", "READONLY ", "MASTERDOWN ", "TRYAGAIN ", "BUSY "} {
		if redis.HasErrorPrefix(err, strings.TrimSpace(prefix)) {
			return true
		}
	}
	return strings.Contains(err.Error(), "connection pool")
}
