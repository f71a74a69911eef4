package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// calm is the quiet time after which a container that is not ready must be reported as unhealthy. A daemon counts as
// silent after five seconds. The next check starts within five more seconds, and lasts at most six seconds.
const calm = 18 * time.Second

// A containerSwitch is a switch of containers that suffers arbitrary faults.
type containerSwitch struct {
	*turmoil
	composition *composition
	ids         map[string]string // containers, by service
	ailing      map[string]string // fault of each container: "killed", "paused" or "cut"
	network     string
	at          string // address of Redis
	ready, not  int    // number of storms after which all containers were healthy, and after which not
}

func startHarbour(t *testing.T, seed uint64) *containerSwitch {
	c := compose(t, device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata}, fmt.Sprintf(`
services:
  syncd:
    command: [run, syncd, --redis, "redis:6379", --profile, %s]
`, profile.Small().Name))
	c.up()
	h := &containerSwitch{composition: c, ids: map[string]string{}, ailing: map[string]string{}}
	for _, name := range inhabited {
		h.ids[name] = c.id(name)
	}
	redis := c.inspect(h.ids["redis"])
	for h.network = range redis.NetworkSettings.Networks {
	}
	h.turmoil = newTurmoil(&liveSwitch{T: t}, rand.New(rand.NewPCG(seed, 8)))
	h.reach()
	if _, err := h.redis.RunID(t.Context()); err != nil {
		t.Skipf("the containers' network is not reached from here: %v", err)
	}
	return h
}

// reach determines Redis' address, which may change when it joins the network again.
func (h *containerSwitch) reach() {
	if at := h.composition.inspect(h.ids["redis"]).address(); at != "" && at != h.at {
		h.at, h.redis = at, h.composition.redisAt(at)
	}
}

// do runs a docker command for a container and returns its description. If Docker rejects it, such as a restart of a
// paused container, nothing has changed.
func (h *containerSwitch) do(ail, name string, args ...string) string {
	words := strings.Join(args, " ") + " " + name
	if out := h.composition.run(nil, "docker", append(args, h.ids[name])...); strings.HasPrefix(out, "docker ") {
		return "refused: " + words
	}
	if ail == "" {
		delete(h.ailing, name)
	} else {
		h.ailing[name] = ail
	}
	return words
}

// mends repairs one container.
func (h *containerSwitch) mends(name string) string {
	switch h.ailing[name] {
	case "killed":
		return h.do("", name, "start")
	case "paused":
		return h.do("", name, "unpause")
	case "cut":
		return h.do("", name, "network", "connect", "--alias", name, h.network)
	}
	return "nothing"
}

// happens applies one random fault to a container.
func (h *containerSwitch) happens() string {
	name, what := h.Pick(inhabited...), h.IntN(9)
	if what < 5 && h.ailing[name] != "" {
		return "nothing"
	}
	switch what {
	case 0:
		return h.do("killed", name, "kill")
	case 1: // Docker starts it again
		if err := syscall.Kill(h.composition.inspect(h.ids[name]).State.Pid, syscall.SIGKILL); err != nil {
			return "refused: crash " + name
		}
		return "crash " + name
	case 2:
		return h.do("paused", name, "pause")
	case 3:
		return h.do("", name, "restart", "-t", "1")
	case 4:
		return h.do("cut", name, "network", "disconnect", h.network)
	}
	for _, name := range device.SortedKeys(h.ailing) {
		if h.IntN(3) > 0 {
			return h.mends(name)
		}
	}
	h.pass(time.Duration(h.IntN(int(2 * time.Second))))
	return "time passes"
}

// mendContainers repairs all containers.
func (h *containerSwitch) mendContainers() {
	for _, name := range device.SortedKeys(h.ailing) {
		if words := h.mends(name); strings.HasPrefix(words, "refused") {
			h.Fatal(words)
		}
	}
	h.reach()
}

// mend repairs all containers, and loads the configuration.
func (h *containerSwitch) mend() {
	h.mendContainers()
	for end := time.Now().Add(patience); ; {
		if _, err := h.redis.RunID(h.Context()); err == nil {
			break
		} else if time.Now().After(end) {
			h.Fatalf("Redis does not come back: %v", err)
		}
		h.pass(100 * time.Millisecond)
	}
	h.reload()
}

// reported returns the services whose containers Docker reports as healthy.
func (h *containerSwitch) reported() (healthy []string) {
	for _, name := range inhabited {
		if ok, _ := h.composition.inspect(h.ids[name]).healthy(); ok {
			healthy = append(healthy, name)
		}
	}
	return healthy
}

