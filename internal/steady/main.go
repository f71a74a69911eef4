// Command steady takes out of what ygot's generator has written the one thing that differs from run to run: the order
// of "Augmented", a list in the compressed schema of what was put into a node. Nobody reads that list, so it goes.
//
//	steady FILE
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: steady FILE")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "steady:", err)
		os.Exit(1)
	}
}

func rewrite(file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	made, err := steady(string(source))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(made), 0o666) //nolint:gosec // source text
}

const literal = "ySchema = []byte{"

// steady returns a generated source text without the lists.
func steady(source string) (string, error) {
	before, rest, found := strings.Cut(source, literal)
	words, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return "", errors.New("it holds no schema: want " + literal + "...}")
	}
	schema, err := unpack(words)
	if err != nil {
		return "", fmt.Errorf("its schema: %w", err)
	}
	without(schema)
	text, err := json.Marshal(schema)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return before + literal + written(packed.Bytes()) + "}" + after, nil
}

// unpack returns the JSON that is compressed in the words of a literal of bytes.
func unpack(words string) (schema any, err error) {
	var packed []byte
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		n, err := strconv.ParseUint(word, 0, 8)
		if err != nil {
			return nil, err
		}
		packed = append(packed, byte(n))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(r)
	d.UseNumber()
	return schema, d.Decode(&schema)
}

// without takes the lists out of the nodes of a schema. What a node is called stands below "Dir" only.
func without(v any) {
	node, ok := v.(map[string]any)
	if !ok {
		return
	}
	delete(node, "Augmented")
	if children, ok := node["Dir"].(map[string]any); ok {
		for _, child := range children {
			without(child)
		}
	}
}

// written is a literal's inside, sixteen bytes a line.
func written(packed []byte) string {
	var b strings.Builder
	for i, c := range packed {
		if i%16 == 0 {
			b.WriteString("\n\t\t")
		} else {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "0x%02x,", c)
	}
	b.WriteString("\n\t")
	return b.String()
}
