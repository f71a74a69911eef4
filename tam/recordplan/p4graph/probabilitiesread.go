package p4graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tamtam/tam/record"
)

// maxProbabilities is the maximum size of files of probabilities and of paths, in bytes.
const maxProbabilities = 8 << 20

// ReadProbabilities reads {"edges": [{"from", "to", "p"}], "hits": {table: p}}, where to is null for the end, and
// completes them with [Complete]. It refuses unknown names.
func ReadProbabilities(r io.Reader, g *record.Graph) (record.Probabilities, error) {
	var p record.Probabilities
	b, err := readSmall(r, "probabilities")
	if err != nil {
		return p, err
	}
	if err := strictly(b, &p); err != nil {
		return p, fmt.Errorf("probabilities: %w", inWords(err))
	}
	return Complete(g, p)
}

// ReadPaths reads counted paths, as a list or as the member paths of an object. A chip's description has such a member.
func ReadPaths(r io.Reader) ([]record.PathCount, error) {
	b, err := readSmall(r, "paths")
	if err != nil {
		return nil, err
	}
	list := json.RawMessage(b)
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '{' {
		var d struct {
			Paths json.RawMessage `json:"paths"`
		}
		if err := json.Unmarshal(b, &d); err != nil {
			return nil, fmt.Errorf("paths: %w", inWords(err))
		}
		if list = d.Paths; list == nil {
			return nil, errors.New(`paths: an object without "paths", want those, or a list`)
		}
	}
	if !json.Valid(list) {
		return nil, errors.New("paths: no JSON")
	}
	var paths []record.PathCount
	if err := json.Unmarshal(list, &paths); err != nil {
		return nil, fmt.Errorf("paths: %w", inWords(err))
	}
	return paths, nil
}

func readSmall(r io.Reader, what string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxProbabilities+1))
	if err == nil && len(b) > maxProbabilities {
		err = fmt.Errorf("%s: more than %d bytes", what, maxProbabilities)
	}
	return b, err
}

// strictly decodes one value. It refuses unknown fields, because a misspelt one would otherwise go unnoticed, and
// anything after the value.
func strictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON")
	}
	return nil
}
