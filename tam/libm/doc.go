// Package libm has elementary functions, such as [Exp] and [Log], with the same result on every architecture.
//
// Those of package math differ in the last bit: Exp is written in assembly for some processors, and in pure Go the
// compiler for arm64 fuses x*y + z to one operation, with one rounding. Here each product is rounded, or fused on
// purpose by math.FMA, which is exact everywhere. internal/archtest forbids package math's functions elsewhere.
//
// On amd64 the results are those of package math, except where its assembly is wrong: for subnormal numbers, and for
// exponents just below the overflow.
//
// The algorithms are those of Go's package math, which are those of FreeBSD's msun and of Cephes. The package has only
// what this module needs.
//
// Copyright 2009 The Go Authors. The files LICENSE and NOTICE beside this one have their licence, and FreeBSD's notice.
package libm
