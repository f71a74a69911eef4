package sairedis

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// Notifications returns the source of syncd's notifications. [ParseNotification] decodes them.
func (c *Client) Notifications(l *swss.Listener) swss.Source {
	return swss.NewNotificationConsumer(l, c.asic, protocol.Notifications)
}

// The JSON of notifications; members in alphabetical order.
type (
	portStateJSON struct {
		Error string `json:"port_error_status"`
		Port  string `json:"port_id"`
		State string `json:"port_state"`
	}
	fdbEventJSON struct {
		Entry string     `json:"fdb_entry"`
		Event string     `json:"fdb_event"`
		List  []attrJSON `json:"list"`
	}
	attrJSON struct {
		ID    string `json:"id"`
		Value string `json:"value"`
	}
	shutdownJSON struct {
		Switch string `json:"switch_id"`
	}
)

// formatNotification returns op and data of a notification.
func formatNotification(n sai.Notification) (op, data string, err error) {
	var j any
	switch n := n.(type) {
	case sai.PortState:
		op = "port_state_change"
		j = []portStateJSON{{"SAI_PORT_ERROR_STATUS_CLEAR", n.Port.String(), sai.EnumName(sai.PortAttrOperStatus, n.Oper)}}
	case sai.FDBEvent:
		op = "fdb_event"
		pairs, err := protocol.FormatAttrs(n.Attrs)
		if err != nil {
			return "", "", err
		}
		e, _ := sai.LookupEnum("sai_fdb_event_t")
		event, _ := e.ValueName(n.Event)
		f := fdbEventJSON{Entry: sai.FormatEntry(n.Entry), Event: event, List: []attrJSON{}}
		for _, p := range pairs {
			f.List = append(f.List, attrJSON{p.Field, p.Value})
		}
		j = []fdbEventJSON{f}
	case sai.TelTypeConfigChange:
		return "tam_tel_type_config_change", n.TelType.String(), nil
	case sai.ShutdownRequest:
		op = "switch_shutdown_request"
		j = shutdownJSON{n.Switch.String()}
	default:
		return "", "", fmt.Errorf("sairedis: notification %T cannot be sent", n)
	}
	b, err := json.Marshal(j)
	return op, string(b), err
}

// ParseNotification decodes one message of the source of [Client.Notifications]. It returns none for unknown kinds.
func ParseNotification(k swss.KeyOpFieldsValues) ([]sai.Notification, error) {
	bad := func(err error) error { return fmt.Errorf("sairedis: notification %s %.200q: %w", k.Op, k.Key, err) }
	switch k.Op {
	case "port_state_change":
		var list []portStateJSON
		if err := json.Unmarshal([]byte(k.Key), &list); err != nil {
			return nil, bad(err)
		}
		var out []sai.Notification
		for _, j := range list {
			port, err := sai.ParseOID(j.Port)
			if err != nil {
				return nil, bad(err)
			}
			state, err := sai.ParseValue(sai.PortAttrOperStatus, j.State)
			if err != nil {
				return nil, bad(err)
			}
			out = append(out, sai.PortState{Port: port, Oper: state.(sai.Enum)})
		}
		return out, nil
	case "fdb_event":
		return parseFDBEvents(k, bad)
	case "tam_tel_type_config_change":
		oid, err := sai.ParseOID(k.Key)
		return []sai.Notification{sai.TelTypeConfigChange{TelType: oid}}, err
	case "switch_shutdown_request":
		var j shutdownJSON
		if err := json.Unmarshal([]byte(k.Key), &j); err != nil {
			return nil, bad(err)
		}
		sw, err := sai.ParseOID(j.Switch)
		if err != nil {
			return nil, bad(err)
		}
		return []sai.Notification{sai.ShutdownRequest{Switch: sw}}, nil
	}
	return nil, nil
}

func parseFDBEvents(k swss.KeyOpFieldsValues, bad func(error) error) ([]sai.Notification, error) {
	var list []fdbEventJSON
	if err := json.Unmarshal([]byte(k.Key), &list); err != nil {
		return nil, bad(err)
	}
	var out []sai.Notification
	for _, j := range list {
		key, err := sai.ParseKeyOf(sai.ObjectTypeFDBEntry, j.Entry)
		if err != nil {
			return nil, bad(err)
		}
		e, _ := sai.LookupEnum("sai_fdb_event_t")
		event, ok := e.Value(j.Event)
		if !ok {
			return nil, bad(fmt.Errorf("unknown event %q", j.Event))
		}
		n := sai.FDBEvent{Event: event, Entry: key.Entry.(sai.FDBEntry)}
		for _, a := range j.List {
			attr, err := protocol.ParseAttr(sai.ObjectTypeFDBEntry, swss.Pair{Field: a.ID, Value: a.Value}, sai.ParseValue)
			if err != nil {
				return nil, bad(err)
			}
			n.Attrs = append(n.Attrs, attr)
		}
		out = append(out, n)
	}
	return out, nil
}