// honest waits without faults until every container must have noticed its state. Containers that are then reported as
// healthy must be healthy. If all containers are, the switch must match the current CONFIG_DB.
func (h *containerSwitch) honest() string {
	h.pass(calm)
	healthy := h.reported()
	liar := func(name, why string) {
		if slices.Contains(healthy, name) {
			h.Errorf("the container of %s is healthy, and %s", name, why)
		}
	}
	for name, ail := range h.ailing {
		// a paused container cannot be checked, and Redis depends on no other container
		if ail == "paused" || name == "redis" && ail == "cut" {
			continue
		}
		liar(name, "was "+ail)
	}
	if ail := h.ailing["redis"]; ail != "" {
		for _, name := range inhabited[1:] {
			if h.ailing[name] != "paused" {
				liar(name, "Redis was "+ail)
			}
		}
	}
	if ail := h.ailing["syncd"]; ail != "" && h.ailing["orchagent"] != "paused" {
		liar("orchagent", "syncd was "+ail)
	}
	if len(h.ailing) > 0 || len(healthy) < len(inhabited) {
		h.not++
		return fmt.Sprintf("calm: healthy are %v, ailing %v", healthy, h.ailing)
	}
	h.ready++
	was := h.want
	h.want = h.configured()
	h.check()
	h.want = was
	return "calm: all are healthy, and so is the switch"
}

// configured returns the rows of CONFIG_DB.
func (h *containerSwitch) configured() map[string]swss.FieldValues {
	h.reach()
	db := h.redis.DB(swss.ConfigDB)
	keys, err := db.AllKeys(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	rows := map[string]swss.FieldValues{}
	for _, key := range keys {
		if rows[key], err = db.Client().HGetAll(h.Context(), key).Result(); err != nil {
			h.Fatal(err)
		}
	}
	return rows
}

// goroutines ends a daemon with a signal that prints its goroutines, and returns their number.
func (h *containerSwitch) goroutines(name string) int {
	id := h.ids[name]
	before := h.composition.must(nil, "docker", "logs", id)
	devicetest.NoError(h.T, syscall.Kill(h.composition.inspect(id).State.Pid, syscall.SIGQUIT))
	for end := time.Now().Add(patience); ; h.pass(100 * time.Millisecond) {
		after := h.composition.must(nil, "docker", "logs", id)
		if _, dump, ended := strings.Cut(after[min(len(before), len(after)):], "SIGQUIT: quit"); ended &&
			strings.Contains(dump, "rip ") {
			return strings.Count(dump, "\ngoroutine ")
		}
		if time.Now().After(end) {
			h.Fatalf("%s prints no goroutines", name)
		}
	}
}

// left checks that, after the storms, a daemon holds no more resources than a daemon that has just started.
func (h *containerSwitch) left() {
	h.composition.allHealthy(h.ids)
	old := map[string][3]int{}
	measure := func(name string) (n [3]int) {
		pid := h.composition.inspect(h.ids[name]).State.Pid
		n[0], n[1] = descriptors(h.T, pid), memory(h.T, pid)>>20
		n[2] = h.goroutines(name)
		return n
	}
	for _, name := range inhabited[1:] {
		old[name] = measure(name)
	}
	h.steady()
	h.composition.allHealthy(h.ids)
	for _, name := range inhabited[1:] {
		fresh, old := measure(name), old[name]
		h.Logf("%s after the storms: %d descriptors, %d MB, %d goroutines; fresh: %d, %d, %d",
			name, old[0], old[1], old[2], fresh[0], fresh[1], fresh[2])
		if old[0] > fresh[0]+20 || old[1] > 2*fresh[1]+64 || old[2] > fresh[2]+20 {
			h.Errorf("%s has more left than a fresh one", name)
		}
	}
}

// While the configuration changes, containers crash, and are killed, paused, restarted and cut off from other
// containers. Redis' container is included. No unhealthy container is reported as healthy. When all are repaired and
// healthy, the switch equals a new one with the same configuration. "make chaos" runs this.
func TestChaosOfContainers(t *testing.T) {
	if os.Getenv(containersVariable) == "" {
		t.Skip("containers take minutes: see make chaos")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		h := startHarbour(t, seed)
		h.mend()
		for range 2 {
			for i := range 4 {
				for range 4 {
					h.reach()
					h.log = append(h.log, h.change(), h.happens())
				}
				if i%2 == 1 { // rows that were lost from the configuration meanwhile stay lost
					h.mendContainers()
				}
				h.log = append(h.log, h.honest())
			}
			h.log = append(h.log, "mend")
			h.mend()
			h.steady()
			h.composition.allHealthy(h.ids)
			h.freeSwitchID()
			h.check()
			if t.Failed() {
				return
			}
		}
		h.left()
		t.Logf("in calms all were healthy %d times, not all %d times", h.ready, h.not)
	})
}
