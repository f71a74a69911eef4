// Command manifests reads Kubernetes manifests strictly into the API's types. An unknown field, or one of another type,
// is an error. "-" is standard input. It is a separate module, since the API's types are large:
//
//	go run -C internal/tools/manifests . ../../../docker/kubernetes/tamtam.yaml
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "manifests: want FILE... or -")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		if err := check(name); err != nil {
			fmt.Fprintf(os.Stderr, "manifests: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func check(name string) error {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(string(text), -1) {
		if len(bytes.TrimSpace([]byte(document))) == 0 {
			continue
		}
		if err := checkOne([]byte(document)); err != nil {
			return err
		}
	}
	return nil
}

func checkOne(document []byte) error {
	var kind struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	into := map[string]any{
		"ConfigMap": &core.ConfigMap{}, "Service": &core.Service{}, "StatefulSet": &apps.StatefulSet{},
	}[kind.Kind]
	if into == nil {
		return fmt.Errorf("kind %q: want ConfigMap, Service or StatefulSet", kind.Kind)
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, kind.Metadata.Name, err)
	}
	if set, ok := into.(*apps.StatefulSet); ok {
		if err := checkSet(set); err != nil {
			return fmt.Errorf("StatefulSet %s: %w", set.Name, err)
		}
	}
	fmt.Printf("ok   %s %s\n", kind.Kind, kind.Metadata.Name)
	return nil
}

// checkSet returns an error that the API server would find but the types do not: a selector that does not select the
// pods, or a mount without a volume.
func checkSet(set *apps.StatefulSet) error {
	if set.Spec.Selector == nil {
		return errors.New("there is no selector")
	}
	for k, v := range set.Spec.Selector.MatchLabels {
		if set.Spec.Template.Labels[k] != v {
			return fmt.Errorf("the selector wants the label %s=%s, which pods do not have", k, v)
		}
	}
	volumes := map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	for _, c := range set.Spec.Template.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				return fmt.Errorf("container %s mounts %s, of which there is no volume", c.Name, m.Name)
			}
		}
	}
	return nil
}
