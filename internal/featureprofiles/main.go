package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "featureprofiles:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("featureprofiles", flag.ContinueOnError)
	dir := flags.String("dir", "", "the folder with src/featureprofiles and bin")
	tamtam := flags.String("tamtam", "bin/tamtam", "the program tamtam")
	only := flags.String("only", "", "a regular expression: folders of tests")
	jobs := flags.Int("jobs", 4, "tests that run at the same time; most of their time they wait")
	edit := flags.Bool("edit", false, "write edited copies of tests, and run nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 || *jobs < 1 {
		return fmt.Errorf("want -dir FOLDER [-tamtam FILE] [-only PATTERN] [-jobs N] [-edit], N at least 1")
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	t, err := parseTable(tests)
	if err != nil {
		return err
	}
	t.folders = slices.DeleteFunc(t.folders, func(f *folder) bool { return !pattern.MatchString(f.path) })
	if len(t.folders) == 0 {
		return fmt.Errorf("-only %s: no folder of tests.txt matches", *only)
	}
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	if *edit {
		return writeEdits(*dir, t)
	}
	if *tamtam, err = filepath.Abs(*tamtam); err != nil {
		return err
	}
	return judge(ctx, &runner{dir: *dir, tamtam: *tamtam, deviations: t.deviations}, t.folders, *jobs, out)
}

// judge runs the folders of tests and prints a line for each, with its differences from the table.
func judge(ctx context.Context, r *runner, folders []*folder, jobs int, out io.Writer) error {
	var total summary
	wrong := 0
	var mu sync.Mutex // of total, wrong and out
	var running sync.WaitGroup
	free := make(chan struct{}, jobs)
	for _, f := range folders {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			var found summary
			differences := []string{}
			if f.whole == nil {
				results, err := r.run(ctx, f)
				if results != nil {
					found, differences = f.compare(results)
				}
				if err != nil {
					differences = append([]string{err.Error()}, differences...)
				}
			} else {
				found.reasons[f.whole.reason]++
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(found)
			fmt.Fprintf(out, "%s: %s\n", f.path, found)
			for _, d := range differences {
				fmt.Fprintf(out, "    %s\n", d)
			}
			if len(differences) > 0 {
				wrong++
			}
		})
	}
	running.Wait()
	fmt.Fprintf(out, "%d folders: %s\n", len(folders), total)
	if wrong > 0 {
		return fmt.Errorf("folders that are not as in tests.txt: %d; logs are in %s", wrong, filepath.Join(r.dir, "log"))
	}
	return nil
}
