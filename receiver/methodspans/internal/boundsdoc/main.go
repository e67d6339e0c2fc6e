// Command boundsdoc writes docs/reference/bounds.md, the one table of everything that is
// bounded: go generate ./receiver/methodspans.
//
// Every component lists its bounds in a bounds.yaml in its own folder; this
// program finds all of them. It does not know the components' configurations:
// that a default is the real one is tested next to each list.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// list is one bounds.yaml.
type list struct {
	Component string  `yaml:"component"`
	Bounds    []bound `yaml:"bounds"`
}

type bound struct {
	What    string `yaml:"what"`
	Option  string `yaml:"option"`  // config path; empty for a constant
	Default string `yaml:"default"` // with its unit
	Beyond  string `yaml:"beyond"`  // what happens
	Metric  string `yaml:"metric"`  // that says it happened
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: boundsdoc REPOSITORY")
		os.Exit(2)
	}
	root := os.Args[1]
	text, err := render(root)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "docs", "reference", "bounds.md"), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "boundsdoc:", err)
		os.Exit(1)
	}
}

const head = `<!-- Written by receiver/methodspans/internal/boundsdoc from the bounds.yaml of each component. -->

# Bounds

After this page you know each limit of a queue, table or name, the effect of exceeding it, and the metric that counts it.
Calls beyond a limit stay counted under a common name, or are a counted loss.
`

// render finds and reads all lists.
func render(root string) ([]byte, error) {
	var paths []string
	for _, pattern := range []string{"*/bounds.yaml", "*/*/bounds.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	var out bytes.Buffer
	out.WriteString(head)
	var errs []error
	for _, path := range paths {
		l, err := read(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.write(&out)
	}
	return out.Bytes(), errors.Join(errs...)
}

func read(path string) (list, error) {
	var l list
	text, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&l); err != nil {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	missing := func(where, key, value string) {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s: %s`%s` must be given", path, where, key))
		}
	}
	missing("", "component", l.Component)
	for i, b := range l.Bounds {
		where := fmt.Sprintf("bounds::%d: ", i)
		missing(where, "what", b.What)
		missing(where, "default", b.Default)
		missing(where, "beyond", b.Beyond)
	}
	return l, errors.Join(errs...)
}

func (l list) write(out *bytes.Buffer) {
	fmt.Fprintf(out, "\n## %s\n\n", l.Component)
	out.WriteString("| what | limit | beyond it | metric |\n|---|---|---|---|\n")
	for _, b := range l.Bounds {
		limit := cell(b.Default)
		if b.Option != "" {
			limit = code(b.Option) + ": " + limit
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", cell(b.What), limit, cell(b.Beyond), code(b.Metric))
	}
}

// cell keeps a text from breaking out of its cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}
