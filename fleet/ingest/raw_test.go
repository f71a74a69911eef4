package ingest

import (
	"encoding/binary"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/saisim/drop"
	"tamtam/tam/ipfix"
)

// A report of a drop with a field of unexpected length is sent without that field. If the field is required, such as
// the number of packets, the report is undecoded and lost. No such field is read as a number.
func TestRawFields(t *testing.T) {
	ntp, _ := ipfix.NTP(uint64(start.Unix()), 0)
	fields := []struct {
		id    uint16
		own   bool
		bytes int
		value uint64
		raw   func(d *dropText) // applies the expected change; nil means that the report is lost
	}{
		{325, false, 8, ntp, func(d *dropText) { d.unsynchronised = true }},
		{133, false, 8, 7, nil},
		{49, true, 1, uint64(drop.NoRoute), nil},
		{51, true, 1, 0, nil},
		{10, false, 4, 5, func(d *dropText) { d.port = "" }},
		{14, false, 4, 9, func(*dropText) {}},
		{52, true, 1, 3, func(d *dropText) { d.queue = -1 }},
		{4, false, 1, 17, func(d *dropText) { d.flow = "" }},
		{8, false, 4, 0x0a000001, func(d *dropText) { d.flow = "" }},
		{12, false, 4, 0x0a000002, func(d *dropText) { d.flow = "" }},
		{7, false, 2, 1000, func(d *dropText) { d.flow = "" }},
		{11, false, 2, 53, func(d *dropText) { d.flow = "" }},
	}
	for wide := -1; wide < len(fields); wide++ {
		template, data := []byte{1, 0, 0, byte(len(fields))}, []byte(nil)
		for i, f := range fields {
			n := f.bytes
			v := binary.BigEndian.AppendUint64(nil, f.value)[8-n:]
			if i == wide {
				v = append(make([]byte, 17-n), v...) // no type has 17 bytes
				n = 17
			}
			id := f.id
			if f.own {
				id |= 1 << 15
			}
			template = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(template, id), uint16(n))
			if f.own {
				template = binary.BigEndian.AppendUint32(template, ipfix.DefaultEnterprise)
			}
			data = append(data, v...)
		}
		m := []byte{0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, byte(4 + len(template))}
		m = append(append(m, template...), 1, 0, 0, byte(4+len(data)))
		m = append(m, data...)
		binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
		binary.BigEndian.PutUint32(m[4:], uint32(start.Unix()))

		want := &dropText{port: "Ethernet4", reason: "no-route", flow: "UDP 10.0.0.1:1000 > 10.0.0.2:53", packets: 7,
			queue: 3}
		if wide >= 0 && fields[wide].raw != nil {
			fields[wide].raw(want)
		} else if wide >= 0 {
			want = nil
		}
		rows, stats, counts := reported(t, func(r *Reports) {
			if err := r.IPFIX(t.Context(), exporterAt, m, start.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		})
		if want == nil {
			if len(rows) != 0 || counts.Undecoded != 1 || stats.Lost != 1 || counts.Others != 0 {
				t.Errorf("field %d: %+v, %+v, %+v: want one that is undecoded and lost", fields[wide].id, rows, counts, stats)
			}
			continue
		}
		if len(rows) != 1 || counts.Undecoded+counts.Bad+counts.Others != 0 || stats.Lost != 0 {
			t.Errorf("field %d: %+v, %+v, %+v: want one row", wide, rows, counts, stats)
			continue
		}
		r := rows[0]
		got := dropText{r.Port, r.Reason, r.Flow, r.Packets, r.Queue, r.Flags&result.Unsynchronised != 0}
		if got != *want {
			t.Errorf("field %d: %+v, want %+v", wide, got, *want)
		}
	}
}

// dropText holds the checked fields of a row.
type dropText struct {
	port, reason, flow string
	packets            int64
	queue              int
	unsynchronised     bool
}
