package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/corehour/corehour/test/figures"
)

// The MooBench part follows the benchmark of Kieker: a method that calls itself ten times and does nothing
// else. Two starts of a process (memory layout, neighbours) differ by more than the runs within one, so every
// start gives one value per variant, and intervals are computed over starts.
//
//	naive           wall, CPU and caller of every call, queued one by one
//	reduced record  the wall alone
//	full queue      the collector does not answer: calls are aggregated
//	sums            mode Aggregate; caller and CPU of every call unless reduced
//	skipping        one call in a thousand is timed, with caller and CPU
//	combined        skipping, reduced record, and a queue with room
//
// Of one method's calls in flight at most 16 have their CPU timed, which bends the
// naive curve beyond that depth.

const mooDepth = 10

// grownDepths are those of the growth curve.
var grownDepths = []int{2, 4, 8, 16, 32, 64, 128}

// variant is one way to be instrumented. peer is the one it is compared with.
type variant struct {
	name string
	root func(depth int) int
	full bool   // the queue is full and the collector does not answer
	peer string // "" = none
}

const (
	mooNone       = "no instrumentation"
	mooOTelAlways = "otel always"
	mooOTelRare   = "otel ratio 0.001"
	mooCombined   = "combined"
	mooEvery      = "naive"
	mooFloor      = "floor: a locked add a call"
	mooSums       = "sums + reduced record"
)

func variants(otel peers) []variant {
	return []variant{
		{name: mooNone, root: bareCalls},
		{name: "switched off", root: offCalls, peer: "otel no-op"},
		{name: mooEvery, root: naiveCalls, peer: mooOTelAlways},
		{name: "reduced record", root: reducedCalls, peer: mooOTelAlways},
		{name: "full queue", root: naiveCalls, full: true, peer: mooOTelAlways},
		{name: "full queue + reduced record", root: reducedCalls, full: true, peer: mooOTelAlways},
		{name: "sums", root: summedCalls, peer: mooOTelAlways},
		{name: mooSums, root: summedOnlyCalls, peer: mooOTelAlways},
		{name: "skipping", root: skipCalls, peer: mooOTelRare},
		{name: mooCombined, root: allCalls, peer: mooOTelRare},
		{name: mooFloor, root: lockedCalls, peer: mooOTelRare},
		{name: "otel no-op", root: otelCalls(otel.none)},
		{name: mooOTelRare, root: otelCalls(otel.rare)},
		{name: mooOTelAlways, root: otelCalls(otel.always)},
	}
}

// grown are the variants of the growth curve.
var grown = []string{mooNone, mooCombined, mooSums, mooEvery, mooOTelRare, mooOTelAlways}

func grownName(depth int, variant string) string { return fmt.Sprintf("depth %d, %s", depth, variant) }

// moobench starts this program so many times and reports over the starts.
func moobench(starts, rounds int, busy time.Duration) (*figures.Run, error) {
	if starts < 2 || starts > len(students)+1 {
		return nil, fmt.Errorf("--starts must be within 2 and %d, found %d", len(students)+1, starts)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ns := map[string][]float64{}
	for range starts {
		child := exec.Command(program, oneStartFlag, "--rounds", strconv.Itoa(rounds), "--busy", busy.String())
		child.Stderr = os.Stderr
		out, err := child.Output()
		if err != nil {
			return nil, fmt.Errorf("a process start: %w", err)
		}
		var one map[string]float64
		if err := json.Unmarshal(out, &one); err != nil {
			return nil, fmt.Errorf("a process start printed %q: %w", out, err)
		}
		for name, value := range one {
			ns[name] = append(ns[name], value)
		}
	}
	report := figures.New("sdk-moobench")
	mooRows(report, ns)
	return report, nil
}

func mooRows(report *figures.Run, ns map[string][]float64) {
	mean := func(name string) float64 {
		m, _ := meanWithin(ns[name])
		return m
	}
	for _, v := range variants(peers{}) {
		m, half := meanWithin(ns[v.name])
		if v.peer == "" {
			report.Add(v.name+", mean", m, "ns", figures.Lower, nil)
		} else {
			report.Compare(v.name+", mean", m, "ns", v.peer, mean(v.peer), figures.Lower, nil)
		}
		tell := func(what string, value float64) { report.Add(v.name+", "+what, value, "ns", figures.Lower, nil) }
		tell("95% interval +-", half)
		tell("lower quartile", quantile(ns[v.name], 0.25))
		tell("median", median(ns[v.name]))
		tell("upper quartile", quantile(ns[v.name], 0.75))
	}
	report.Compare("combined, less the bare recursion", mean(mooCombined)-mean(mooNone), "ns",
		mooOTelRare, mean(mooOTelRare)-mean(mooNone), figures.Lower, figures.Goal(1.0/40))
	report.Compare("floor: ten locked adds, less the bare recursion", mean(mooFloor)-mean(mooNone), "ns",
		mooOTelRare, mean(mooOTelRare)-mean(mooNone), figures.Lower, nil)
	growth(report, mean, mooNone, "")
	growth(report, mean, mooCombined, mooOTelRare)
	growth(report, mean, mooSums, mooOTelAlways)
	growth(report, mean, mooEvery, mooOTelAlways)
}

func growth(report *figures.Run, mean func(string) float64, variant, peer string) {
	compare := func(name string, of func(string) float64) {
		if peer == "" {
			report.Add(name, of(variant), "ns", figures.Lower, nil)
		} else {
			report.Compare(name, of(variant), "ns", peer, of(peer), figures.Lower, nil)
		}
	}
	for _, depth := range grownDepths {
		compare(grownName(depth, variant), func(v string) float64 { return mean(grownName(depth, v)) })
	}
	first, last := grownDepths[0], grownDepths[len(grownDepths)-1]
	compare("each further level, "+variant, func(v string) float64 {
		return (mean(grownName(last, v)) - mean(grownName(first, v))) / float64(last-first)
	})
}
