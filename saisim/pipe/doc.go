// Package pipe is the programmable part of the chip: match-action programs for the stages of its two pipes, as in an
// RMT switch. A [Program] is plain data. [Program.Validate] checks it against the limits of the chip. [Compile] makes
// the form that runs, without allocation, lock or map. This comment defines the meaning of a program. Both the compiled
// form and the reference are written from it.
//
// # Values
//
// All values are unsigned. A field has 1 to 64 bits. An [Operand] is a number of 64 bits. It is a constant, or the
// value of a field, parameter or hash, shifted right and cut as the operand defines. Results are computed modulo 2^64
// and then modulo 2^w for the w bits of the field that receives them. A shift by 64 or more returns 0. min, max and all
// comparisons are unsigned.
//
// # PHV
//
// [Fixed] lists the fields of the chip. User fields are 0 when a pipe begins. Bridged fields are an exception. They are
// 0 when the ingress pipe begins. Every copy begins the egress pipe with their values at the end of the ingress pipe. A
// program may write user fields, and fixed fields if their Access permits it. A header field that the frame does not
// have can be written and read, without an effect on the frame.
//
// # A stage
//
// Everything in a stage reads the PHV as it was when the stage began. Writes are visible from the next stage on. So the
// order of operations in a stage has no effect. Two tables of one stage must not write the same field, and an action
// must not write a field twice. The outcome of tables is an exception:
//
// Tables of a stage are processed in their order in Pipe.Tables. A table whose gate does not hold is skipped. Terms of
// a gate read fields as they were when the stage began. They also read the outcome of earlier tables, of the same or of
// earlier stages. A table that runs looks up its key. A matching entry is a hit, and its action runs with its
// arguments. Otherwise it is a miss, and the default action runs, if there is one. So the outcomes are: skipped, or ran
// with hit or miss and the name of the action. A skipped table is neither hit nor miss. A table "always" has no key and
// no entries: it always misses. Outcomes are not visible in the other pipe.
//
// # Keys
//
// With exact, an entry matches if every field, masked, equals its value. With ternary, every field, masked by the
// table's and the entry's mask, must equal the entry's value. The highest priority wins, then the lowest ID. With lpm,
// the key is the concatenation of the fields, first field first, most significant bit first, at most 128 bits. An entry
// matches if the first Prefix bits are equal, and the longest prefix wins. With index, the only field is the index. An
// entry matches if the index equals its value, which must be below the table's size. Bits of an entry's value outside
// its masks, or after its prefix, must be 0.
//
// # Hashes
//
// A hash is the CRC of the bytes of its inputs. Each input, in order, contributes its masked value in ceil(w/8) bytes,
// most significant first. All CRCs are reflected:
//
//	r = ^seed mod 2^Width
//	for each byte: r ^= byte; 8 times: r = r>>1 ^ (poly reversed if r&1, else 0)
//	result = ^r mod 2^Width
//
// where "poly reversed" is Poly with its Width bits in reverse order. With seed 0 this is CRC-32 (0x04c11db7), CRC-32C
// (0x1edc6f41) and so on. If two hashes of one polynomial differ only in the seed, their results differ only by a
// constant. So rows of a sketch need different polynomials. The result is cut to the low Bits bits.
//
// # Registers
//
// A register is used by the actions of one table, and an action uses it at most once. So each packet reads, modifies
// and writes at most one word of it. Packets of the pipe do so in the order in which they enter it. All values inside
// the stateful ALU are of the register's width w: x, y and constants are reduced modulo 2^w. If Index is not below the
// depth, no word is accessed and the output is 0. Otherwise, with mem the word before:
//
//	the conditions are evaluated
//	the first update whose guard holds computes the new word, modulo 2^w;
//	  adds results in at most 2^w-1, subs in at least 0; without such an update new = mem
//	the output is its Value (old = mem, new, predicate, x or y) if its guard
//	  holds, else 0; the field that receives it stores it modulo 2^(its width)
//
// # Control fields and the chip
//
// Stages run as the chip's documentation defines: the fixed function of a stage first, then the program's tables of
// that stage. If ctl.drop is 1 at the end of a stage, later stages do not run.
//
// # Packets together
//
// A [PHV] holds up to 64 packets, one per lane, in the order in which they enter the pipe. [Compiled.Run] runs stages
// for a [Set] of lanes, step by step, each step for all of them. So there is one dispatch for 64 packets, and their
// fetches from registers and tables overlap. The result is exact because a packet accesses a register only once, in one
// stage. So each register still sees the packets in their order. If two actions of a table use one register, they
// alternate in that order. A batch of one runs through the same code.
//
// A chip fills the fixed words of each lane and calls [Compiled.Begin] for all lanes. Then it runs its stages piece by
// piece between its fixed functions. Run returns the lanes that ctl.drop has not ended, for use in the next piece.
// Fixed functions may run lane by lane between two pieces. After the last piece, [Compiled.Bridge] saves the values
// that the packet needs in the egress pipe. Control operations ([Prepare], Access) happen only between batches, and all
// packets of a batch run one program.
//
// # Counters
//
// A table with Counters counts packets for each entry and for the default: packets that ran its action, or would have
// run it if there is none. For each it adds pkt.length, as it was when the stage began, to the bytes.
//
// # Resources
//
// Per stage, for each pipe separately, as returned by [Program.Usage]:
//
//	hash units     ceil(Bits/HashBits) per hash
//	stateful ALUs  one per register
//	SRAM blocks    register: ceil(Depth * c(Width) / SRAMBits)
//	               exact:    ceil(Size * (key + data + 32) / SRAMBits)
//	               index:    ceil(Size * (data + 32) / SRAMBits)
//	               ternary, lpm: ceil(Size * (data + 32) / SRAMBits)
//	               counters: ceil((Size+1) * 128 / SRAMBits) besides
//	TCAM blocks    ternary, lpm: ceil(key/TCAMBits) * ceil(Size/TCAMEntries)
//	VLIW slots     operations of all actions, and calls with an output
//	tables         one per table
//
// where key is the sum of the widths of the key fields, data the largest sum of parameter widths of its actions, and
// c(Width) is Width rounded up to 1, 8, 16, 32 or 64 bits. User fields use containers of 8, 16, 32 or 64 bits of the
// PHV, and the fixed fields use [HeaderBits].
//
// # Scope
//
// What belongs here: the form of programs, their meaning, their compiled form. What does not: frames, time, SAI, which
// belong to the chip.
package pipe
