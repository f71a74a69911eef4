package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"tamtam/fleet/jetstream"
)

// cluster starts servers in this process that are a cluster, and returns their URLs.
func cluster(dir string, nodes int, sync time.Duration) ([]*jetstream.Server, []string, error) {
	options := make([]jetstream.ServerOptions, nodes)
	var urls []string
	for i := range options {
		clients, err := freeAddress()
		if err != nil {
			return nil, nil, err
		}
		others, err := freeAddress()
		if err != nil {
			return nil, nil, err
		}
		name := fmt.Sprint("node-", i+1)
		options[i] = jetstream.ServerOptions{Name: name, Dir: filepath.Join(dir, name), Listen: clients, Cluster: others,
			Sync: sync}
		urls = append(urls, "nats://"+clients)
	}
	type started struct {
		server *jetstream.Server
		err    error
	}
	all := make(chan started)
	for i := range options {
		for j := range options {
			if i != j {
				options[i].Routes = append(options[i].Routes, options[j].Cluster)
			}
		}
		go func() {
			s, err := jetstream.StartServer(options[i])
			all <- started{s, err}
		}()
	}
	var servers []*jetstream.Server
	var failed error
	for range options {
		s := <-all
		failed = errors.Join(failed, s.err)
		if s.err == nil {
			servers = append(servers, s.server)
		}
	}
	if failed != nil {
		for _, s := range servers {
			s.Close()
		}
	}
	return servers, urls, failed
}

// freeAddress is one of this host that nobody listens at now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
