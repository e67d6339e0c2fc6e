package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unraced skips a long test with the race detector, which has nothing to find in a command
// that asks one question after another. make test runs it without.
func unraced(t *testing.T) {
	if raceEnabled {
		t.Skip("runs without the race detector, see the Makefile")
	}
}

// What is skipped with the race detector is run without it.
func TestUnracedTestsAreRun(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^UNRACED := (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile lists no UNRACED tests")
	}
	own, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	queries, err := filepath.Glob("../../regression/query/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, path := range append(own, queries...) {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tunraced\(t\)`).FindAllSubmatch(source, -1) {
			skipped = append(skipped, string(m[1]))
		}
	}
	if len(skipped) == 0 {
		t.Fatal("no test is skipped")
	}
	for _, name := range skipped {
		if !strings.Contains("|"+string(list[1])+"|", "|"+name+"|") {
			t.Errorf("%s is not among UNRACED in the Makefile", name)
		}
	}
}
