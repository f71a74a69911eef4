package sairedis

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// An oddSyncd dequeues requests and answers them under the control of the test.
type oddSyncd struct {
	*testing.T
	redis    *swss.Redis
	client   *Client
	requests <-chan swss.Entry
	unknowns chan string // reasons for an unknown state, as reported by the client
	sign     chan Sign   // visible state of this syncd
}

// startOdd starts an oddSyncd with a client that has created a switch and checks for syncd continuously.
func startOdd(t *testing.T, opts ClientOptions) *oddSyncd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &oddSyncd{T: t, redis: swsstest.Start(t), unknowns: make(chan string, 100), sign: make(chan Sign, 1)}
	o.sign <- Sign{Says: true}
	opts.Timeout, opts.Patience = time.Hour, time.Hour
	opts.ASICUnknown = func(why string) { o.unknowns <- why }
	opts.Sign = func(context.Context) Sign {
		s := <-o.sign
		o.sign <- s
		return s
	}
	var err error
	if o.client, err = NewClient(ctx, o.redis, opts); err != nil {
		t.Fatal(err)
	}
	o.requests = slowly(ctx, o.redis)
	made := make(chan error, 1)
	go func() {
		_, err := o.client.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
		made <- err
	}()
	o.answer(protocol.OpCreate)
	noError(t, <-made)
	lost := make(chan error, 1)
	go func() { lost <- o.client.Lost(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-lost
		for range o.requests {
		}
	})
	return o
}

// receive waits for a request and returns its operation.
func (o *oddSyncd) receive() (op string) {
	o.Helper()
	select {
	case e := <-o.requests:
		return strings.TrimPrefix(e.Op, "S")
	case <-time.After(soon):
		o.Fatal("no request comes")
	}
	return ""
}

// give answers a request.
func (o *oddSyncd) give(op string) {
	o.Helper()
	answer := swss.Entry{Key: "SAI_STATUS_SUCCESS", Body: "[]", Op: "S" + protocol.AnswerOp(op)}
	if op == protocol.OpCreate {
		answer.Op = "S" + protocol.OpResponse
	}
	if err := swss.NewQueue(o.redis.DB(swss.ASICDB), protocol.GetResponse).Push(context.Background(), answer); err != nil {
		o.Fatal(err)
	}
}

// answer waits for a request of operation op, and answers it.
func (o *oddSyncd) answer(op string) {
	o.Helper()
	if got := o.receive(); got != op {
		o.Fatalf("asked for %s, want %s", got, op)
	}
	o.give(op)
}

func (o *oddSyncd) see(s Sign) {
	<-o.sign
	o.sign <- s
}

// says waits for the next reported reason, which must contain the words. "" means that the state is known again.
func (o *oddSyncd) says(words string) {
	o.Helper()
	select {
	case why := <-o.unknowns:
		if !strings.Contains(why, words) || words == "" && why != "" {
			o.Fatalf("the doubt is %q, want %q", why, words)
		}
	case <-time.After(soon):
		o.Fatalf("no doubt is told, want %q", words)
	}
}

// When an answer is late, the state of the ASIC is unknown. The client still waits for it, and then the state is
// known again.
func TestLateAnswer(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Nanosecond, Idle: time.Hour})
	made := make(chan error, 1)
	go func() {
		_, err := o.client.Create(context.Background(), sai.ObjectTypeACLTable, aTable)
		made <- err
	}()
	op := o.receive()
	o.says("syncd has not answered for")
	o.give(op)
	o.says("")
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// A syncd that never reports its state is queried while there are no other requests. If it does not answer, the state
// of the ASIC is unknown.
func TestMuteSyncdIsAsked(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Nanosecond, Idle: time.Nanosecond})
	o.see(Sign{})
	for range 3 {
		op := o.receive()
		o.says("syncd has not answered for")
		o.give(op)
		o.says("")
	}
}

// A syncd that has become silent is queried. While it does not answer, the state of the ASIC is unknown, but the
// client is not lost.
func TestSilentSyncdIsAsked(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Hour, Idle: time.Nanosecond})
	o.see(Sign{Silent: "syncd is silent", Says: true})
	op := o.receive()
	o.says("syncd is silent")
	o.give(op)
	o.says("")
	o.see(Sign{Says: true})
}

// When syncd is gone, the state of the ASIC is unknown immediately. The client is lost if syncd stays away.
func TestGoneSyncdIsUnknownAtOnce(t *testing.T) {
	o := startOdd(t, ClientOptions{})
	o.see(Sign{Gone: "syncd is gone", Says: true})
	o.says("syncd is gone")
	o.see(Sign{Says: true})
	o.says("")
	if err := o.client.look(t.Context()); err != nil {
		t.Error(err)
	}
}
