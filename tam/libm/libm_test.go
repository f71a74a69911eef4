package libm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/cpu"

	"tamtam/internal/randtest"
)

// functions are those of one argument, with what they are compared with. An error is below so many ulp of the exact
// result, or of 1 if the function's comment gives an error of the larger of both.
var functions = []struct {
	name  string
	own   func(float64) float64
	math  func(float64) float64
	exact func(*big.Float) *big.Float
	from  func(*rand.Rand) float64
	ulps  float64
	least float64
}{
	{"Exp", Exp, math.Exp, bigExp, between(-708, 709), 2, 0},
	{"Exp2", Exp2, math.Exp2, func(x *big.Float) *big.Float { return bigExp(of().Mul(x, ln2)) },
		between(-1022, 1023), 2, 0},
	{"Expm1", Expm1, math.Expm1, func(x *big.Float) *big.Float { return of().Sub(bigExp(x), one) },
		between(-40, 709), 1, 0},
	{"Log", Log, math.Log, bigLog, positive, 1, 0},
	{"Log2", Log2, math.Log2, func(x *big.Float) *big.Float { return of().Quo(bigLog(x), ln2) }, positive, 1, 1},
	{"Log10", Log10, math.Log10, func(x *big.Float) *big.Float { return of().Quo(bigLog(x), ln10) }, positive, 2, 0},
	{"Log1p", Log1p, math.Log1p, func(x *big.Float) *big.Float { return bigLog(of().Add(x, one)) }, aboveMinusOne, 1, 0},
}

// between returns random numbers of a range; one in four is near 0 instead, with any exponent down to 2^-60.
func between(least, most float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		if x := math.Ldexp(2*r.Float64()-1, -r.IntN(60)); r.IntN(4) == 0 && x > least && x < most {
			return x
		}
		return least + float64((most-least)*r.Float64())
	}
}

// positive returns random positive numbers: near 1, or with any exponent.
func positive(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return 1 + math.Ldexp(2*r.Float64()-1, -r.IntN(53)-1)
	}
	return math.Ldexp(1+r.Float64(), r.IntN(2046)-1022)
}

func aboveMinusOne(r *rand.Rand) float64 {
	if x := positive(r); x > 1 {
		return x
	}
	return between(-0.999, 1)(r)
}

// TestErrors compares functions with the exact results, and on amd64 with package math's, which are equal there.
func TestErrors(t *testing.T) {
	worst := make([]float64, len(functions))
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 30}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for i, f := range functions {
			for range 10 {
				x := f.from(r)
				got := f.own(x)
				off := ulps(got, f.exact(of().SetFloat64(x)), f.least)
				if worst[i] = max(worst[i], off); off >= f.ulps {
					t.Errorf("%s(%v) = %v, which is off by %.3f ulp, want less than %v", f.name, x, got, off, f.ulps)
				}
				fused := f.name != "Exp" || cpu.X86.HasFMA
				if want := f.math(x); runtime.GOARCH == "amd64" && fused && got != want {
					t.Errorf("%s(%v) = %v, and package math's is %v", f.name, x, got, want)
				}
			}
		}
	})
	for i, f := range functions {
		t.Logf("%s: at most %.3f ulp", f.name, worst[i])
	}
}

// TestPow compares powers likewise: of probabilities, and of any positive numbers.
func TestPow(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 30}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		for range 10 {
			x, y := r.Float64(), math.Ldexp(2*r.Float64()-1, r.IntN(10))
			if r.IntN(2) == 0 {
				x = math.Ldexp(x, r.IntN(40)-20)
			}
			want := bigExp(of().Mul(bigLog(of().SetFloat64(x)), of().SetFloat64(y)))
			if exponent := want.MantExp(nil); x == 0 || exponent < -1000 || exponent > 1000 {
				continue
			}
			got := Pow(x, y)
			off, most := ulps(got, want, 0), 4+float64(2*math.Abs(y))+math.Abs(math.Log(x))
			if off >= most {
				t.Errorf("Pow(%v, %v) = %v, which is off by %.3f ulp, want less than %v", x, y, got, off, most)
			}
			if want := math.Pow(x, y); runtime.GOARCH == "amd64" && cpu.X86.HasFMA && got != want {
				t.Errorf("Pow(%v, %v) = %v, and package math's is %v", x, y, got, want)
			}
		}
	})
}

