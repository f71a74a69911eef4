// Package flymon defines sketch tasks (FlyMon, SIGCOMM 2022): keys, filters, attributes and algorithms as users write
// them. It also defines the layout of a task on a chip's composable measurement units (CMUs). Chip, planner,
// orchestrator and lab share it, so that a key has the same bucket everywhere.
//
// # Candidate key
//
// A packet's candidate key is a [Vector] of 48 bytes, big-endian: source address 16, destination address 16, source
// port 2, destination port 2, protocol 1, IP version 1, zeros 2, and the time of day in nanoseconds since 1970, 8. An
// IPv4 address is in the first four bytes, followed by zeros, so that a prefix is one mask for both families. The
// version is 4, 6, or 0 for no IP. Fields that a packet lacks are 0. A key is a mask of the candidate key. A key with
// any bit of an address includes the version.
//
// # Compression
//
// Each CMU group has hash units ([Geometry].Units, three in the paper's setting). A unit computes the CRC-32 of the
// masked vector, most significant bit first. The register starts with all ones and is not inverted at the end. The
// polynomial is [Poly] of the group and the unit. Then the unit mixes the bits ([Compress]). A compressed key is the
// result of one unit, or the XOR of two.
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
// The paper leaves the fourth operation open. Here it combines two simple operations, as AND-OR does: XOR for Odd
// Sketch, and an exchange for inter-arrival times. The MAX of Appendix A cannot give these, because it returns the new
// value. Its AND-OR returns the register, so it does not reveal whether a Bloom filter has seen a key before. Here the
// result of OR does, for later units that act once per flow or element.
//
// What belongs here: facts about FlyMon that hold on any chip. What does not: I/O, SAI, SONiC's tables, estimators
// (sketch), placement (flymonorch/plan).
package flymon
