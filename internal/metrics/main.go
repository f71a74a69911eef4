package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

func main() { os.Exit(run(os.DirFS("."), os.Args[1:], os.Stdout, os.Stderr)) }

// run measures the tree in a folder, as the arguments say, and returns the exit status.
func run(root fs.FS, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("metrics", flag.ContinueOnError)
	flags.SetOutput(errs)
	list := flags.Bool("list", false, "print what stands behind each figure too, the worst first")
	only := flags.Bool("limits", false, "print only what breaks a limit; exit status 1 if anything does")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *list && *only {
		fmt.Fprintln(errs, "metrics: want -list, -limits or nothing, in the root of the tree")
		return 2
	}
	good := true
	t, err := read(root)
	if err == nil {
		figures := t.figures()
		if *only {
			good, err = check(out, figures, goals)
		} else {
			table(out, figures, goals)
			t.roomTable(out)
		}
		if *list {
			listed(out, figures)
		}
	}
	if err != nil {
		fmt.Fprintln(errs, "metrics:", err)
	}
	if err != nil || !good {
		return 1
	}
	return 0
}

// table prints the figures with their goals as a table.
func table(out io.Writer, figures []figure, goals []goal) {
	fmt.Fprintf(out, "| figure | tree | goal | gate | most of it |\n| --- | ---: | ---: | --- | --- |\n")
	for _, f := range figures {
		value, gate, worst := "", "", ""
		for _, g := range goals {
			if g.figure == f.name {
				value = fmt.Sprintf("%s %.*f", g.sign(), f.digits, g.value)
				if g.reason != "" {
					gate = "limit"
				}
			}
		}
		if len(f.worst) > 0 {
			worst = strings.ReplaceAll(f.worst[0].where+" "+f.worst[0].what, "|", `\|`)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", f.name, f.text(), value, gate, worst)
	}
}

// roomTable prints the rooms at the top as a table.
func (t *tree) roomTable(out io.Writer) {
	fmt.Fprintf(out, "\n| room | code | tests | generated | tests : code | imports | imported by |\n")
	fmt.Fprintf(out, "| --- | ---: | ---: | ---: | ---: | --- | --- |\n")
	for _, r := range t.rooms() {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %s | %s | %s |\n",
			r.name, r.lines[code], r.lines[test], r.lines[generated], r.ratio(),
			strings.Join(r.imports, ", "), strings.Join(r.importedBy, ", "))
	}
}

// mostListed is how much -list prints of each figure.
const mostListed = 50

// listed prints what stands behind the figures.
func listed(out io.Writer, figures []figure) {
	for _, f := range figures {
		if len(f.worst) > 0 {
			fmt.Fprintf(out, "\n%s: %s\n", f.name, f.text())
			show(out, f.worst, mostListed)
		}
	}
}
