package hft

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// The state that an exporter can make a decoder keep is limited, and what is beyond is counted.
func TestBounds(t *testing.T) {
	d := newDecoder(t, 0, nil)
	send := func(text string) {
		t.Helper()
		if err := d.Messages(octets(t, text), func(*Record) {}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxStreams + 10 { // a stream for each object type, of one template that changes
		send(fmt.Sprintf("000a0038 00000000 %08x 00000000 00020014 01000002 01450008 80010008 %04x0002 "+
			"01000014 %016x 0000000000000001", i, 1+i, i))
	}
	if n := len(d.Streams()); n != MaxStreams || d.counts.Beyond != 10 || d.Counts().Samples != MaxStreams+10 {
		t.Errorf("%d streams, want %d; %+v", n, MaxStreams, d.Counts())
	}
	d = newDecoder(t, 0, nil)
	labels := map[uint16]string{}
	for i := range uint16(MaxLabel) {
		labels[i] = "x"
	}
	template := octets(t, strings.Fields(strings.TrimSpace(vectorTemplates))[0]+
		"00000000 00000001 00000000 0002001c 01000003 01450008 80010008 00010002 80020008 80038004")
	for i := range uint16(6) { // each with as many names as there are labels
		binary.BigEndian.PutUint16(template[20:], 256+i)
		if err := d.Session(template, labels); err != nil {
			t.Fatal(err)
		}
	}
	if d.named > MaxNames || d.counts.Beyond != 2 {
		t.Errorf("%d names, want at most %d; %d sessions are beyond, want 2", d.named, MaxNames, d.counts.Beyond)
	}
	for i := range uint16(6) { // the templates come again without names
		binary.BigEndian.PutUint16(template[20:], 256+i)
		if err := d.Session(template, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d.named != 0 {
		t.Errorf("%d names are left of none", d.named)
	}
}

// A template that is replaced by another configuration of the same id is reported, and so is a label that changes its
// object.
func TestRedefined(t *testing.T) {
	var events []string
	d := newDecoder(t, 10, func(e Event) { events = append(events, fmt.Sprint(e.Kind, " ", e.Template)) })
	template := func(id, statistic int) []byte {
		return octets(t, fmt.Sprintf("000a0024 00000000 00000000 00000000 00020014 %04x0002 01450008 80010008 0001%04x", id,
			statistic))
	}
	record := func(id, sequence, at int) []byte {
		return octets(t, fmt.Sprintf("000a0024 00000000 %08x 00000000 %04x0014 %016x 0000000000000001", sequence, id, at))
	}
	for i, c := range []struct {
		id, statistic int
		name          string
	}{{256, 1, "a"}, {256, 1, "a"}, {256, 2, "a"}, {257, 2, "b"}} {
		if err := d.Session(template(c.id, c.statistic), map[uint16]string{1: c.name}); err != nil {
			t.Fatal(err)
		}
		if err := d.Messages(record(c.id, i, 10*i), func(r *Record) {
			if r.Columns[0].Object != c.name || int(r.Columns[0].ID) != c.statistic || r.Interval != 10 {
				t.Errorf("%+v, want %+v", r, c)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := "redefined 256, switched 257, relabelled 257"
	if got := strings.Join(events, ", "); got != want || d.Streams()[0].Relabelled != 1 {
		t.Errorf("%s, want %s; %+v", got, want, d.Streams())
	}
}
