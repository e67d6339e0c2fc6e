package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/corehour/corehour/test/benchtable"
)

// tracer is what orchestrion compiles in, and itself.
var tracer = []string{"github.com/DataDog/orchestrion@v1.15.0", "github.com/DataDog/dd-trace-go/v2/ddtrace/tracer@v2.12.0"}

const orchestrionTool = `//go:build tools

package tools

import (
	_ "github.com/DataDog/dd-trace-go/v2/ddtrace/tracer" // integration
	_ "github.com/DataDog/orchestrion"
)
`

// spanByDirective returns a function's first line after the directive that gives it a span.
func spanByDirective(before, _ string) string {
	if !strings.HasPrefix(before, "func ") || strings.HasPrefix(before, "func main(") {
		return before // it ends a declaration of several lines, or is the program
	}
	return "//dd:span\n" + before
}

// orchestrion measures goldmark with a span in the functions that have a probe.
func (b *bench) orchestrion(command, plain string, rounds int) ([]benchtable.Figure, error) {
	diff, err := output(plain, b.corehour, "go", "--diff", "build", "./cmd/convert")
	if err != nil {
		return nil, err
	}
	tree, err := b.fetchGoldmark("spans", startNothing)
	if err != nil {
		return nil, err
	}
	if err := rewrite(plain, tree, diff, spanByDirective); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(tree, "orchestrion.tool.go"), orchestrionTool); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "building goldmark with orchestrion")
	for _, args := range [][]string{append([]string{"get"}, tracer...), {"mod", "tidy"}} {
		if _, err := output(tree, "go", args...); err != nil {
			return nil, err
		}
	}
	spans := []string{command, "go", "build", "-o", b.path("goldmark-spans.bin"), "./cmd/convert"}
	all, err := warm(tree, "parser/parser.go", []string{b.corehour, "go", "--quiet", "build", "-o", os.DevNull, "./cmd/convert"}, spans)
	if err != nil {
		return nil, err
	}
	ours, theirs := all[0], all[1]
	const peer = "orchestrion"
	var offs, spanned []float64
	for range rounds {
		for values, r := range map[*[]float64]struct {
			binary string
			env    []string
		}{&offs: {"goldmark-probed.bin", nil}, &spanned: {"goldmark-spans.bin", []string{"DD_TRACE_ENABLED=false", "DD_TRACE_STARTUP_LOGS=false"}}} {
			_, ns, _, err := b.convert(r.binary, r.env)
			if err != nil {
				return nil, err
			}
			*values = append(*values, ns/1e6)
		}
	}
	return []benchtable.Figure{
		against("Convert, probes off, next to spans off", "ms", offs, peer, spanned, 0),
		against("build of goldmark after a change, user and system time, next to spans", "s", seconds(ours, spent.cpuTime), peer, seconds(theirs, spent.cpuTime), 0),
		against("build of goldmark after a change, wall time, next to spans", "s", seconds(ours, spent.wallTime), peer, seconds(theirs, spent.wallTime), 0),
		against("binary, next to spans", "MB", []float64{sizeOf(b.path("goldmark-probed.bin"))}, peer, []float64{sizeOf(b.path("goldmark-spans.bin"))}, 0),
	}, nil
}
