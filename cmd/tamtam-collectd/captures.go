package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tamtam/collector/stream"
)

// topicCaptures has a message for each time that somebody began to read a capture into the log: what it has, and when.
const topicCaptures = "captures"

// unread returns those of captures that nobody began to read into the log before, and notes that they are read now. One
// that is read once more would double its rows.
func (o *opener) unread(ctx context.Context, paths []string) (left []string, err error) {
	for _, path := range paths {
		sum, err := sumOf(path)
		if err != nil {
			return nil, fmt.Errorf("--pcap: %w", err)
		}
		before, err := began(ctx, o.books, sum, o.started)
		if err != nil {
			return nil, fmt.Errorf("--pcap %s: whether it was read before: %w", path, err)
		}
		if before != "" {
			o.logger.Warn("a capture was read into this log before, to its end or to that of who read it: it is not read "+
				"again, which would double its rows; want another --log and --store for that", "pcap", path, "began", before)
			continue
		}
		left = append(left, path)
	}
	return left, nil
}

// sumOf is a name for what is in a file.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// began notes that a capture is read, and returns when somebody began with it before; "": nobody did.
func began(ctx context.Context, log stream.Log, sum string, now time.Time) (before string, err error) {
	mine, err := log.Append(ctx, topicCaptures, "", []byte(sum+" "+now.UTC().Format(time.RFC3339)))
	if err != nil {
		return "", err
	}
	for next := uint64(1); next < mine; {
		entries, err := log.Read(ctx, topicCaptures, next, 64)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if other, at, _ := strings.Cut(string(e.Data), " "); other == sum && e.Seq < mine {
				return at, nil
			}
			next = e.Seq + 1
		}
	}
	return "", nil
}
