package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"text/tabwriter"
)

// A Report holds the results, and the machine on which they were measured.
type Report struct {
	Bench   string   `json:"bench"`
	Machine Machine  `json:"machine"`
	Results []Result `json:"results"`
}

// A Machine describes the machine of a measurement.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	OS    string `json:"os"`
}

// WriteText writes the report, one result per line.
func (r Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %d cores, %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Go)
	for _, x := range r.Results {
		fmt.Fprintf(w, "%s\t%.3f %s", x.Name, x.Value, x.Unit)
		if x.Aim != 0 {
			fmt.Fprintf(w, "\taim %g", x.Aim)
		}
		if x.Caveat != "" {
			fmt.Fprintf(w, "\t%s", x.Caveat)
		}
		if x.Source != "" {
			fmt.Fprintf(w, "\t%s", x.Source)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// ThisMachine returns the machine on which this process runs.
func ThisMachine() Machine {
	m := Machine{
		CPU: "unknown CPU", Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			m.CPU = strings.TrimSpace(v)
			break
		}
	}
	return m
}

// Profiled calls f, and writes a CPU profile of it to a file. Without a file name there is no profile.
func Profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
