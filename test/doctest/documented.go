// Package doctest lets a test compare the figures of a page with those of the code:
// a constant that is changed without its page fails where it is.
//
// It does not understand pages; it looks for sentences.
package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Contains fails for every sentence that a page of docs/ does not have, however its lines
// are broken.
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
