package zmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// SONiC's endpoints, at which syncd receives requests, and the client notifications.
const (
	Requests      = "tcp://127.0.0.1:5555"
	Notifications = "tcp://127.0.0.1:5556"
)

// A Relay passes the requests of a client that talks ZeroMQ to syncd's queue, one at a time, and syncd's answers back.
// So all that holds for a client of the queue holds for this one. The queue must have no other client.
type Relay struct {
	Redis         *swss.Redis
	Requests      string // endpoint that is served: ipc://PATH or tcp://HOST:PORT
	Notifications string // endpoint to which notifications are sent
	Logger        *slog.Logger
	Opened        func() // called once requests are served and notifications are received; nil means no observer

	turn     sync.Mutex // held while a request is under way
	once     sync.Once  // for Opened
	requests *swss.Queue
	answers  *swss.Inbox
}

// Run serves until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	l, err := listen(r.Requests)
	if err != nil {
		return err
	}
	asic := r.Redis.DB(swss.ASICDB)
	r.requests = swss.NewQueue(asic, protocol.ASICState)
	r.answers = swss.NewInbox(swss.NewQueue(asic, protocol.GetResponse))
	var serving sync.WaitGroup
	defer serving.Wait()
	defer r.answers.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	notes := make(chan string)
	serving.Go(func() { r.hear(ctx, notes) })
	serving.Go(func() { r.notify(ctx, notes) })
	for {
		raw, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("zmq: %s: %w", r.Requests, err)
		}
		serving.Go(func() {
			defer raw.Close()
			defer context.AfterFunc(ctx, func() { raw.Close() })()
			if err := r.serve(ctx, raw); err != nil && ctx.Err() == nil {
				r.Logger.Warn("syncd: a ZeroMQ client", "error", err)
			}
		})
	}
}

// address returns network and address of an endpoint.
func address(endpoint string) (network, addr string, err error) {
	if path, ok := strings.CutPrefix(endpoint, "ipc://"); ok && path != "" {
		return "unix", path, nil
	}
	if addr, ok := strings.CutPrefix(endpoint, "tcp://"); ok && addr != "" {
		return "tcp", addr, nil
	}
	return "", "", fmt.Errorf("endpoint %q: want ipc://PATH or tcp://HOST:PORT", endpoint)
}

// CheckEndpoint checks the form of an endpoint.
func CheckEndpoint(endpoint string) error {
	_, _, err := address(endpoint)
	return err
}

// listen listens at an endpoint. It removes the socket that a killed process has left.
func listen(endpoint string) (net.Listener, error) {
	network, addr, err := address(endpoint)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(addr); network == "unix" && err == nil && info.Mode()&os.ModeSocket != 0 {
		c, err := net.Dial(network, addr)
		if err == nil {
			c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(addr) // if that fails, Listen reports the cause
		}
	}
	return net.Listen(network, addr)
}

// serve answers the requests of one client until it ends the connection.
func (r *Relay) serve(ctx context.Context, raw net.Conn) error {
	c, err := open(raw, typeRep, typeReq)
	if err != nil {
		return err
	}
	for {
		frames, err := c.receive()
		if err != nil {
			return nil // the client has ended the connection
		}
		if len(frames) != 2 || len(frames[0]) > 0 {
			return fmt.Errorf("a request of %d frames, want an empty one and the request", len(frames))
		}
		answer, err := r.exchange(ctx, string(frames[1]))
		if err != nil {
			return err
		}
		if err := c.send(nil, []byte(answer)); err != nil {
			return nil
		}
	}
}

// exchange passes one request to syncd and returns its answer. Both are JSON arrays: key, operation, and the fields.
// The answer is awaited even if the client is gone, since it would be taken for that of the next request.
func (r *Relay) exchange(ctx context.Context, request string) (string, error) {
	words, err := swss.DecodeFields(request)
	if err != nil || len(words) == 0 {
		return "", fmt.Errorf("request %.200q: want a JSON array of key, operation, and fields (%w)", request, err)
	}
	m := protocol.Message{Key: words[0].Field, Op: words[0].Value, Fields: words[1:]}
	r.turn.Lock()
	defer r.turn.Unlock()
	if _, err := r.answers.Open(ctx); err != nil { // this also drops an answer that an earlier client has not read
		return "", err
	}
	if err := r.requests.Push(ctx, m.Entry()); err != nil {
		return "", err
	}
	for {
		entries, err := r.answers.Wait(ctx, time.Second)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if e.Op != "S"+protocol.AnswerOp(m.Op) {
				continue
			}
			a, err := protocol.Decode(e)
			if err != nil {
				return "", err
			}
			return swss.EncodeFields(append([]swss.Pair{{Field: a.Key, Value: a.Op}}, a.Fields...)), nil
		}
	}
}

// keptNotes is the number of notifications that wait while the client's endpoint is not open. When there are more, the
// oldest are dropped; syncd repeats the states of ports.
const keptNotes = 1000

// redial is the delay after which the client's endpoint is tried again.
const redial = 500 * time.Millisecond

// notify sends syncd's notifications to the client until ctx ends.
func (r *Relay) notify(ctx context.Context, notes <-chan string) {
	var waiting []string
	var c *conn
	again := time.NewTicker(redial)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			if c != nil {
				c.Close()
			}
			return
		case note := <-notes:
			if waiting = append(waiting, note); len(waiting) > keptNotes {
				waiting = waiting[1:]
			}
		case <-again.C:
		}
		for len(waiting) > 0 {
			if c == nil {
				if c = r.dial(ctx); c == nil {
					break
				}
			}
			if err := c.send([]byte(waiting[0])); err != nil {
				c.Close()
				c = nil
				continue
			}
			waiting = waiting[1:]
		}
	}
}

// dial connects to the client's endpoint. It returns nil if that is not possible now.
func (r *Relay) dial(ctx context.Context) *conn {
	network, addr, err := address(r.Notifications)
	if err != nil {
		return nil
	}
	raw, err := (&net.Dialer{Timeout: redial}).DialContext(ctx, network, addr)
	if err != nil {
		return nil
	}
	c, err := open(raw, typePush, typePull)
	if err != nil {
		r.Logger.Warn("syncd: the ZeroMQ client's notifications", "error", err)
	}
	return c
}

// hear passes on what syncd publishes, across losses of the connection to Redis.
func (r *Relay) hear(ctx context.Context, notes chan<- string) {
	for ctx.Err() == nil {
		sub := r.Redis.DB(swss.ASICDB).Subscribe(ctx, protocol.Notifications)
		stop := context.AfterFunc(ctx, func() { sub.Close() })
		for {
			msg, err := sub.Receive(ctx)
			if err != nil {
				break
			}
			m, ok := msg.(*redis.Message)
			if !ok && r.Opened != nil { // the message is that the subscription is in force
				r.once.Do(r.Opened)
			}
			if ok {
				select {
				case notes <- m.Payload:
				case <-ctx.Done():
				}
			}
		}
		stop()
		sub.Close()
		select {
		case <-ctx.Done():
		case <-time.After(redial):
		}
	}
}
