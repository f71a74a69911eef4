// Package flymon is the language of sketch tasks (FlyMon, SIGCOMM 2022): keys, filters, attributes
// and algorithms as users write them, and the layout that a task has on a chip's composable
// measurement units (CMUs). Chip, planner, orchestrator and lab share it, so that the bucket of a
// key is the same everywhere.
//
// # Candidate key
//
// A packet's candidate key is a [Vector] of 48 bytes, big-endian: source address 16, destination
// address 16 (IPv4 in the first four bytes, the rest 0, so that a prefix is one mask for both
// families), source port 2, destination port 2, protocol 1, IP version 1 (4, 6; 0: no IP), 2 bytes
// 0, and the time of day in nanoseconds since 1970, 8. What a packet lacks is 0. A key is a mask of
// it; if it has any bit of an address, it includes the version.
//
// # Compression
//
// Each CMU group has hash units ([Geometry].Units, three in the paper's setting). A
// unit computes the CRC-32 of the masked vector, most significant bit first, register
// all ones at the beginning, not inverted at the end, with the polynomial [Poly] of its
// group and number, and mixes its bits ([Compress]). A compressed key is one unit's, or two units' XOR.
//
// # A unit of a task
//
// For each packet that the task's filter matches, units run in their order:
//
//	raw  = rotate-right(C[A] xor C[B], Shift) mod Depth
//	addr = Base + raw mod Size                                 TCAM-based translation
//	addr = Base + raw >> (log2 Depth - log2 Size)              shift-based
//	p1   = Map(param P1) mod 2^Width, p2 = param P2 mod 2^Width
//	result = op(register[addr], p1, p2)
//
// Operations are those of the paper's Appendix A, on words of Width bits:
//
//	cond-add  if reg < p2: reg = reg + p1 (mod 2^Width), result reg; else result 0
//	max       if reg < p1: reg = p1, result reg; else result 0
//	and-or    if p2 = 0: reg = reg and p1, result reg; else reg = reg or p1, result those bits of p1 that reg had not
//	xor-swap  if p2 = 0: reg = reg xor p1, else reg = p1; result the word before
//
// The fourth is the one that the paper leaves open, two simple operations in one as it does with
// AND-OR: XOR for Odd Sketch, the exchange for inter-arrival times, which the MAX of Appendix A
// cannot give because it returns the new value. Nor can its AND-OR, which returns the register,
// tell whether a Bloom filter has seen a key before: here the result of OR does, for later units
// that act once for each flow or element.
//
// What belongs here: what is true of FlyMon on any chip. What does not: I/O, SAI, SONiC's tables,
// estimators (sketch), placement (flymonorch/plan).
package flymon