func TestLogFactorial(t *testing.T) {
	product := of().SetInt64(1)
	for n := range 400 {
		if n > 0 {
			product.Mul(product, of().SetInt64(int64(n)))
		}
		got := LogFactorial(n)
		if n > 1 && ulps(got, bigLog(product), 0) >= 2 || n <= 1 && got != 0 {
			t.Errorf("LogFactorial(%d) = %v, want %v", n, got, bigLog(product))
		}
		if want, _ := math.Lgamma(float64(n) + 1); runtime.GOARCH == "amd64" && got != want {
			t.Errorf("LogFactorial(%d) = %v, and package math's is %v", n, got, want)
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"e^0", Exp(0), 1}, {"e^-infinity", Exp(-inf), 0}, {"e^infinity", Exp(inf), inf}, {"e^NaN", Exp(nan), nan},
		{"e^710", Exp(710), inf}, {"e^-745.2", Exp(-745.2), 0}, {"e^-745", Exp(-745), math.SmallestNonzeroFloat64},
		{"2^1024", Exp2(1024), inf}, {"2^-1074", Exp2(-1074), math.SmallestNonzeroFloat64}, {"2^0", Exp2(0), 1},
		{"2^-infinity", Exp2(-inf), 0}, {"2^NaN", Exp2(nan), nan}, {"2^-20", Exp2(-20), 1.0 / (1 << 20)},
		{"e^0 - 1", Expm1(0), 0}, {"e^infinity - 1", Expm1(inf), inf}, {"e^-infinity - 1", Expm1(-inf), -1},
		{"e^NaN - 1", Expm1(nan), nan}, {"log 0", Log(0), -inf}, {"log -1", Log(-1), nan}, {"log 1", Log(1), 0},
		{"log infinity", Log(inf), inf}, {"log NaN", Log(nan), nan}, {"log2 0", Log2(0), -inf}, {"log2 -1", Log2(-1), nan},
		{"log2 2^-1074", Log2(math.SmallestNonzeroFloat64), -1074}, {"log2 infinity", Log2(inf), inf},
		{"log10 0", Log10(0), -inf}, {"log10 1000", Log10(1000), math.Log10(1000)}, {"log(1-1)", Log1p(-1), -inf},
		{"log(1-2)", Log1p(-2), nan}, {"log(1+infinity)", Log1p(inf), inf}, {"log(1+NaN)", Log1p(nan), nan},
		{"log(1+0)", Log1p(0), 0}, {"0^0.3", Pow(0, 0.3), 0}, {"-1^0.3", Pow(-1, 0.3), nan}, {"0^-0.3", Pow(0, -0.3), inf},
		{"2^0.5", Pow(2, 0.5), math.Sqrt2}, {"infinity^-0.3", Pow(inf, -0.3), 0}, {"-2^3", Pow(-2, 3), -8},
		{"2^NaN", Pow(2, nan), nan}, {"10^400.5", Pow(10, 400.5), inf}, {"10^-400.5", Pow(10, -400.5), 0},
	} {
		if test.got != test.want && !(math.IsNaN(test.got) && math.IsNaN(test.want)) {
			t.Errorf("%s = %v, want %v", test.name, test.got, test.want)
		}
	}
}

// TestResultsAreEqualEverywhere compares results with those of amd64, on any architecture:
//
//	GOARCH=arm64 go test -c -o libm.test ./tam/libm && qemu-aarch64-static ./libm.test
func TestResultsAreEqualEverywhere(t *testing.T) {
	const amd64 = "9dd77acb441d879e53c3bd05d4a2e3f01e42ac02c2157ec2cc0af01931897c1b"
	sum := sha256.New()
	put := func(v float64) { _ = binary.Write(sum, binary.BigEndian, math.Float64bits(v)) }
	for i := range 2000 {
		x := math.Ldexp(1+float64(i*i%4096)/4097, i%40-32)
		for _, f := range functions {
			put(f.own(x))
		}
		put(Exp(-x))
		put(Expm1(-x))
		put(Log1p(-x / 512))
		put(Pow(x, float64(i)/100))
		put(LogFactorial(i))
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != amd64 {
		t.Errorf("the hash of all results is %s, want %s", got, amd64)
	}
}

// ulps returns the difference of two numbers, in units of the last place of the exact one, or of least if that is more.
func ulps(got float64, exact *big.Float, least float64) float64 {
	near, _ := exact.Float64()
	near = max(math.Abs(near), least)
	unit := math.Nextafter(near, math.Inf(1)) - near
	off, _ := of().Quo(of().Sub(of().SetFloat64(got), exact), of().SetFloat64(unit)).Float64()
	return math.Abs(off)
}

func of() *big.Float { return new(big.Float).SetPrec(400) }

var (
	one  = of().SetInt64(1)
	ln2  = bigLog(of().SetInt64(2))
	ln10 = bigLog(of().SetInt64(10))
)

// bigExp returns e^x: Taylor's series of x/2^20, squared 20 times.
func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	r, term, all := of(), of().SetInt64(1), of().SetInt64(1)
	r.SetMantExp(x, -halvings)
	for n := int64(1); n < 40; n++ {
		term.Quo(term.Mul(term, r), of().SetInt64(n))
		all.Add(all, term)
	}
	for range halvings {
		all.Mul(all, all)
	}
	return all
}

// bigLog returns the logarithm by Halley's method, which triples the right digits in each round.
func bigLog(x *big.Float) *big.Float {
	fraction, y := of(), of()
	exponent := x.MantExp(fraction)
	near, _ := fraction.Float64()
	y.SetFloat64(math.Log(near) + float64(float64(exponent)*math.Ln2))
	for range 4 {
		e := bigExp(y)
		step := of().Quo(of().Sub(x, e), of().Add(x, e))
		y.Add(y, step.Add(step, step))
	}
	return y
}
