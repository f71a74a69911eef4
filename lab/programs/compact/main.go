// Compact writes a pipeline of a program as the graph that the experiments need: the
// names of tables and conditions, edges, dependencies, and which tables have no key. What
// fields tables read and write, and dependencies that follow from others, are left out.
//
//	go run ./lab/programs/compact [-program NAME] FILE [PIPELINE] > lab/programs/NAME-PIPELINE.json
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

func main() {
	name := flag.String("program", "", "name of the program (default: the file's)")
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		fmt.Fprintln(os.Stderr, "usage: compact [-program NAME] FILE [PIPELINE]")
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0), flag.Arg(1), *name); err != nil {
		fmt.Fprintln(os.Stderr, "compact:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, file, pipeline, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	g, err := p4graph.Read(f, pipeline)
	if err != nil {
		return err
	}
	if name != "" {
		g.Program = name
	}
	return write(out, compact(g))
}

// compact leaves of a graph what plans depend on.
func compact(g *record.Graph) *record.Graph {
	c := &record.Graph{Program: g.Program, Pipeline: g.Pipeline, Init: g.Init, Edges: g.Edges, Deps: reduce(g)}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		c.Nodes = append(c.Nodes, record.Node{ID: n.ID, Kind: n.Kind, Keyless: n.Keyless})
	}
	return c
}

// reduce leaves out the dependencies that others imply: of a table on one before it, where there is a
// chain between the two that is strict if the dependency is. What stages tables can have stays the same.
func reduce(g *record.Graph) []record.Dep {
	deps := p4graph.Dependencies(g)
	strict := map[[2]string]bool{}
	next := map[string][]string{}
	for _, d := range deps {
		pair := [2]string{d.From, d.To}
		strict[pair] = d.Strict()
		next[d.From] = append(next[d.From], d.To)
	}
	var kept []record.Dep
	for _, d := range deps {
		if !implied(d, next, strict) {
			d.Kinds = []string{strongest(d)}
			kept = append(kept, d)
		}
	}
	return kept
}

// strongest is the kind that counts: a strict one, if there is one.
func strongest(d record.Dep) string {
	for _, k := range d.Kinds {
		if (record.Dep{Kinds: []string{k}}).Strict() {
			return k
		}
	}
	return d.Kinds[0]
}

// implied looks for a way from d.From to d.To over other tables, a strict one if d is.
func implied(d record.Dep, next map[string][]string, strict map[[2]string]bool) bool {
	type at struct {
		table  string
		strict bool
	}
	seen := map[at]bool{}
	todo := []at{{d.From, false}}
	for len(todo) > 0 {
		from := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range next[from.table] {
			step := at{to, from.strict || strict[[2]string{from.table, to}]}
			if to == d.To {
				if from.table != d.From && (step.strict || !d.Strict()) {
					return true
				}
				continue
			}
			if !seen[step] {
				seen[step] = true
				todo = append(todo, step)
			}
		}
	}
	return false
}

// write writes a graph with one node, edge or dependency in a line.
func write(out io.Writer, g *record.Graph) error {
	var b bytes.Buffer
	head := func(name string, v any) {
		text, _ := json.Marshal(v) // strings
		fmt.Fprintf(&b, " %q: %s,\n", name, text)
	}
	b.WriteString("{\n")
	head("program", g.Program)
	head("pipeline", g.Pipeline)
	head("init", g.Init)
	err := list(&b, "nodes", g.Nodes)
	b.WriteString(",\n")
	if err == nil {
		err = list(&b, "edges", g.Edges)
	}
	b.WriteString(",\n")
	if err == nil {
		err = list(&b, "deps", g.Deps)
	}
	b.WriteString("\n}\n")
	if err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

func list[T any](b *bytes.Buffer, name string, items []T) error {
	fmt.Fprintf(b, " %q: [", name)
	for i, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.Write(text)
	}
	b.WriteString("]")
	return nil
}
