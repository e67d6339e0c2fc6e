package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// metrics are the results of Go benchmarks, by benchmark name and unit.
type metrics map[string]map[string]float64

// bench runs the benchmarks of a package.
func bench(ctx context.Context, root, pkg, pattern string, times int) (metrics, error) {
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", strconv.Itoa(times)+"x", "-timeout", "30m", pkg)
	command.Dir = root
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return parse(out), nil
}

// parse reads lines such as `BenchmarkX/y-2  6  182127 ns/op  0.83 cpu-s/M`.
func parse(out []byte) metrics {
	found := make(metrics)
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 { // GOMAXPROCS
			name = name[:at]
		}
		found[name] = make(map[string]float64)
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[name][fields[i+1]] = value
			}
		}
	}
	return found
}

// two returns two metrics of a benchmark.
func (m metrics) two(name, first, second string) (float64, float64, error) {
	a, okA := m[name][first]
	b, okB := m[name][second]
	if !okA || !okB {
		return 0, 0, fmt.Errorf("benchmark %s must print %s and %s, found %v", name, first, second, m[name])
	}
	return a, b, nil
}
