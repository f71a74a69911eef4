package mgmt

import (
	"context"
	"crypto/rand"
	"encoding/json"
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

// Requests about the fate of packets are sent to syncd, which queries its chip. The answer stays in STATE_DB for a
// while. gNMI clients read it with origin sonic-db, at STATE_DB/localhost/TAMTAM_PACKET_TRACE/ID.

// traceWait bounds the time until syncd responds.
const traceWait = 20 * time.Second

// mostTraceName bounds the length of an answer's name.
const mostTraceName = 64

// asking returns an operation that sends a request to syncd. word selects the request. must lists the mandatory members
// of its input. answer is the output's member for the result.
func asking(word, answer string, must map[string]bool) operation {
	return operation{looks: true, do: func(s *archiver, ctx context.Context, _ string, input []byte) ([]byte, error) {
		return s.ask(ctx, word, answer, must, input)
	}}
}

func (s *archiver) ask(ctx context.Context, word, answer string, must map[string]bool, input []byte) ([]byte, error) {
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
	ctx, cancel := context.WithTimeout(ctx, traceWait)
	defer cancel()
	if err := s.askSyncd(ctx, word, id, request); err != nil {
		return nil, err
	}
	row, ok, err := swss.NewTable(s.reader.Redis.DB(swss.StateDB), schema.StatePacketTrace).Get(ctx, id)
	switch {
	case err != nil:
		return nil, tree.Unavailable(err)
	case !ok || !json.Valid([]byte(row[schema.PacketTraceJSON])):
		return nil, status.Error(codes.Internal, "syncd has answered, and there is no answer")
	}
	return fmt.Appendf(nil, `{"id":%q,%q:%s}`, id, answer, row[schema.PacketTraceJSON]), nil
}

func traceName(id string) bool {
	odd := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	}
	return id != "" && len(id) <= mostTraceName && !strings.ContainsFunc(id, odd)
}

// askSyncd sends a request to syncd, and waits until it is done or refused.
func (s *archiver) askSyncd(ctx context.Context, word, id string, request []byte) error {
	db, to := s.reader.Redis.DB(swss.StateDB), schema.PacketTraceAnswers+id
	sub := db.Subscribe(ctx, to)
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return tree.Unavailable(err)
	}
	heard, err := swss.NewNotificationProducer(db, schema.PacketTraceChannel).Send(ctx, word, to,
		[]swss.Pair{{Field: schema.PacketTraceRequest, Value: string(request)}})
	switch {
	case err != nil:
		return tree.Unavailable(err)
	case heard == 0:
		return status.Error(codes.Unavailable, "no answer: syncd is not running, or its chip is not the simulated one")
	}
	for {
		msg, err := sub.Receive(ctx)
		if err != nil {
			return status.Errorf(codes.Unavailable, "syncd has not answered: %v", err)
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
