package parquet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tamtam/collector/result"
)

// A kind is one kind of row, with functions that write the rows of a batch and read them back.
type kind struct {
	name  string
	write func(path string, b *result.Batch) (rows int, err error)
	read  func(path string, b *result.Batch) error
	empty func(path string) error // writes a file that has the columns, and no row
	// open opens a file for do, after the checks whose errors read would report first. An error of do, and a panic, get
	// the file's name.
	open func(path string, b *result.Batch, do func(*parquet.File) error) error
}

// kindOf returns the kind of rows T, which are stored as rows F, some columns of which were added later.
func kindOf[T, F any](name string, of func(*result.Batch) *[]T, file func(*T) F, row func(*F) T,
	came ...later[F],
) kind {
	return kind{
		name: name,
		write: func(path string, b *result.Batch) (int, error) {
			rows := *of(b)
			if len(rows) == 0 {
				return 0, nil
			}
			out := make([]F, len(rows))
			for i := range rows {
				out[i] = file(&rows[i])
			}
			return len(rows), writeFile(path, b, out, rowsOfGroup)
		},
		read: func(path string, b *result.Batch) error {
			in, err := readFile(path, b, came)
			for i := range in {
				*of(b) = append(*of(b), row(&in[i]))
			}
			return err
		},
		empty: func(path string) error { return writeFile[F](path, &result.Batch{}, nil, rowsOfGroup) },
		open: func(path string, b *result.Batch, do func(*parquet.File) error) error {
			return openFile(path, b, came, func(f *parquet.File, _ []func(*F)) error { return do(f) })
		},
	}
}

func kinds() []kind {
	return []kind{
		kindOf("hops", func(b *result.Batch) *[]result.Hop { return &b.Hops }, fromHop, (*hopRow).row),
		kindOf("drops", func(b *result.Batch) *[]result.Drop { return &b.Drops }, fromDrop, (*dropRow).row),
		kindOf("losses", func(b *result.Batch) *[]result.Loss { return &b.Losses }, fromLoss, (*lossRow).row, laterLosses...),
		kindOf("journeys", func(b *result.Batch) *[]result.Journey { return &b.Journeys }, fromJourney, (*journeyRow).row),
		kindOf("sketches", func(b *result.Batch) *[]result.Sketch { return &b.Sketches }, fromSketch, (*sketchRow).row,
			laterSketches...),
		kindOf("sources", func(b *result.Batch) *[]result.Source { return &b.Sources }, fromSource, (*sourceRow).row,
			laterSources...),
		kindOf("amends", func(b *result.Batch) *[]result.Amend { return &b.Amends }, fromAmend, (*amendRow).row),
	}
}

// A position describes the whole batch of a file, in its metadata under the key tamtam.batch.
type position struct {
	Partition   string
	First, Last uint64
	Closed      int64
	Low         uint64
}

const metadata = "tamtam.batch"

// writeFile writes rows in row groups of a number of rows, and returns when they are on the disk.
func writeFile[F any](path string, b *result.Batch, rows []F, each int64) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	about, err := json.Marshal(position{b.Partition, b.First, b.Last, b.Closed, b.Low})
	if err != nil {
		return err
	}
	w := parquet.NewGenericWriter[F](file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(each), parquet.KeyValueMetadata(metadata, string(about)))
	if _, err := w.Write(rows); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Sync()
}

// readAtOnce is the number of rows that are read together, since a file may claim to have more than it has.
const readAtOnce = 1 << 12

// readBuffer is the size of the buffer for a column.
const readBuffer = 1 << 16

// rowsOfGroup is the greatest number of rows of a row group. Each has statistics, by which readers leave it out.
const rowsOfGroup = 1 << 17

// openFile opens a file of a batch, and reads its metadata into b. The library panics on some files; that becomes an
// error.
func openFile[F any](path string, b *result.Batch, came []later[F], do func(f *parquet.File, absent []func(*F)) error) (
	err error,
) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%s: %v", path, broken)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	opened, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(readBuffer))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	absent, err := check(opened.Schema(), came)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	about, _ := opened.Lookup(metadata)
	var at position
	if err := json.Unmarshal([]byte(about), &at); err != nil {
		return fmt.Errorf("%s: metadata %s %.80q: %w", path, metadata, about, err)
	}
	if at.Partition != b.Partition || at.First != b.First {
		return fmt.Errorf("%s: has a batch of partition %.80q from message %d on, and not that of its name", path,
			at.Partition, at.First)
	}
	b.Last, b.Closed, b.Low = at.Last, at.Closed, at.Low
	return do(opened, absent)
}

// readFile reads rows of a batch. It marks the values of missing columns as unknown.
func readFile[F any](path string, b *result.Batch, came []later[F]) (rows []F, err error) {
	err = openFile(path, b, came, func(f *parquet.File, absent []func(*F)) error {
		r := parquet.NewGenericReader[F](f)
		defer r.Close()
		for said := f.NumRows(); int64(len(rows)) < said; {
			some := make([]F, min(readAtOnce, said-int64(len(rows))))
			n, err := r.Read(some)
			rows = append(rows, some[:n]...)
			if n == 0 || err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s: %d of %d rows can be read: %w", path, len(rows), said, cmp.Or(err, io.ErrNoProgress))
			}
		}
		for _, say := range absent {
			for i := range rows {
				say(&rows[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
