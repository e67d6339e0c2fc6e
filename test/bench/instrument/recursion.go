package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/corehour/corehour/test/bench/results"
)

// recursive is a program with a function that calls itself to each depth. Its leaf returns at once or is busy for a
// while. It prints the depth, whether the leaf is busy, and the tenth percentile of the duration of an
// outer call in ns.
const recursive = `package main

import (
	"fmt"
	"slices"
	"time"
)

//go:noinline
func call(depth, busy int) uint64 {
	if depth > 1 {
		return call(depth-1, busy) + 1
	}
	return work(busy)
}

func work(busy int) uint64 {
	x := uint64(busy)
	for range busy {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func main() {
	measure(10, 0)
	for depth := 2; depth <= 128; depth *= 2 {
		measure(depth, 2000)
	}
}

func measure(depth, busy int) {
	const calls = 20
	var sum uint64
	var all []int64
	for begin := time.Now(); time.Since(begin) < 150*time.Millisecond; {
		at := time.Now()
		for range calls {
			sum += call(depth, busy)
		}
		all = append(all, time.Since(at).Nanoseconds())
	}
	if sum == 0 && busy > 0 {
		panic("no call was made")
	}
	slices.Sort(all)
	fmt.Println(depth, busy > 0, float64(all[len(all)/10])/calls)
}
`

// shape is a configuration of the recursive function.
type shape struct {
	depth int
	busy  bool
}

// variants split the cost of a probe into parts, as Kieker does. Each variant adds one part to the one before.
var variants = []struct {
	name string
	part string // the added part
	env  []string
}{
	{name: "plain"},
	{name: "probes off", part: "instrumentation"},
	{name: "counted", part: "counting", env: []string{"COREHOUR_SAMPLE=0"}},
	{name: "timed, no collector", part: "collection", env: []string{"COREHOUR_SAMPLE=1", "COREHOUR_CPU=off"}},
	{name: "timed and sent", part: "queue and sending", env: []string{"COREHOUR_SAMPLE=1", "COREHOUR_CPU=off"}},
}

// Indexes into variants.
const (
	plainly = iota
	off
	counting
	collecting
	sending
)

// nowhere is an address without a collector. Records that do not fit in the queue are aggregated.
const nowhere = "COREHOUR_ENDPOINTS=http://127.0.0.1:1"

// recursion measures a recursive function, similar to MooBench.
func (b *bench) recursion(rounds int) ([]results.Figure, error) {
	tree := b.path("recursion")
	for file, text := range map[string]string{"go.mod": "module recursion\n\ngo 1.25\n", "main.go": recursive} {
		if err := write(filepath.Join(tree, file), text); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{
		{"go", "build", "-o", b.path("recursion-plain.bin"), "."},
		{b.corehour, "go", "--quiet", "build", "-o", b.path("recursion-probed.bin"), "."},
	} {
		if _, err := timed(tree, nil, args...); err != nil {
			return nil, err
		}
	}
	ns := make([]map[shape][]float64, len(variants))
	for i := range ns {
		ns[i] = map[shape][]float64{}
	}
	for round := range rounds {
		for i := range variants {
			if err := b.recurse(i, ns[i]); err != nil {
				return nil, err
			}
		}
		bare := shape{10, false}
		fmt.Fprintf(os.Stderr, "round %d of %d: recursion %.1f ns, off %.1f ns\n", round+1, rounds, ns[plainly][bare][round], ns[off][bare][round])
	}
	return recursionFigures(ns), nil
}

// recurse runs one variant once.
func (b *bench) recurse(variant int, ns map[shape][]float64) error {
	v, binary := variants[variant], "recursion-probed.bin"
	if variant == plainly {
		binary = "recursion-plain.bin"
	}
	cmd := exec.Command(b.path(binary))
	cmd.Env = append(os.Environ(), v.env...)
	switch variant {
	case counting, sending:
		cmd.Env = append(cmd.Env, b.here)
	case collecting:
		cmd.Env = append(cmd.Env, nowhere)
	}
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("recursion, %s: %w", v.name, err)
	}
	for l := range strings.Lines(string(text)) {
		var s shape
		var value float64
		if _, err := fmt.Sscan(l, &s.depth, &s.busy, &value); err != nil {
			return fmt.Errorf("recursion, %s printed %q: %w", v.name, l, err)
		}
		ns[s] = append(ns[s], value)
	}
	return nil
}

func recursionFigures(ns []map[shape][]float64) []results.Figure {
	bare := shape{10, false}
	figures := []results.Figure{figureWithoutPeer("recursion of depth 10, plain", "ns", ns[plainly][bare]...)}
	for i := off; i < len(variants); i++ {
		goal := 0.0
		if i == off {
			goal = 1.6
		}
		figures = append(figures, against("recursion of depth 10, "+variants[i].name, "ns", ns[i][bare], "plain", ns[plainly][bare], goal))
	}
	for depth := 2; depth <= 128; depth *= 2 {
		s := shape{depth, true}
		name := fmt.Sprintf("busy leaf, depth %d, ", depth)
		figures = append(figures, figureWithoutPeer(name+"plain", "ns", ns[plainly][s]...))
		before := plainly
		for i := off; i < len(variants); i++ {
			figures = append(figures, figureWithoutPeer(name+variants[i].part, "ns", minus(ns[i][s], ns[before][s])...))
			before = i
		}
	}
	return figures
}

// minus returns the difference values - less, by round.
func minus(values, less []float64) []float64 {
	more := make([]float64, len(values))
	for i := range values {
		more[i] = values[i] - less[i]
	}
	return more
}
