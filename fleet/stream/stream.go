package stream

import (
	"context"
	"errors"
	"fmt"
)

// MaxData is the length of a message at most, in bytes.
const MaxData = 64 << 10

// A Log keeps topics. A topic is there as soon as it is named: 1 to 64 of the characters a-z, 0-9 and "-". It is
// either read in order by one reader at a time (Read, Acknowledge), or shared out (Take). All methods may be called by
// several at once.
type Log interface {
	// Append puts a message at the end of a topic and returns its sequence, which counts from 1 without gaps. When it
	// returns without an error the message is kept. If there is no room it waits for some until ctx ends.
	//
	// A message whose id was appended a short while ago is not appended again, and the sequence of the first is
	// returned; an empty id is never the same. How long a while is depends on the implementation, so a reader that
	// must have nothing twice looks for itself.
	Append(ctx context.Context, topic, id string, data []byte) (uint64, error)

	// Read returns messages from the given sequence on: at least one, for which it waits until ctx ends, and so many
	// at most. If the one asked for is no longer there the error is a *Gone. The caller must not change the data.
	Read(ctx context.Context, topic string, from uint64, most int) ([]Entry, error)

	// Acknowledge says that the messages up to this sequence are done with and need not be kept.
	Acknowledge(ctx context.Context, topic string, upTo uint64) error

	// Take waits for a message of the topic that nobody holds, until ctx ends, and holds it for the caller.
	Take(ctx context.Context, topic string) (Work, error)
}

// An Entry is a message in its topic.
type Entry struct {
	Seq  uint64
	Data []byte
}

// Work is a message that the caller holds, alone. If the caller dies, or does not say for HoldTime that it still holds
// it, the message is given to somebody else; so what is done with it must be harmless when it is done twice.
type Work interface {
	Entry() Entry
	// Hold says that the work goes on. It fails if the message may have been given to somebody else.
	Hold(ctx context.Context) error
	// Done says that it is done: nobody gets it again.
	Done(ctx context.Context) error
	// Return gives it back at once.
	Return(ctx context.Context) error
}

// Gone says that a message is no longer kept: acknowledged, or dropped for age or size, or damaged.
type Gone struct {
	Topic   string
	Seq     uint64 // what was asked for
	First   uint64 // the first that is there or will be
	Damaged bool   // it should be there, and cannot be read
	Deleted bool   // the topic was deleted and made again: how many messages it had is not known
}

func (e *Gone) Error() string {
	if e.Damaged {
		return fmt.Sprintf("topic %s: message %d cannot be read, the log is damaged: the first behind it that can be is %d",
			e.Topic, e.Seq, e.First)
	}
	if e.Deleted {
		return fmt.Sprintf("topic %s: message %d and those behind it were deleted, the next is %d", e.Topic, e.Seq, e.First)
	}
	return fmt.Sprintf("topic %s: message %d is no longer kept, the first is %d", e.Topic, e.Seq, e.First)
}

// ErrLost is the error of Hold and Done if somebody else may have the work.
var ErrLost = errors.New("the work was not held in time: another worker may have it")

// ErrAway is in the error of a call whose context ended before the log answered: whether there is something is not
// known.
var ErrAway = errors.New("the log does not answer")

// CheckTopic returns an error that says what is wrong with a topic's name.
func CheckTopic(name string) error {
	ok := name != "" && len(name) <= 64
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("topic %.80q: want 1 to 64 of the characters a-z, 0-9 and -", name)
	}
	return nil
}

// CheckData returns an error that says what is wrong with a message's data.
func CheckData(topic string, data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("topic %s: a message of %d bytes: want %d at most", topic, len(data), MaxData)
	}
	return nil
}
