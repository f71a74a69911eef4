package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tamtam/fleet/parquet"
)

// newHFT returns the command that stores values of high-frequency telemetry as a Parquet file.
func newHFT() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "hft --out FILE.parquet",
		Short: "Store the values of high-frequency telemetry that tamtam collect hft prints as a Parquet file",
		Long: `Read the lines of tamtam collect hft --format csv from standard input until it ends, and write each value as
a row of a new Parquet file. Interrupt tamtam collect hft to end both: the file is complete then.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if out == "" {
				return usagef("--out is missing: want the FILE to write, such as values.parquet")
			}
			file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			n, err := parquet.WriteHFT(file, cmd.InOrStdin())
			fmt.Fprintf(cmd.ErrOrStderr(), "tamtam-collectd: %s: %d values\n", out, n)
			return errors.Join(err, file.Close())
		},
	}
	c.Flags().StringVar(&out, "out", "", "the Parquet `FILE` to write, which must not exist")
	return c
}
