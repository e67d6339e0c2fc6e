// Command simsampling runs the strategies of the adaptive sampler against
// services whose truth is known and prints the figures as JSON for
// test/figures/show. The seeds are fixed: every run gives the same figures.
//
//	simsampling [--short]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide/sim"
)

func main() {
	short := flag.Bool("short", false, "fewer methods and runs")
	flag.Parse()
	of := sim.All
	if *short {
		of = sim.Short
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(of(os.Stderr)); err != nil {
		fmt.Fprintln(os.Stderr, "simsampling:", err)
		os.Exit(1)
	}
}
