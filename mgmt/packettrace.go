package mgmt

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Some operations are performed by another daemon: syncd queries its chip for the fate of packets, and hostd or hostifd
// sends pings. The answer stays in STATE_DB for a while. gNMI clients read it with origin sonic-db, at
// STATE_DB/localhost/TAMTAM_PACKET_TRACE/ID.

// A responder is a daemon that performs operations.
type responder struct {
	name    string // for errors
	channel string // channel of requests
	absent  string // why it may not be there
	cancel  string // request that ends another one; empty if there is none
	// wait checks an operation's input and returns the longest time that the answer may take.
	wait func(operation string, input []byte) (time.Duration, error)
}

// traceWait bounds the time until a daemon responds to a request that takes no time itself.
const traceWait = 20 * time.Second

var (
	syncd = responder{
		name: "syncd", channel: schema.PacketTraceChannel,
		absent: "syncd is not running, or its chip is not the simulated one",
		wait:   func(string, []byte) (time.Duration, error) { return traceWait, nil },
	}
	hostDaemon = responder{
		name: "the host", channel: schema.PingChannel, cancel: schema.PingCancel,
		absent: "neither hostd nor hostifd is running, so that the switch is no host",
		wait: func(operation string, input []byte) (time.Duration, error) {
			p, err := schema.ParsePing(operation, input)
			return p.Longest() + traceWait, err
		},
	}
)

// mostTraceName bounds the length of an answer's name.
const mostTraceName = 64

// asking returns an operation that sends a request to another daemon. word selects the request. must lists the
// mandatory members of its input. answer is the output's member for the result.
func asking(to responder, word, answer string, must map[string]bool) operation {
	return operation{looks: true, do: func(s *archiver, ctx context.Context, _ string, input []byte) ([]byte, error) {
		return s.ask(ctx, to, word, answer, must, input)
	}}
}

func (s *archiver) ask(
	ctx context.Context, to responder, word, answer string, must map[string]bool, input []byte,
) ([]byte, error) {
	var in map[string]json.RawMessage
	if err := parseInput(input, must, &in); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	id := rand.Text()
	if given, ok := in["id"]; ok {
		delete(in, "id")
		if err := json.Unmarshal(given, &id); err != nil || !traceName(id) {
			return nil, status.Errorf(codes.InvalidArgument, "id is %s, want 1 to %d letters, digits and dashes",
				tree.Quoted(string(given)), mostTraceName)
		}
	}
	request, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	wait, err := to.wait(word, request)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.request(ctx, to, word, id, request); err != nil {
		return nil, err
	}
	row, ok, err := swss.NewTable(s.reader.Redis.DB(swss.StateDB), schema.StatePacketTrace).Get(ctx, id)
	switch {
	case err != nil:
		return nil, tree.Unavailable(err)
	case !ok || !json.Valid([]byte(row[schema.PacketTraceJSON])):
		return nil, status.Errorf(codes.Internal, "%s has answered, and there is no answer", to.name)
	}
	return fmt.Appendf(nil, `{"id":%q,%q:%s}`, id, answer, row[schema.PacketTraceJSON]), nil
}

func traceName(id string) bool {
	odd := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	}
	return id != "" && len(id) <= mostTraceName && !strings.ContainsFunc(id, odd)
}

// request sends a request to a daemon, and waits until it is done or refused. If ctx ends before that, it ends the
// request.
func (s *archiver) request(ctx context.Context, to responder, word, id string, request []byte) error {
	db, answers := s.reader.Redis.DB(swss.StateDB), schema.PacketTraceAnswers+id
	sub := db.Subscribe(ctx, answers)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // Receive notices a deadline only
	if _, err := sub.Receive(ctx); err != nil {
		return tree.Unavailable(err)
	}
	requests := swss.NewNotificationProducer(db, to.channel)
	fields := []swss.Pair{{Field: schema.PacketTraceRequest, Value: string(request)}}
	heard, err := requests.Send(ctx, word, answers, fields)
	switch {
	case err != nil:
		return tree.Unavailable(err)
	case heard == 0:
		return status.Error(codes.Unavailable, "no answer: "+to.absent)
	}
	for {
		msg, err := sub.Receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if to.cancel != "" {
				ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
				defer stop()
				_, _ = requests.Send(ctx, to.cancel, answers, nil) // without Redis, no client sees what it does
			}
			if errors.Is(err, context.Canceled) {
				return status.Error(codes.Canceled, "ended by its client")
			}
			return status.Errorf(codes.Unavailable, "%s has not answered: %v", to.name, err)
		}
		m, ok := msg.(*redis.Message)
		if !ok {
			continue
		}
		answer, err := swss.DecodeFields(m.Payload)
		switch {
		case err != nil || len(answer) == 0:
			return status.Errorf(codes.Internal, "the answer %s cannot be read", tree.Quoted(m.Payload))
		case answer[0].Field == schema.PacketTraceRefused:
			return status.Error(codes.InvalidArgument, answer[0].Value)
		case answer[0].Field == schema.PacketTraceDone:
			return nil
		}
		return status.Errorf(codes.Internal, "the answer is %s", tree.Quoted(answer[0].Field))
	}
}

// cancelWait bounds the time to send the end of a request.
const cancelWait = 2 * time.Second
