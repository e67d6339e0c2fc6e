//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build compiles a server and its changed versions with probes. The go command instruments the main module only, so the
// server's module is copied out of the module cache.
type build struct {
	command string
	server  server
	dir     string
}

// versions returns the path of the binary of each change in percent, and of 0.
func (b *build) versions(ctx context.Context, changes []int) (map[int]string, error) {
	source := filepath.Join(b.dir, "source")
	if err := b.fetch(ctx, source); err != nil {
		return nil, err
	}
	path := filepath.Join(source, b.server.plant.file)
	original, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(original), b.server.plant.before); n != 1 {
		return nil, fmt.Errorf("%s has %d times %q, want 1", path, n, b.server.plant.before)
	}
	iteration := nsPerIteration()
	binaries := map[int]string{}
	for _, change := range append([]int{0}, changes...) {
		if binaries[change] != "" {
			continue
		}
		text := string(original)
		if change > 0 {
			iterations := math.Round(b.server.plant.ns * float64(change) / 100 / iteration)
			text = strings.Replace(text, b.server.plant.before, b.server.plant.before+fmt.Sprintf(work, int(iterations)), 1)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
		binary := filepath.Join(b.dir, fmt.Sprintf("server-%d", change))
		fmt.Fprintf(os.Stderr, "building %s, %+d%%\n", b.server.module, change)
		if err := run(ctx, source, b.command, "go", "--quiet", "build", "-mod=mod", "-o", binary, b.server.pkg); err != nil {
			return nil, err
		}
		binaries[change] = binary
	}
	return binaries, nil
}

func (b *build) fetch(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", b.server.module)
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, text)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(m.Dir)); err != nil {
		return err
	}
	for _, path := range b.server.replaced {
		if err := run(ctx, to, "go", "mod", "edit", "-dropreplace="+path); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// work is the planted statement: a number of iterations that depend on each other.
const work = `
for planted, rounds := uint64(1), %d; rounds > 0; rounds-- { planted = planted*6364136223846793005 + 1442695040888963407; if planted == 0 { panic("planted") } }
`

// nsPerIteration returns the CPU time of an iteration of work, the least of several rounds.
func nsPerIteration() float64 {
	const rounds, iterations = 50, 1_000_000
	least := math.Inf(1)
	for range rounds {
		begin := time.Now()
		for planted, left := uint64(1), iterations; left > 0; left-- {
			planted = planted*6364136223846793005 + 1442695040888963407
			if planted == 0 {
				panic("planted")
			}
		}
		least = min(least, float64(time.Since(begin))/iterations)
	}
	return least
}
