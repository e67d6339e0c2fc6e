package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/corehour/corehour/test/bench/results"
)

// program converts for a second. It prints the number of conversions and the tenth percentile of their time in ns.
const program = `package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/yuin/goldmark"
)

func main() {
	start()
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	md := goldmark.New()
	var out bytes.Buffer
	var all []time.Duration
	for begin := time.Now(); time.Since(begin) < time.Second; {
		at := time.Now()
		out.Reset()
		if err := md.Convert(text, &out); err != nil {
			panic(err)
		}
		all = append(all, time.Since(at))
	}
	slices.Sort(all)
	fmt.Println(len(all), all[len(all)/10].Nanoseconds())
}
`

const (
	startNothing = "package main\n\nfunc start() {}\n"
	linkFloor    = "//go:build floor\n\npackage main\n\nimport \"net/http\"\n\nvar get = (&http.Client{}).Get\n"
)

// fetchGoldmark copies goldmark and adds the program.
func (b *bench) fetchGoldmark(name, start string) (string, error) {
	tree, err := b.fetch(name, goldmark)
	if err != nil {
		return "", err
	}
	for file, text := range map[string]string{"main.go": program, "start.go": start, "floor.go": linkFloor} {
		if err := write(filepath.Join(tree, "cmd", "convert", file), text); err != nil {
			return "", err
		}
	}
	return tree, nil
}

// converts measures conversions by the binaries in turn.
func (b *bench) converts(rounds int) ([]results.Figure, error) {
	per, err := b.probesPerRun()
	if err != nil {
		return nil, err
	}
	runs := []struct {
		name, binary string
		goal         float64
		env          []string
	}{
		{"plain", "goldmark-plain.bin", 0, nil},
		{"probes off", "goldmark-probed.bin", 1.08, nil},
		{"1% with CPU", "goldmark-probed.bin", 1.25, []string{"COREHOUR_SAMPLE=0.01", b.here}},
		{"1% by the wall", "goldmark-probed.bin", 0, []string{"COREHOUR_SAMPLE=0.01", "COREHOUR_CPU=off", b.here}},
		{"0.1% with CPU", "goldmark-probed.bin", 0, []string{"COREHOUR_SAMPLE=0.001", b.here}},
	}
	times := make([][]float64, len(runs))
	for round := range rounds {
		for i, r := range runs {
			_, ns, _, err := b.convert(r.binary, r.env)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], ns/1e6)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: plain %.1f ms, off %.1f ms, 1%% %.1f ms\n", round+1, rounds, times[0][round], times[1][round], times[2][round])
	}
	figures := []results.Figure{figureWithoutPeer("Convert, plain", "ms", times[0]...)}
	for i, r := range runs[1:] {
		figures = append(figures, against("Convert, "+r.name, "ms", times[i+1], "plain", times[0], r.goal))
	}
	return append(figures,
		figureWithoutPeer("probes executed in a Convert", "calls", per),
		against("binary", "MB", []float64{sizeOf(b.path("goldmark-probed.bin"))}, "plain", []float64{sizeOf(b.path("goldmark-plain.bin"))}, 0)), nil
}

// convert runs a program and returns the number of conversions, the time per conversion in ns, and its stderr.
func (b *bench) convert(binary string, env []string) (n, ns float64, stderr string, err error) {
	cmd := exec.Command(b.path(binary), b.document)
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return 0, 0, "", fmt.Errorf("%s: %w: %s", binary, err, errs.String())
	}
	if _, err := fmt.Sscan(string(text), &n, &ns); err != nil {
		return 0, 0, "", fmt.Errorf("%s printed %q: %w", binary, text, err)
	}
	return n, ns, errs.String(), nil
}

var counted = regexp.MustCompile(`(?m)^corehour counts .* calls=(\d+)$`)

// probesPerRun returns the number of probe calls per conversion.
func (b *bench) probesPerRun() (float64, error) {
	n, _, stderr, err := b.convert("goldmark-probed.bin", []string{"COREHOUR_SAMPLE=0.000001", "COREHOUR_EXPORT=stderr"})
	if err != nil {
		return 0, err
	}
	calls := 0.0
	for _, m := range counted.FindAllStringSubmatch(stderr, -1) {
		count, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		calls += count
	}
	if calls/n < 60 {
		return 0, fmt.Errorf("a conversion executed %.1f probes: at least 60 are wanted", calls/n)
	}
	return calls / n, nil
}
