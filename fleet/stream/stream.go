package stream

import (
	"context"
	"errors"
	"fmt"
)

// MaxData is the maximum length of a message in bytes.
const MaxData = 64 << 10

// A Log keeps topics. A topic exists as soon as it is used; its name is 1 to 64 of the characters a-z, 0-9 and "-". It
// is either read in order by one reader at a time (Read, Acknowledge), or shared out (Claim). All methods may be called
// concurrently.
type Log interface {
	// Append adds a message at the end of a topic and returns its sequence, which counts from 1 without gaps. When it
	// returns without an error the message is kept. If the log is full it waits for capacity until ctx ends.
	//
	// A message whose id was appended recently is not appended again, and the sequence of the first is returned. An
	// empty id never matches. How long ids are remembered depends on the implementation, so a reader that must have
	// nothing twice checks for itself.
	Append(ctx context.Context, topic, id string, data []byte) (uint64, error)

	// Read returns messages from the given sequence on, at most the given number. It waits for at least one until ctx
	// ends. If the message at that sequence is no longer kept the error is a *Gone. The caller must not change the
	// data.
	Read(ctx context.Context, topic string, from uint64, most int) ([]Entry, error)

	// Acknowledge releases the messages up to this sequence: they need not be kept.
	Acknowledge(ctx context.Context, topic string, upTo uint64) error

	// Claim waits until ctx ends for a message of the topic that no worker holds, and holds it for the caller.
	Claim(ctx context.Context, topic string) (Work, error)
}

// An Entry is a message in its topic.
type Entry struct {
	Seq  uint64
	Data []byte
}

// Work is a message that only the caller holds. If the caller ends, or does not call Hold for HoldTime, the message is
// given to another worker. So its effect must be harmless when it happens twice.
type Work interface {
	Entry() Entry
	// Hold extends the hold. It fails if the message may have been given to another worker.
	Hold(ctx context.Context) error
	// Done finishes the work: it is not given again.
	Done(ctx context.Context) error
	// Return gives the message back at once, for another worker.
	Return(ctx context.Context) error
}

// Gone is the error for a message that is no longer kept: acknowledged, dropped for age or size, or damaged.
type Gone struct {
	Topic   string
	Seq     uint64 // requested sequence
	First   uint64 // first sequence that is kept or will be
	Damaged bool   // true if the log still keeps the message but cannot read it
	Deleted bool   // true if the topic was deleted and created again: the number of messages that it had is unknown
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

// ErrLost is the error of Hold and Done if another worker may have the work.
var ErrLost = errors.New("the work was not held in time: another worker may have it")

// ErrAway is in the error of a call whose context ended before the log answered: whether messages exist is unknown.
var ErrAway = errors.New("the log does not answer")

// CheckTopic returns an error that explains why the name of a topic is invalid, nil if it is valid.
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

// CheckData returns an error if the data of a message is too long.
func CheckData(topic string, data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("topic %s: a message of %d bytes: want %d at most", topic, len(data), MaxData)
	}
	return nil
}
