package dial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tamtam/collector/topology"
)

// maxGet is the maximum response time of a switch, and maxReply the maximum length of its response in bytes.
const (
	maxGet   = 10 * time.Second
	maxReply = 16 << 20
)

type getter struct {
	o    Options
	conn *grpc.ClientConn
}

// get reads the data below a path into out. It returns false if there is none.
func (g getter) get(ctx context.Context, out any, names ...string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxGet)
	defer cancel()
	if g.o.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", g.o.User, "password", g.o.Password)
	}
	p := &gpb.Path{}
	for _, name := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	ask := &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON_IETF}
	reply, err := gpb.NewGNMIClient(g.conn).Get(ctx, ask, grpc.MaxCallRecvMsgSize(maxReply))
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", text(p.GetElem()), err)
	}
	for _, n := range reply.GetNotification() {
		for _, u := range n.GetUpdate() {
			if len(join(n.GetPrefix(), u.GetPath())) != len(names) {
				return false, fmt.Errorf("get %s: the server sends %s, want JSON of the requested path", text(p.GetElem()),
					text(join(n.GetPrefix(), u.GetPath())))
			}
			if err := decode(u.GetVal().GetJsonIetfVal(), out); err != nil {
				return false, fmt.Errorf("get %s: the server's JSON: %w", text(p.GetElem()), err)
			}
			return true, nil
		}
	}
	return false, nil
}

// decode reads JSON in which names may have a module prefix.
func decode(raw []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return err
	}
	text, err := json.Marshal(withoutModules(x))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func withoutModules(x any) any {
	switch x := x.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, y := range x {
			if _, after, ok := strings.Cut(name, ":"); ok {
				name = after
			}
			out[name] = withoutModules(y)
		}
		return out
	case []any:
		for i := range x {
			x[i] = withoutModules(x[i])
		}
	}
	return x
}

func (o Options) ask(target string, f func(getter) error) error {
	conn, err := o.client(target)
	if err != nil {
		return err
	}
	err = f(getter{o, conn})
	return errors.Join(err, conn.Close())
}

// Hear returns the topology that switches learn by LLDP. Targets are [NAME=]TARGET. A switch that does not answer is
// noted, and does not count as one without links.
func Hear(ctx context.Context, targets []string, o Options) (*topology.Topology, error) {
	var views []topology.View
	var notes []string
	for _, text := range targets {
		name, target := "", text
		if before, after, ok := strings.Cut(text, "="); ok {
			name, target = before, after
		}
		v, err := ReadLLDP(ctx, name, target, o)
		if err != nil {
			notes = append(notes, fmt.Sprintf("target %s: %v", text, err))
			continue
		}
		views = append(views, v)
	}
	if len(views) == 0 {
		return nil, fmt.Errorf("no switch reports LLDP neighbours: %s", strings.Join(notes, "; "))
	}
	t, err := topology.Join(views)
	if err != nil {
		return nil, err
	}
	t.Notes = append(notes, t.Notes...)
	return t, nil
}

// ReadLLDP reads the LLDP neighbours of a switch. name is the switch's name in the result; if it is "", the system name
// is used.
func ReadLLDP(ctx context.Context, name, target string, o Options) (topology.View, error) {
	v := topology.View{Name: name, Target: target}
	var lldp struct {
		State struct {
			Name    string `json:"system-name"`
			Chassis string `json:"chassis-id"`
			Enabled bool   `json:"enabled"`
		} `json:"state"`
		Interfaces struct {
			Interface []struct {
				Name      string `json:"name"`
				Neighbors struct {
					Neighbor []struct {
						State struct {
							System  string `json:"system-name"`
							Chassis string `json:"chassis-id"`
							Port    string `json:"port-id"`
							About   string `json:"port-description"`
						} `json:"state"`
					} `json:"neighbor"`
				} `json:"neighbors"`
			} `json:"interface"`
		} `json:"interfaces"`
	}
	var id struct {
		Now uint32 `json:"op-switch-id"`
	}
	err := o.ask(target, func(g getter) error {
		_, err := g.get(ctx, &lldp, "lldp")
		if err == nil {
			_, err = g.get(ctx, &id, "tam", "switch", "state")
		}
		return err
	})
	if err != nil {
		return v, err
	}
	if !lldp.State.Enabled {
		return v, errors.New("the switch does not speak LLDP: /lldp/state/enabled is not true")
	}
	v.System, v.Chassis, v.ID = lldp.State.Name, lldp.State.Chassis, id.Now
	for _, i := range lldp.Interfaces.Interface {
		v.Ports = append(v.Ports, i.Name)
		for _, n := range i.Neighbors.Neighbor {
			s := n.State
			v.Neighbors = append(v.Neighbors, topology.Neighbor{
				At: i.Name, System: s.System, Chassis: s.Chassis, PortID: s.Port, PortDescribe: s.About})
		}
	}
	return v, nil
}
