package mgmt

import (
	"fmt"
	"testing"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// rateOf writes the rate of a sampler.
func (b *bed) rateOf(name string, rate int) {
	b.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|" + name: fmt.Sprintf("sampling-rate=%d", rate)})
}

// A role that may read one entry is not notified of changes of other entries while it subscribes. This also holds for
// updates that are already encoded, because other clients may read them.
func TestRolesOfStreams(t *testing.T) {
	clock := newHandClock()
	b := staffed(t, "r read /tam/samplers/sampler[name=a]\nr read /tam/samplers/sampler[name=c]/config/name\n",
		func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(samplers("1", "1"))
	const configs = "/tam/samplers/sampler[name=*]/config"
	nameA := "U /tam/samplers/sampler[name=a]/config/name \"a\""
	nameC := "U /tam/samplers/sampler[name=c]/config/name \"c\""
	sampled := func(p string) *gpb.SubscriptionList {
		list := streamOf(subOf(sample, p))
		list.Subscription[0].SampleInterval = uint64(time.Second)
		return list
	}
	// so that the updates are encoded for root first
	all := b.subscribeGated(b.as("root"), streamOf(subOf(onChange, configs)), true)
	allSampled := b.subscribeGated(b.as("root"), sampled(rates), true)
	b.want("the administrator", allSampled, "U "+rateA+" 1", "U "+rateB+" 1", "S")
	b.wantLines("the administrator", all, 5, "S")
	one := b.subscribeGated(b.as("u"), streamOf(subOf(onChange, configs)), true)
	oneSampled := b.subscribeGated(b.as("u"), sampled(rates), true)
	b.want("the role", oneSampled, "U "+rateA+" 1", "S")
	b.wantLines("the role", one, 3, nameA, "U "+rateA+" 1", "S")
	for i := 2; i < 6; i++ {
		b.rateOf("b", i)
		b.wantLines("the administrator", all, 1, fmt.Sprintf("U %s %d", rateB, i))
		b.rateOf("c", i)
		rateC := fmt.Sprintf("U /tam/samplers/sampler[name=c]/config/sampling-rate %d", i)
		if i == 2 { // the entry is new
			b.wantLines("the administrator", all, 2, rateC, nameC)
			b.want("the role", one, nameC)
		} else {
			b.wantLines("the administrator", all, 1, rateC)
		}
		b.rateOf("a", i)
		b.wantLines("the administrator", all, 1, fmt.Sprintf("U %s %d", rateA, i))
		b.wantLines("the role", one, 1, fmt.Sprintf("U %s %d", rateA, i))
		<-clock.set
		clock.advance(time.Second)
		b.wantLines("the administrator", allSampled, 3, fmt.Sprintf("U %s %d", rateB, i))
		b.want("the role", oneSampled, fmt.Sprintf("U %s %d", rateA, i))
	}
	b.rows(samplers("6", ""))
	b.wantLines("the administrator", all, 2, "D /tam/samplers/sampler[name=b]/config")
	b.want("the role", one, "U "+rateA+" 6")
	b.server.hub.Distrust() // all is read again
	b.rateOf("b", 7)
	b.wantLines("the administrator", all, 2, "U "+rateB+" 7")
	b.rateOf("a", 8)
	b.want("the role", one, "U "+rateA+" 8")
}

// wantLines checks that the next messages have n lines, and that the given ones are among them.
func (b *bed) wantLines(what string, c *gatedClient, n int, text ...string) {
	b.t.Helper()
	seen := map[string]bool{}
	for len(seen) < n {
		select {
		case got := <-c.got:
			for _, line := range got {
				seen[line] = true
			}
		case err := <-c.ended:
			b.t.Fatalf("%s ended after %v: %v", what, tree.SortedKeys(seen), err)
		case <-b.ctx.Done():
			b.t.Fatalf("%s got %v only, want %d lines", what, tree.SortedKeys(seen), n)
		}
	}
	for _, w := range text {
		if !seen[w] || len(seen) > n {
			b.t.Fatalf("%s got %q, want %d lines, and %q among them", what, tree.SortedKeys(seen), n, w)
		}
	}
}

// A right that is revoked ends the streams, of changes and of samples, before anything further is sent.
func TestRightIsRevokedFromStreams(t *testing.T) {
	f := newFiled(t)
	f.write(t, f.roles, "r read /tam/samplers/sampler[name=a]\nr read /tam/samplers/sampler[name=b]\n")
	f.rows(samplers("1", "1"))
	list := streamOf(subOf(sample, rates))
	list.Subscription[0].SampleInterval = uint64(time.Hour)
	clients := map[string]*gatedClient{
		"a stream": f.subscribeGated(f.as("u"), streamOf(subOf(onChange, rates)), true),
		"samples":  f.subscribeGated(f.as("u"), list, true),
	}
	all := f.subscribeGated(f.as("root"), streamOf(subOf(onChange, rates)), true)
	f.want("the administrator", all, "U "+rateA+" 1", "U "+rateB+" 1", "S")
	for what, c := range clients {
		f.want(what, c, "U "+rateA+" 1", "U "+rateB+" 1", "S")
	}
	f.rateOf("b", 2)
	f.want("a stream", clients["a stream"], "U "+rateB+" 2")
	f.write(t, f.roles, "r read /tam/samplers/sampler[name=a]\n")
	f.server.guard.EndSessions()
	f.rateOf("b", 3)
	f.want("the administrator", all, "U "+rateB+" 2", "U "+rateB+" 3")
	for what, c := range clients {
		wantErr(t, <-c.ended, "Unavailable", "user u has other rights now")
		if len(c.got) > 0 {
			t.Errorf("%s was sent %q", what, <-c.got)
		}
	}
	again := f.subscribeGated(f.as("u"), streamOf(subOf(onChange, rates)), true)
	f.want("a new stream", again, "U "+rateA+" 1", "S")
	f.rateOf("b", 4)
	f.want("the administrator", all, "U "+rateB+" 4")
	f.rateOf("a", 2)
	f.want("a new stream", again, "U "+rateA+" 2")
}
