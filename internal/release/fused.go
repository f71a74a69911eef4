package main

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
)

// fusedMask selects the bits of an instruction of arm64 that are those of fused for every multiplication and addition
// with one rounding: FMADD, FMSUB, FNMADD and FNMSUB.
const (
	fusedMask = 0xff000000
	fused     = 0x1f000000
)

// exactFused are the files that have a fused multiply-add on purpose: package math's function FMA, which computes the
// same on each architecture, where the compiler puts in its code, and the assembly of package math's Exp, which
// internal/archtest forbids in this module.
var exactFused = []string{"tamtam/tam/libm/exp.go", "math/exp_arm64.s"}

// fusedIn returns the lines, FILE:LINE, that the compiler for arm64 made a fused multiply-add of. A program for amd64
// rounds the product there, so the two compute different numbers. With float64(x*y) + z they are equal.
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
		if !slices.Contains(exactFused, file) {
			lines = append(lines, fmt.Sprintf("%s:%d", file, line))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
