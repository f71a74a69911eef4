package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

func main() { os.Exit(run(checkout{os.DirFS(".")}, os.Args[1:], os.Stdout, os.Stderr)) }

// run measures the tree in a folder according to the arguments, and returns the exit status.
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
	t, err := read(root)
	if err != nil {
		fmt.Fprintln(errs, "metrics:", err)
		return 1
	}
	status, figures := 0, t.figures()
	for _, f := range figures {
		if *only && f.limit != "" && f.misses() {
			status = 1
			fmt.Fprintf(out, "%s: %s, want %s: %s\n", f.name, f.text(f.value), f.goalText(), f.limit)
			show(out, f.behind, 10)
		}
	}
	if *only {
		return status
	}
	t.tables(out, figures)
	for _, f := range figures {
		if *list && len(f.behind) > 0 {
			fmt.Fprintf(out, "\n%s: %s\n", f.name, f.text(f.value))
			show(out, f.behind, 50)
		}
	}
	return 0
}

// show prints at most most findings, followed by the number of the remaining ones.
func show(out io.Writer, list []finding, most int) {
	for i, w := range list {
		if i == most {
			fmt.Fprintf(out, "    and %d more\n", len(list)-i)
			return
		}
		fmt.Fprintf(out, "    %6d  %s  %s\n", w.size, w.where, w.what)
	}
}

// tables prints the figures with their goals, and the rooms at the top.
func (t *tree) tables(out io.Writer, figures []figure) {
	fmt.Fprintf(out, "| figure | tree | goal | gate | most of it |\n| --- | ---: | ---: | --- | --- |\n")
	for _, f := range figures {
		gate, worst := "", ""
		if f.limit != "" {
			gate = "limit"
		}
		if len(f.behind) > 0 {
			worst = strings.ReplaceAll(f.behind[0].where+" "+f.behind[0].what, "|", `\|`)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", f.name, f.text(f.value), f.goalText(), gate, worst)
	}
	fmt.Fprintf(out, "\n| room | code | tests | generated | tests : code | imports | imported by |\n")
	fmt.Fprintf(out, "| --- | ---: | ---: | ---: | ---: | --- | --- |\n")
	for _, r := range t.rooms() {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %s | %s | %s |\n", r.name, r.lines[code], r.lines[test], r.lines[generated],
			r.ratio(), strings.Join(sorted(r.imports), ", "), strings.Join(sorted(r.importedBy), ", "))
	}
}
