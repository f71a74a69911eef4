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
// Copyright 2009 The Go Authors. The file LICENSE beside this one has their licence. FreeBSD's notice is:
//
//	Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
//
//	Developed at SunPro, a Sun Microsystems, Inc. business.
//	Permission to use, copy, modify, and distribute this
//	software is freely granted, provided that this notice
//	is preserved.
package libm
