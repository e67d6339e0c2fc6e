package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/test/benchtable"
)

const changes = 3

// builds measures the go command, plainly and with probes: after changes of a file, and from an
// empty build cache.
func (b *bench) builds(program, tree, target, file string, cold bool) ([]benchtable.Figure, error) {
	plain := []string{"go", "build", "-o", b.path(program + "-plain.bin"), target}
	probed := []string{b.corehour, "go", "--quiet", "build", "-o", b.path(program + "-probed.bin"), target}
	var figures []benchtable.Figure
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
	ours, peers, err := warm(tree, file, probed, plain)
	if err != nil {
		return nil, err
	}
	compare("after a change", 1.1, ours, peers)
	return figures, nil
}

// cold builds with an empty build cache of its own.
func (b *bench) cold(tree string, args []string) (spent, error) {
	cache, err := os.MkdirTemp(b.dir, "cache-")
	if err != nil {
		return spent{}, err
	}
	defer os.RemoveAll(cache)
	return timed(tree, []string{"GOCACHE=" + cache}, args...)
}

// warm builds after each of some changes of a file, in turn.
func warm(tree, file string, probed, plain []string) (ours, peers []spent, err error) {
	file = filepath.Join(tree, file)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	for i := range changes + 1 {
		changed := fmt.Appendf(text[:len(text):len(text)], "\nvar _corehourChange = %d\n", i)
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			return nil, nil, err
		}
		p, err := timed(tree, nil, plain...)
		if err != nil {
			return nil, nil, err
		}
		o, err := timed(tree, nil, probed...)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 { // the first fills the build cache
			ours, peers = append(ours, o), append(peers, p)
		}
	}
	return ours, peers, os.WriteFile(file, text, 0o644)
}
