package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"tamtam/lab/bench/chipload"
)

var loads = map[string]chipload.Load{
	"plain": {}, "routed": {Routes: 1000}, "ecmp": {Routes: 1024, ECMP: true},
	"rules": {Rules: 1000}, "stamped": {Rules: 1000, Stamp: true}, "all": {Rules: 1000, Stamp: true, Sketch: true},
	"cmu": {Flows: 1024, Groups: 9}, "vlanrow": {Sketch: true},
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	f, err := chipload.New(context.Background(), loads[os.Args[1]])
	if err == nil {
		err = warm(f)
	}
	if err == nil {
		err = measured(f, n)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

//go:noinline
func warm(f *chipload.Feed) error { return f.Send(4000) }

//go:noinline
func measured(f *chipload.Feed, n int) error { return f.Send(n) }
