package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"tamtam/cli/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A parsed path is printed as it was written, whatever its keys contain.
func TestParsePath(t *testing.T) {
	for _, text := range []string{
		"/tam", "/tam/collectors/collector[name=c1]/state", "/a[b=c][d=e/f]", `/a[b=\]\\]/c`, "/a[b=x=y]", "/a[b=]",
	} {
		p, err := parsePath(text)
		if err != nil {
			t.Error(err)
		} else if got := tree.ElemsText(p.GetElem()); got != text {
			t.Errorf("%s: %s", text, got)
		}
	}
	want := &gpb.Path{Elem: []*gpb.PathElem{{Name: "a", Key: map[string]string{"b": "*"}}, {Name: "c"}}}
	if p, err := parsePath("/a[b=*]/c"); err != nil || !proto.Equal(p, want) {
		t.Errorf("%v, %v", p, err)
	}
	for text, want := range map[string]string{
		"": "a / before", "tam": "a / before", "/tam/": "a name behind tam", "//tam": "a name behind each /",
		"/a[b]": "[KEY=VALUE] behind a", "/a[=c]": "[KEY=VALUE]", "/a[b=c": "[KEY=VALUE]",
		"/a[b=c]d": "a / and a name behind a", `/a[b=\]`: "[KEY=VALUE]",
	} {
		if _, err := parsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// lineWriter passes on each line that is printed.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- strings.TrimSpace(string(b))
	return len(b), nil
}

// Existing values are printed first, then changes and deletions. The count or the caller ends it.
func TestSubscribe(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, schema.CfgTAMCollector, "c1", swss.FieldValues{"ipaddress": "10.0.0.1", "port": "9555"})
	conf, out := s.session.Config, make(lineWriter)
	conf.Out = out
	done := make(chan error, 1)
	go func() {
		done <- Subscribe(t.Context(), conf, Subscription{Paths: []string{"/tam/collectors/collector[name=*]/config/port"},
			Count: 3})
	}()
	const port = "/tam/collectors/collector[name=c1]/config/port"
	next := func(want string) {
		t.Helper()
		if got := <-out; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	next(port + " 9555")
	row(t, r, swss.ConfigDB, schema.CfgTAMCollector, "c1", swss.FieldValues{"ipaddress": "10.0.0.1", "port": "9556"})
	next(port + " 9556")
	if err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgTAMCollector).Del(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	next(port + " deleted")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSubscribeRefused(t *testing.T) {
	s, _ := newSwitch(t)
	conf := s.session.Config
	conf.Out = io.Discard
	for path, want := range map[string]string{"tam": "a / before", "/no/such": "no"} {
		if err := Subscribe(t.Context(), conf, Subscription{Paths: []string{path}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Subscribe(ctx, conf, Subscription{Paths: []string{"/tam"}}); err == nil {
		t.Error("ended without an error")
	}
	conf.Out = failing{}
	row := Subscription{Paths: []string{"/interfaces"}}
	if err := Subscribe(t.Context(), conf, row); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

type failing struct{ bytes.Buffer }

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
