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
	declare := func(names []string) string {
		text := "import \"github.com/corehour/corehour/sdk\"\n\nvar corehourM = [...]*corehour.Method{\n"
		for _, name := range names {
			text += fmt.Sprintf("\tcorehour.NewMethod(%q),\n", name)
		}
		return text + "}\n"
	}
	tree, err := b.written(plain, "hand", startSDK, "defer corehourM[$1].Begin().End()", declare)
	if err != nil {
		return err
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

// floors builds the program with what no probe can do without: the test of a flag, which is inlined,
// and a locked addition, which counts each call.
func (b *bench) floors(plain string) error {
	for name, probe := range map[string][2]string{
		"flag":     {"if p := corehourM[$1].Load(); p != nil { defer p.end() }", "Pointer[corehourProbe]"},
		"addition": {"corehourM[$1].Add(1)", "Int64"},
	} {
		tree, err := b.written(plain, name, startNothing, probe[0], func(names []string) string {
			return fmt.Sprintf("import \"sync/atomic\"\n\nvar corehourM [%d]atomic.%s\n\ntype corehourProbe struct{ ended int }\n\nfunc (p *corehourProbe) end() { p.ended++ }\n", len(names), probe[1])
		})
		if err != nil {
			return err
		}
		if _, err := output(tree, "go", "build", "-o", b.path(name+".bin"), "./cmd/convert"); err != nil {
			return err
		}
	}
	return nil
}

// written copies the program with a statement in the place of each probe that the command compiles in, and
// a file in each package that declares what the statements need.
func (b *bench) written(plain, name, start, statement string, declare func(names []string) string) (string, error) {
	list, err := output(plain, b.corehour, "go", "--dry-run", "build", "./cmd/convert")
	if err != nil {
		return "", err
	}
	diff, err := output(plain, b.corehour, "go", "--diff", "build", "./cmd/convert")
	if err != nil {
		return "", err
	}
	tree, err := b.fetchGoldmark(name, start)
	if err != nil {
		return "", err
	}
	err = rewrite(plain, tree, diff, func(_, after string) string {
		return injected.ReplaceAllString(strings.Replace(after, " defer _corehourAtEnd();", "", 1), statement)
	})
	if err != nil {
		return "", err
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
		if err := write(filepath.Join(dir, "probes.go"), fmt.Sprintf("package %s\n\n%s", packageOf(path), declare(methods))); err != nil {
			return "", err
		}
	}
	return tree, nil
}

func packageOf(path string) string {
	if strings.HasSuffix(path, "/cmd/convert") {
		return "main"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
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
