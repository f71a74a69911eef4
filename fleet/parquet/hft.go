package parquet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// hftRow holds the columns of a value of high-frequency telemetry.
type hftRow struct {
	Time      int64  `parquet:"time_ns,delta"`
	Exporter  string `parquet:"exporter,dict"`
	Domain    uint32 `parquet:"domain,dict"`
	Template  uint32 `parquet:"template,dict"`
	Type      string `parquet:"type,dict"`
	Object    string `parquet:"object,dict"` // empty if it is unknown
	Label     uint32 `parquet:"label,dict"`
	Statistic string `parquet:"statistic,dict"`
	Kind      string `parquet:"kind,dict"`
	Value     uint64 `parquet:"value"`
}

// hftColumns is the first line of the values that tamtam collect hft prints.
var hftColumns = []string{"time_ns", "exporter", "domain", "template", "type", "object", "label", "statistic", "kind",
	"value"}

// hftBatch is the number of rows that are written together.
const hftBatch = 1 << 12

// WriteHFT writes the values of high-frequency telemetry, as tamtam collect hft prints them in format csv, to a Parquet
// file, and returns their number. It ends at the end of in, or at the first line that is wrong, which the error names.
// The file then is complete.
func WriteHFT(out io.Writer, in io.Reader) (n int64, err error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = len(hftColumns), true
	head, err := r.Read()
	if err != nil {
		return 0, fmt.Errorf("values of high-frequency telemetry: %w: want the lines of tamtam collect hft --format csv", err)
	}
	for i, name := range head {
		if name != hftColumns[i] {
			return 0, fmt.Errorf("line 1: column %d is %q: want %s, as tamtam collect hft --format csv prints it", i+1, name,
				hftColumns[i])
		}
	}
	w := parquet.NewGenericWriter[hftRow](out, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(rowsOfGroup))
	defer func() { err = errors.Join(err, w.Close()) }()
	rows := make([]hftRow, 0, hftBatch)
	for {
		fields, err := r.Read()
		if err == nil {
			var row hftRow
			if row, err = readHFT(fields); err == nil {
				rows = append(rows, row)
			} else {
				line, _ := r.FieldPos(0)
				err = fmt.Errorf("line %d: %w", line, err)
			}
		}
		if len(rows) == hftBatch || err != nil {
			if _, err := w.Write(rows); err != nil {
				return n, err
			}
			n += int64(len(rows))
			rows = rows[:0]
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// readHFT reads the fields of a line.
func readHFT(f []string) (r hftRow, err error) {
	number := func(i, bits int) uint64 {
		n, bad := strconv.ParseUint(f[i], 10, bits)
		if bad != nil && err == nil {
			err = fmt.Errorf("%s %q: want a number of %d bits", hftColumns[i], f[i], bits)
		}
		return n
	}
	return hftRow{Time: int64(number(0, 63)), Exporter: f[1], Domain: uint32(number(2, 32)),
		Template: uint32(number(3, 16)), Type: f[4], Object: f[5], Label: uint32(number(6, 15)), Statistic: f[7], Kind: f[8],
		Value: number(9, 64)}, err
}
