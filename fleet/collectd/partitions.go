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

// topicPartitions holds the number of partitions of the log, and its unique name, in its first message, for as long as
// the log lasts.
const topicPartitions = "partitions"

// agree compares --partitions with the number that the log was created with, and records it in a new log. Processes
// with different numbers would use partitions that no worker joins. The name of the log is "" if it was created without
// one.
func agree(ctx context.Context, log stream.Log, partitions int) (name string, err error) {
	said, err := firstOf(ctx, log)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		text := fmt.Appendf(nil, "%d %s", partitions, rand.Text())
		if _, err := log.Append(ctx, topicPartitions, topicPartitions, text); err != nil {
			return "", err
		}
		said, err = firstOf(ctx, log) // if two processes start at once, one was first
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

// firstOf returns the first message of the topic. It waits up to two seconds, in vain only if the log is new. A slow
// log may therefore get a second message, which changes nothing.
func firstOf(ctx context.Context, log stream.Log) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	entries, err := log.Read(ctx, topicPartitions, 1, 1)
	if err != nil {
		return "", err
	}
	return string(entries[0].Data), nil
}
