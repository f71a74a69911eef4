package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// dissector is the path of tamtam's Wireshark dissector.
const dissector = "../../docs/wireshark/tamtam.lua"

// tshark runs tshark with the dissector on a capture, and returns its output.
func tshark(path string, args ...string) ([]byte, error) {
	cmd := exec.Command("tshark", append([]string{"-X", "lua_script:" + dissector, "-r", path}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || bytes.Contains(stderr.Bytes(), []byte("Lua")) {
		return nil, errors.Join(fmt.Errorf("tshark: %s", &stderr), err)
	}
	return out, nil
}

// readTshark returns tshark's records from a capture of messages.
func (l *lineup) readTshark(path string) (all []reading) {
	out, err := tshark(path, "-T", "json", "--no-duplicate-keys")
	if err != nil {
		l.Fatal(err)
	}
	var frames []struct {
		Source struct {
			Layers struct {
				CFlow  map[string]json.RawMessage `json:"cflow"`
				Tamtam json.RawMessage            `json:"tamtam"`
			} `json:"layers"`
		} `json:"_source"`
	}
	if err := json.Unmarshal(out, &frames); err != nil {
		l.Fatal(err)
	}
	for _, f := range frames {
		all = append(all, l.tsharkFrame(f.Source.Layers.CFlow, f.Source.Layers.Tamtam)...)
	}
	// Excludes messages with frames in their records, whose addresses tshark mistakes for the exporter's.
	wrong, err := tshark(path, "-Y", "udp.srcport < 5003 && cflow.unexpected_sequence_number")
	if err != nil || len(wrong) > 0 {
		l.Errorf("tshark: gaps in the sequence: %s%v", wrong, err)
	}
	return all
}

// tsharkFrame reads the records of a message. tamtam's elements are in a separate list of records. It has an entry for
// each record that contains such elements.
func (l *lineup) tsharkFrame(cflow map[string]json.RawMessage, tamtam json.RawMessage) (all []reading) {
	own := objects(tamtam)
	names := make([]string, 0, len(cflow))
	for name := range cflow {
		names = append(names, name)
	}
	numbered := regexp.MustCompile(`^(?:Set|Flow) (\d+)`)
	order := func(a, b string) int {
		place := func(s string) uint64 {
			if m := numbered.FindStringSubmatch(s); m != nil {
				return l.parsed(m[1])
			}
			return 0
		}
		return int(place(a)) - int(place(b))
	}
	slices.SortFunc(names, order)
	for _, set := range names {
		if !strings.HasPrefix(set, "Set") {
			continue
		}
		flows := map[string]json.RawMessage{}
		if err := json.Unmarshal(cflow[set], &flows); err != nil {
			l.Fatal(err)
		}
		keys := make([]string, 0, len(flows))
		for k := range flows {
			if strings.HasPrefix(k, "Flow ") {
				keys = append(keys, k)
			}
		}
		slices.SortFunc(keys, order)
		for _, k := range keys {
			fields := objects(flows[k])[0]
			if fields["cflow.flow_exporter"] != nil || fields["cflow.private_enterprise_number"] != nil {
				continue // options records are not compared
			}
			r := l.tsharkRecord(fields)
			if fields["cflow.enterprise_private_entry"] != nil {
				for name, v := range own[0] {
					if n, ok := strings.CutPrefix(name, "tamtam.ipfix."); ok {
						r[n] = fmt.Sprint(v)
					}
				}
				if v, ok := r["tamtamRevised"]; ok {
					r["tamtamRevised"] = map[string]string{"0": "false", "1": "true"}[v]
				}
				own = own[1:]
			}
			all = append(all, r)
		}
	}
	return all
}

// objects returns the objects of a list, or the single object.
func objects(b json.RawMessage) (all []map[string]any) {
	if len(b) == 0 {
		return nil
	}
	if json.Unmarshal(b, &all) != nil {
		one := map[string]any{}
		if json.Unmarshal(b, &one) == nil {
			all = []map[string]any{one}
		}
	}
	return all
}

// tsharkRecord converts tshark's field names to elements.
func (l *lineup) tsharkRecord(fields map[string]any) reading {
	r := renamed(fields, map[string]string{"cflow.protocol": "protocolIdentifier", "cflow.packets": "packetDeltaCount",
		"cflow.collection_time_milliseconds": "collectionTimeMilliseconds", "cflow.srcaddr": "sourceIPv4Address",
		"cflow.dstaddr": "destinationIPv4Address", "cflow.srcaddrv6": "sourceIPv6Address",
		"cflow.dstaddrv6": "destinationIPv6Address",
		"cflow.srcport":   "sourceTransportPort", "cflow.dstport": "destinationTransportPort",
		"cflow.inputint":  "ingressInterface",
		"cflow.outputint": "egressInterface", "cflow.layer2_octet_delta_count": "layer2OctetDeltaCount",
		"cflow.drop_packets":         "droppedPacketDeltaCount",
		"cflow.data_link_frame_size": "dataLinkFrameSize", "cflow.section_header": "ipHeaderPacketSection",
		"cflow.section_payload": "ipPayloadPacketSection", "cflow.data_link_frame_section": "dataLinkFrameSection",
		"cflow.observation_time_nanoseconds": "observationTimeNanoseconds"})
	if v, ok := fields["Forwarding Status"].(map[string]any); ok { // the upper two and the lower six bits
		r["forwardingStatus"] = number(l.parsed(fmt.Sprint(v["cflow.forwarding_status"]))<<6 |
			l.parsed(fmt.Sprint(cmp.Or(v["cflow.forwarding_status_drop_code"], v["cflow.forwarding_status_consume_code"]))))
	}
	starts, ends := times(fields, "cflow.abstimestart"), times(fields, "cflow.abstimeend")
	for name, at := range map[string][]string{"flowStart": starts, "flowEnd": ends} {
		for i, unit := range []string{"Milliseconds", "Nanoseconds"}[:len(at)] {
			r[name+unit] = at[i]
		}
	}
	for name, v := range r {
		if strings.HasSuffix(name, "Section") {
			r[name] = strings.ReplaceAll(v, ":", "")
		}
		if at, err := time.Parse("Jan _2, 2006 15:04:05.000000000 MST", v); err == nil {
			if r[name] = number(at.UnixNano()); strings.HasSuffix(name, "Milliseconds") {
				r[name] = number(at.UnixMilli())
			}
		}
	}
	return r
}

// times returns all values of a field, at the top level and inside tshark's difference of begin and end.
func times(fields map[string]any, name string) (all []string) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			if at, ok := v[name]; ok {
				walk(at)
			}
		}
	}
	walk(fields[name])
	if tree, ok := fields["cflow.timedelta_tree"]; ok {
		walk(tree)
	}
	return all
}
