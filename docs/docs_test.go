// Package docs_test tests the documentation: links resolve, tables marked as
// computed match the code, and every variable, metric, column and flag exists.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "rewrite the computed tables")

const root = ".."

// pages returns all Markdown files for readers, by path below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
				name == "node_modules" || name == "build" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestPages_LinksResolve resolves every relative link, including its heading.
func TestPages_LinksResolve(t *testing.T) {
	all := pages(t)
	checked := 0
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(withoutCode(text), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			file := page
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Errorf("%s: link to %s: no such file", page, match[1])
					continue
				}
			}
			if anchor == "" {
				continue
			}
			if other, ok := all[file]; !ok || !hasHeading(other, anchor) {
				t.Errorf("%s: link to %s: no such heading", page, match[1])
			}
		}
	}
	if checked == 0 {
		t.Error("no relative link was found at all")
	}
}

// hasHeading reports whether a page has a heading with this anchor.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(withoutCode(text)) {
		if strings.HasPrefix(line, "#") && anchorOf(strings.TrimSpace(strings.TrimLeft(line, "#"))) == anchor {
			return true
		}
	}
	return false
}

// anchorOf returns the anchor that Markdown renderers create for a heading.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// withoutCode removes fenced blocks, where `](` and `#` mean something else.
func withoutCode(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// compareComputed compares the block of a page between `<!-- computed:name -->`
// and `<!-- end -->` with the computed text, or rewrites it.
func compareComputed(t *testing.T, page, name, computed string) {
	t.Helper()
	path := filepath.Join(root, page)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), fmt.Sprintf("<!-- computed:%s -->\n", name))
	found, after, okEnd := strings.Cut(rest, "<!-- end -->")
	if !ok || !okEnd {
		t.Fatalf("%s: no block computed:%s", page, name)
	}
	if found == computed {
		return
	}
	if !*update {
		t.Fatalf("%s: block %s differs; run go test ./docs -update\nfound:\n%s\ncomputed:\n%s", page, name, found, computed)
	}
	text := fmt.Sprintf("%s<!-- computed:%s -->\n%s<!-- end -->%s", before, name, computed, after)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
