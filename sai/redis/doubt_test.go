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

// An oddSyncd takes requests and answers them when the test says so.
type oddSyncd struct {
	*testing.T
	redis    *swss.Redis
	client   *Client
	requests <-chan swss.Entry
	doubts   chan string // as the client tells them
	sign     chan Sign   // what is to be seen of it
}

// startOdd returns it with a client that has made a switch, and looks at it all the time.
func startOdd(t *testing.T, opts ClientOptions) *oddSyncd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &oddSyncd{T: t, redis: swsstest.Start(t), doubts: make(chan string, 100), sign: make(chan Sign, 1)}
	o.sign <- Sign{Says: true}
	opts.Timeout, opts.Patience = time.Hour, time.Hour
	opts.Doubt = func(why string) { o.doubts <- why }
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

// take waits for a request and returns what it asks for.
func (o *oddSyncd) take() (op string) {
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

// answer waits for a request that asks for op, and answers it.
func (o *oddSyncd) answer(op string) {
	o.Helper()
	if got := o.take(); got != op {
		o.Fatalf("asked for %s, want %s", got, op)
	}
	o.give(op)
}

func (o *oddSyncd) see(s Sign) {
	<-o.sign
	o.sign <- s
}

// says waits for the next doubt, which must hold those words; "" is its end.
func (o *oddSyncd) says(words string) {
	o.Helper()
	select {
	case why := <-o.doubts:
		if !strings.Contains(why, words) || words == "" && why != "" {
			o.Fatalf("the doubt is %q, want %q", why, words)
		}
	case <-time.After(soon):
		o.Fatalf("no doubt is told, want %q", words)
	}
}

// An answer that is late makes it doubtful what the ASIC does. It is waited for all the same, and ends the doubt.
func TestLateAnswer(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Nanosecond, Idle: time.Hour})
	made := make(chan error, 1)
	go func() {
		_, err := o.client.Create(context.Background(), sai.ObjectTypeACLTable, aTable)
		made <- err
	}()
	op := o.take()
	o.says("syncd has not answered for")
	o.give(op)
	o.says("")
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// A syncd that never says how it is is asked while nobody else asks anything; that it does not answer is a doubt.
func TestMuteSyncdIsAsked(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Nanosecond, Idle: time.Nanosecond})
	o.see(Sign{})
	for range 3 {
		op := o.take()
		o.says("syncd has not answered for")
		o.give(op)
		o.says("")
	}
}

// A syncd that says nothing any more is asked. It is in doubt while it does not answer, and not lost.
func TestSilentSyncdIsAsked(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Hour, Idle: time.Nanosecond})
	o.see(Sign{Silent: "syncd is silent", Says: true})
	op := o.take()
	o.says("syncd is silent")
	o.give(op)
	o.says("")
	o.see(Sign{Says: true})
}

// A syncd that is gone is in doubt at once, and lost if that stays so.
func TestGoneSyncdIsADoubtAtOnce(t *testing.T) {
	o := startOdd(t, ClientOptions{})
	o.see(Sign{Gone: "syncd is gone", Says: true})
	o.says("syncd is gone")
	o.see(Sign{Says: true})
	o.says("")
	if err := o.client.look(t.Context()); err != nil {
		t.Error(err)
	}
}
