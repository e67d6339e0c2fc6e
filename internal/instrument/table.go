package instrument

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Probe is a line of the table of a built binary.
type Probe struct {
	Name     string
	WallOnly bool // its CPU is never timed
}

// A table is a constant of the binary: the heading, the package, a line a probe, and an end.
const (
	probesTable  = "probes"
	tableEnd     = "\x00"
	wallOnlyFlag = "\tw"
)

// heading is put together at run time, so that this program has none in it.
func heading(kind string) []byte { return []byte(strings.Join([]string{"corehour", kind, "1\n"}, ":")) }

func tableOf(k *found) string {
	var b strings.Builder
	b.Write(heading(probesTable))
	b.WriteString(k.pkg.ImportPath + "\n")
	for _, s := range k.sources {
		for _, f := range s.functions {
			if f.index < 0 {
				continue
			}
			b.WriteString(f.name)
			if len(k.unlocks) > 0 {
				b.WriteString(wallOnlyFlag)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Probes reads the tables of a binary that was built with probes, in the order of their names.
func Probes(path string) ([]Probe, error) {
	var all []Probe
	err := readTables(path, probesTable, func(table string) {
		_, lines, _ := strings.Cut(table, "\n")
		for l := range strings.Lines(lines) {
			name, flags, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			all = append(all, Probe{Name: name, WallOnly: strings.Contains(flags, "w")})
		}
	})
	slices.SortFunc(all, func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all), err
}

// readTables reads what follows the heading in each table of a binary.
func readTables(path, kind string, read func(table string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for {
		_, rest, ok := bytes.Cut(text, heading(kind))
		if !ok {
			return nil
		}
		table, _, ok := bytes.Cut(rest, []byte(tableEnd))
		if !ok {
			return fmt.Errorf("%s: a table of %s has no end", path, kind)
		}
		text = rest
		read(string(table))
	}
}
