package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An imageConfig is the configuration of an image (OCI image specification, and Docker's health check).
type imageConfig struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      time.Time `json:"created"`
	Config       container `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []layerBy `json:"history"`
}

type container struct {
	Env         []string
	Entrypoint  []string
	Cmd         []string
	Healthcheck healthcheck
	Labels      map[string]string
}

// A healthcheck has times in nanoseconds.
type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type layerBy struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// containerOf returns how the image runs. It has no shell and no package manager.
func containerOf(at head) container {
	return container{
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			// The Redis of "tamtam up" is where redis-cli and the tools look for it, and its ports are eth1, eth2, ...
			"TAMTAM_REDIS=embedded:127.0.0.1:6379", "TAMTAM_PORTS=auto",
			// gNMI is for all, with a login: the first start makes one in the data volume and logs it.
			"TAMTAM_USERS=/var/lib/tamtam/users", "TAMTAM_FIRST_LOGIN=1",
		},
		Entrypoint: []string{"/usr/bin/tamtam"},
		Cmd:        []string{"up"},
		Healthcheck: healthcheck{Test: []string{"CMD", "/usr/bin/tamtam", "health"}, Interval: 5 * time.Second,
			Timeout: 6 * time.Second, StartPeriod: 30 * time.Second, Retries: 1},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "tamtam",
			"org.opencontainers.image.revision": at.commit,
			"org.opencontainers.image.version":  at.version(),
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
}

// imageArchive returns an image as `docker save` writes it: a layer of the base's files, and one of tamtam. A new
// release of tamtam shares the first. Its tags are the version, in letters that a tag may have, and latest.
func imageArchive(arch, name string, at head, b base, p program) ([]byte, error) {
	tags := []string{name + ":" + strings.NewReplacer("~", "-", "+", "-").Replace(at.version()), name + ":latest"}
	own := tree{}
	own.add("usr/bin/tamtam", 0o755, p.text)
	own.add("usr/share/doc/tamtam/copyright", 0o644, p.licences)
	config := imageConfig{Architecture: arch, OS: "linux", Created: at.time, Config: containerOf(at),
		RootFS: rootFS{Type: "layers"}}
	archive, layers := tree{}, []string{}
	for _, layer := range []struct {
		tree tree
		by   string
	}{{b.files, "Debian " + suite + ": redis-server, redis-cli, CAs"}, {own, "tamtam " + at.version()}} {
		text, err := layer.tree.tar(at.time)
		if err != nil {
			return nil, err
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, "sha256:"+sum)
		config.History = append(config.History, layerBy{at.time, layer.by})
		layers = append(layers, sum+"/layer.tar")
		archive.add(sum+"/layer.tar", 0o644, text)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := fmt.Sprintf("%x.json", sha256.Sum256(text))
	archive.add(file, 0o644, text)
	text, err = json.Marshal([]map[string]any{
		{"Config": file, "RepoTags": tags, "Layers": layers},
	})
	if err != nil {
		return nil, err
	}
	archive.add("manifest.json", 0o644, text)
	return archive.tar(at.time)
}
