package main

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// fusedMask selects the bits of an instruction of arm64 that are those of fused for every multiplication and addition
// with one rounding: FMADD, FMSUB, FNMADD and FNMSUB.
const (
	fusedMask = 0xff000000
	fused     = 0x1f000000
)

// fusedIn returns the lines of the module's code, FILE:LINE, that the compiler for arm64 made a fused multiply-add of.
// A program for amd64 rounds the product there, so the two compute different numbers. With float64(x*y) + z they are
// equal. Go's own library is not checked: its exponential function and its logarithm differ in the last bit.
func fusedIn(text []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Machine != elf.EM_AARCH64 {
		return nil, nil
	}
	var parts [2][]byte
	for i, name := range []string{".text", ".gopclntab"} {
		s := f.Section(name)
		if s == nil {
			return nil, fmt.Errorf("the program has no section %s", name)
		}
		if parts[i], err = s.Data(); err != nil {
			return nil, err
		}
	}
	code, start := parts[0], f.Section(".text").Addr
	table, err := gosym.NewTable(nil, gosym.NewLineTable(parts[1], start))
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := 0; i+4 <= len(code); i += 4 {
		if binary.LittleEndian.Uint32(code[i:])&fusedMask != fused {
			continue
		}
		file, line, _ := table.PCToLine(start + uint64(i))
		if strings.HasPrefix(file, "tamtam/") {
			lines = append(lines, fmt.Sprintf("%s:%d", strings.TrimPrefix(file, "tamtam/"), line))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
