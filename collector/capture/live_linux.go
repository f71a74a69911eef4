package capture

import (
	"context"
	"fmt"
	"sync"

	"github.com/gopacket/gopacket/pcapgo"
)

// Live reads the frames of an interface of this host as they come.
type Live struct {
	name   string
	handle *pcapgo.EthernetHandle
	number int64

	mu    sync.Mutex
	ended bool // handle is closed, and what it had lost since the last question is in lost and err
	lost  uint64
	err   error
}

// Listen opens an interface for all frames that pass it, both ways, also those for others. It needs CAP_NET_RAW.
func Listen(name string) (*Live, error) {
	h, err := pcapgo.NewEthernetHandle(name)
	if err == nil {
		if err = h.SetPromiscuous(true); err != nil {
			h.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return &Live{name: name, handle: h}, nil
}

// Next waits for the next frame, until ctx ends. A VLAN tag that the kernel took out of it is not in it.
func (l *Live) Next(ctx context.Context) (Packet, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	data, info, err := l.handle.ReadPacketData()
	if err := ctx.Err(); err != nil {
		return Packet{}, err
	}
	if err != nil {
		return Packet{}, fmt.Errorf("interface %s: %w", l.name, err)
	}
	l.number++
	return Packet{Time: info.Timestamp.UTC(), Data: data, Len: max(info.Length, len(data)), Number: l.number}, nil
}

// Lost is how many frames there was no room for since the last call: this process was too slow. It can be asked once
// more after the end.
func (l *Live) Lost() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		lost, err := l.lost, l.err
		l.lost = 0
		return lost, err
	}
	return l.ask()
}

func (l *Live) ask() (uint64, error) {
	stats, err := l.handle.Stats()
	if err != nil {
		return 0, fmt.Errorf("interface %s: ask what was lost: %w", l.name, err)
	}
	return uint64(stats.Drops), nil
}

// Close ends the reading.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	l.lost, l.err = l.ask()
	return l.handle.Close()
}
