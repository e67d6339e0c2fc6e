package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	injected = regexp.MustCompile(`if _corehourM\[(\d+)\]\.On\(\) \{ defer _corehourM\[\d+\]\.Begin\(\)\.End\(\) \}`)
	hunk     = regexp.MustCompile(`^@@ -(\d+) \+\d+ @@$`)
)

// byHand builds the program with the same probes as if they had been written.
func (b *bench) byHand(plain string) error {
	list, err := output(plain, b.corehour, "go", "--dry-run", "build", "./cmd/convert")
	if err != nil {
		return err
	}
	diff, err := output(plain, b.corehour, "go", "--diff", "build", "./cmd/convert")
	if err != nil {
		return err
	}
	tree, err := b.fetchGoldmark("hand", startSDK)
	if err != nil {
		return err
	}
	if err := rewrite(plain, tree, diff, probeByHand); err != nil {
		return err
	}
	names := map[string][]string{}
	for l := range strings.Lines(list) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(l), ": probe"); ok {
			slash := strings.LastIndexByte(name, '/')
			path := name[:slash+strings.IndexByte(name[slash:], '.')]
			names[path] = append(names[path], name)
		}
	}
	for path, methods := range names {
		dir := filepath.Join(tree, strings.TrimPrefix(path, "github.com/yuin/goldmark"))
		text := fmt.Sprintf("package %s\n\nimport \"github.com/corehour/corehour/sdk\"\n\nvar corehourM = [...]*corehour.Method{\n", packageOf(path))
		for _, name := range methods {
			text += fmt.Sprintf("\tcorehour.NewMethod(%q),\n", name)
		}
		if err := write(filepath.Join(dir, "probes.go"), text+"}\n"); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"mod", "edit", "-go=1.25.0", "-require=github.com/corehour/corehour/sdk@v0.0.0", "-replace=github.com/corehour/corehour/sdk=" + b.sdk},
		{"build", "-mod=mod", "-o", b.path("hand.bin"), "./cmd/convert"},
	} {
		if _, err := output(tree, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

func packageOf(path string) string {
	if strings.HasSuffix(path, "/cmd/convert") {
		return "main"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// probeByHand returns a changed line with its probe as it is written by hand.
func probeByHand(_, after string) string {
	after = strings.Replace(after, " defer _corehourAtEnd();", "", 1)
	return injected.ReplaceAllString(after, "defer corehourM[$1].Begin().End()")
}

// rewrite changes in another tree the lines that a diff changes.
func rewrite(from, to, diff string, change func(before, after string) string) error {
	var path string
	var lines []string
	save := func() error {
		if path == "" {
			return nil
		}
		return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
	}
	at := 0
	for l := range strings.Lines(diff) {
		l = strings.TrimSuffix(l, "\n")
		if name, ok := strings.CutPrefix(l, "+++ "); ok {
			if err := save(); err != nil {
				return err
			}
			path = filepath.Join(to, strings.TrimPrefix(name, from))
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines = strings.Split(string(text), "\n")
		} else if m := hunk.FindStringSubmatch(l); m != nil {
			at, _ = strconv.Atoi(m[1])
		} else if strings.HasPrefix(l, "+") {
			lines[at-1] = change(lines[at-1], l[1:])
		}
	}
	return save()
}
