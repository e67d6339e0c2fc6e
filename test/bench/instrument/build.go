package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/test/bench/results"
)

const changes = 7

// builds measures the go command with and without probes: after changes of a file, and from an empty build cache.
// The SDK links net/http and TLS. For a program that does not link them, floor also measures the plain
// program with these packages (build tag "floor"), as a lower bound.
func (b *bench) builds(program, tree, target, file string, cold, floor bool) ([]results.Figure, error) {
	plain := []string{"go", "build", "-o", b.path(program + "-plain.bin"), target}
	probed := []string{b.corehour, "go", "--quiet", "build", "-o", b.path(program + "-probed.bin"), target}
	var figures []results.Figure
	compare := func(when string, goal float64, ours, peers []spent) {
		name := "build of " + program + " " + when
		figures = append(figures,
			against(name+", user and system time", "s", seconds(ours, spent.cpuTime), "plain", seconds(peers, spent.cpuTime), goal),
			against(name+", wall time", "s", seconds(ours, spent.wallTime), "plain", seconds(peers, spent.wallTime), 0))
	}
	if cold {
		fmt.Fprintln(os.Stderr, "building", program, "from an empty build cache, twice")
		peer, err := b.cold(tree, plain)
		if err != nil {
			return nil, err
		}
		our, err := b.cold(tree, probed)
		if err != nil {
			return nil, err
		}
		compare("from an empty cache", 1.15, []spent{our}, []spent{peer})
	}
	commands := [][]string{plain, probed}
	if floor {
		commands = append(commands, []string{"go", "build", "-tags", "floor", "-o", os.DevNull, target})
	}
	all, err := warm(tree, file, commands...)
	if err != nil {
		return nil, err
	}
	compare("after a change", 1.1, all[1], all[0])
	if floor {
		figures = append(figures, against("build of "+program+" after a change with net/http linked in, plainly, user and system time", "s",
			seconds(all[2], spent.cpuTime), "plain", seconds(all[0], spent.cpuTime), 0))
	}
	return figures, nil
}

// cold builds with a separate, empty build cache.
func (b *bench) cold(tree string, args []string) (spent, error) {
	cache, err := os.MkdirTemp(b.dir, "cache-")
	if err != nil {
		return spent{}, err
	}
	defer os.RemoveAll(cache)
	return timed(tree, []string{"GOCACHE=" + cache}, args...)
}

// warm runs the commands in turn, several times, each after a change of a file.
func warm(tree, file string, commands ...[]string) ([][]spent, error) {
	file = filepath.Join(tree, file)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := make([][]spent, len(commands))
	for i := range changes + 1 {
		for c, command := range commands {
			// Every command gets a new change, so that it cannot use the cache of the command before.
			changed := fmt.Appendf(text[:len(text):len(text)], "\nvar _corehourChange = %d\n", i*len(commands)+c)
			if err := os.WriteFile(file, changed, 0o644); err != nil {
				return nil, err
			}
			took, err := timed(tree, nil, command...)
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first round fills the build cache
				all[c] = append(all[c], took)
			}
		}
	}
	return all, os.WriteFile(file, text, 0o644)
}
