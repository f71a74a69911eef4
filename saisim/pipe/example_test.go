package pipe_test

import (
	"fmt"

	"tamtam/saisim/pipe"
)

// A count-min sketch of two rows needs two stages of the ingress pipe: one hashes, the next counts.
func ExampleCompile() {
	program, err := pipe.CountMin(pipe.CountMinSketch{
		Key: pipe.FiveTupleIPv4(), Rows: 2, Depth: 1024, Width: 32, Stage: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	chip := pipe.Limits{IngressStages: 12, EgressStages: 12, PHVBits: 4096, Stage: pipe.Resources{
		HashUnits: 6, HashBits: 52, StatefulALUs: 4, SRAMBlocks: 106, SRAMBits: 112 * 1024,
		TCAMBlocks: 16, TCAMEntries: 2048, TCAMBits: 40, VLIWSlots: 224, Tables: 8,
	}}
	compiled, err := pipe.Compile(program, chip, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, use := range program.Usage(chip).Stages {
		fmt.Printf("%s stage %d: %d hash units, %d stateful ALUs, %d blocks of SRAM\n",
			use.Pipe, use.Stage, use.HashUnits, use.StatefulALUs, use.SRAMBlocks)
	}
	var phv pipe.PHV
	const all pipe.Set = 0b111 // three packets of one flow
	compiled.Begin(&phv, all)
	for lane := range 3 {
		phv.W[pipe.WordSrcLo][lane], phv.W[pipe.WordDstLo][lane], phv.W[pipe.WordFlags][lane] = 0x0a000007, 0x0a000001, 3
	}
	compiled.Run(&phv, all, 0, chip.IngressStages)
	for _, name := range []string{"row0", "row1"} {
		row, err := compiled.Array("ingress", name)
		if err != nil {
			fmt.Println(err)
			return
		}
		most := uint64(0)
		for i := range row.Depth() {
			most = max(most, row.Get(i))
		}
		fmt.Println(name, "counted", most)
	}
	// Output:
	// ingress stage 1: 1 hash units, 0 stateful ALUs, 0 blocks of SRAM
	// ingress stage 2: 2 hash units, 2 stateful ALUs, 2 blocks of SRAM
	// row0 counted 3
	// row1 counted 3
}
