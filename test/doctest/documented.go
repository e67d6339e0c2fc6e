// Package doctest lets a test compare the figures on a page with those in the code. If a constant changes but
// its page does not, the test next to the constant fails.
//
// It does not parse pages; it searches for sentences.
package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Contains fails the test for every sentence that a page of docs/ does not contain. Line breaks are ignored.
func Contains(t testing.TB, page string, sentences ...string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "docs", page)) {
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatalf("no docs/%s above this package", page)
		}
		dir = up
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, s := range sentences {
		if !strings.Contains(words, s) {
			t.Errorf("docs/%s does not say %q", page, s)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
