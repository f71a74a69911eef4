package parquet

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tamtam/collectord/result"
)

// A kind is one kind of row: how those of a batch are written, and read back into one.
type kind struct {
	name  string
	write func(path string, b *result.Batch) (rows int, err error)
	read  func(path string, b *result.Batch) error
}

// kindOf makes a kind of rows T, which are files of F.
func kindOf[T, F any](name string, of func(*result.Batch) *[]T, file func(*T) F, row func(*F) T) kind {
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
			return len(rows), writeFile(path, b, out)
		},
		read: func(path string, b *result.Batch) error {
			in, err := readFile[F](path, b)
			for i := range in {
				*of(b) = append(*of(b), row(&in[i]))
			}
			return err
		},
	}
}

// kinds are all kinds of rows.
func kinds() []kind {
	return []kind{
		kindOf("hops", func(b *result.Batch) *[]result.Hop { return &b.Hops }, fromHop, (*hopRow).row),
		kindOf("drops", func(b *result.Batch) *[]result.Drop { return &b.Drops }, fromDrop, (*dropRow).row),
		kindOf("losses", func(b *result.Batch) *[]result.Loss { return &b.Losses }, fromLoss, (*lossRow).row),
		kindOf("journeys", func(b *result.Batch) *[]result.Journey { return &b.Journeys }, fromJourney, (*journeyRow).row),
		kindOf("sketches", func(b *result.Batch) *[]result.Sketch { return &b.Sketches }, fromSketch, (*sketchRow).row),
		kindOf("sources", func(b *result.Batch) *[]result.Source { return &b.Sources }, fromSource, (*sourceRow).row),
		kindOf("amends", func(b *result.Batch) *[]result.Amend { return &b.Amends }, fromAmend, (*amendRow).row),
	}
}

// A position is what a file says of its whole batch, in its metadata under the key tamtam.batch.
type position struct {
	Partition   string
	First, Last uint64
	Closed      int64
	Low         uint64
}

const metadata = "tamtam.batch"

// writeFile writes rows, and returns when they are on the disk.
func writeFile[F any](path string, b *result.Batch, rows []F) (err error) {
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
		parquet.KeyValueMetadata(metadata, string(about)))
	if _, err := w.Write(rows); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Sync()
}

// readFile reads rows, and what the file says of its batch.
func readFile[F any](path string, b *result.Batch) ([]F, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	about, _ := opened.Lookup(metadata)
	var at position
	if err := json.Unmarshal([]byte(about), &at); err != nil {
		return nil, fmt.Errorf("%s: metadata %s %.80q: %w", path, metadata, about, err)
	}
	b.Partition, b.First, b.Last, b.Closed, b.Low = at.Partition, at.First, at.Last, at.Closed, at.Low
	rows, err := parquet.Read[F](file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}
