package outputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// An HTTPLink is a link that sends each message as the body of a POST request. Connect makes no connection; only a
// message shows whether a receiver exists.
type HTTPLink struct {
	url         string
	contentType string
	zip         bool
	judge       func(resp *http.Response, answer []byte) error
	client      *http.Client
}

// mostAnswer bounds the bytes that are read of a response.
const mostAnswer = 64 << 10

// NewHTTP returns a link that posts to a target. zip compresses the bodies. judge returns the error of [Link.Send] for
// a response, unless its status asks the client to try again later.
func NewHTTP(
	to Target, conf *tls.Config, contentType string, zip bool, judge func(resp *http.Response, answer []byte) error,
) *HTTPLink {
	return &HTTPLink{url: to.String(), contentType: contentType, zip: zip, judge: judge, client: &http.Client{
		Transport:     &http.Transport{TLSClientConfig: conf, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Connect implements Link.
func (l *HTTPLink) Connect(context.Context) error { l.Close(); return nil }

// Close implements Link.
func (l *HTTPLink) Close() { l.client.CloseIdleConnections() }

// Send implements Link.
func (l *HTTPLink) Send(ctx context.Context, data []byte) error {
	if l.zip {
		var body bytes.Buffer
		z := gzip.NewWriter(&body)
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		data = body.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", l.contentType)
	req.Header.Set("User-Agent", "tamtam")
	if l.zip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 12)
		return &BusyError{Err: errors.New(resp.Status), After: time.Duration(seconds) * time.Second}
	}
	return l.judge(resp, answer)
}
