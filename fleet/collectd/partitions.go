package collectd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/fleet/stream"
	"tamtam/internal/command"
)

// topicPartitions says how many partitions the log has, and a name that no other log has: its first message, for as
// long as the log lasts.
const topicPartitions = "partitions"

// agree holds --partitions against what the log was begun with, and says it to a log that is new. Processes that do
// not agree would spread events over partitions that nobody joins. The name of the log is "" if it was begun without
// one.
func agree(ctx context.Context, log stream.Log, partitions int) (name string, err error) {
	said, err := firstOf(ctx, log)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		text := fmt.Appendf(nil, "%d %s", partitions, rand.Text())
		if _, err := log.Append(ctx, topicPartitions, topicPartitions, text); err != nil {
			return "", err
		}
		said, err = firstOf(ctx, log) // of two that begin at once one was first
	}
	if err != nil {
		return "", fmt.Errorf("how many partitions the log has: %w", err)
	}
	count, name, _ := strings.Cut(said, " ")
	if count != strconv.Itoa(partitions) {
		return "", command.Usagef("--partitions %d: the log was begun with %s, and keeps them", partitions, count)
	}
	return name, nil
}

// firstOf waits a while only where the log does not say it yet. That a slow log is told once more changes nothing.
func firstOf(ctx context.Context, log stream.Log) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	entries, err := log.Read(ctx, topicPartitions, 1, 1)
	if err != nil {
		return "", err
	}
	return string(entries[0].Data), nil
}
