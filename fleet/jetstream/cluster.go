package jetstream

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
)

// StartCluster starts the servers of a cluster on this host, each in its own folder below that of the options.
func StartCluster(nodes int, o ServerOptions) ([]*Server, error) {
	options := make([]ServerOptions, nodes)
	for i := range options {
		clients, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		others, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		options[i] = o
		options[i].Name, options[i].Listen, options[i].Cluster = fmt.Sprint("node-", i+1), clients, others
		options[i].Dir = filepath.Join(o.Dir, options[i].Name)
	}
	servers, errs := make([]*Server, nodes), make([]error, nodes)
	var all sync.WaitGroup
	for i := range options {
		for j := range options {
			if i != j {
				options[i].Routes = append(options[i].Routes, options[j].Cluster)
			}
		}
		all.Go(func() { servers[i], errs[i] = StartServer(options[i]) })
	}
	all.Wait()
	err := errors.Join(errs...)
	if err != nil {
		for _, s := range servers {
			if s != nil {
				s.Close()
			}
		}
	}
	return servers, err
}

// FreeAddress returns an address of this host that is not in use now.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
