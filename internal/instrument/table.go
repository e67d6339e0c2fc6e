package instrument

import (
	"bytes"
	"fmt"
	"io"
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
	headingStart = "corehour:probes"
	headingEnd   = ":1\n"
	tableEnd     = "\x00"
	wallOnlyFlag = "\tw"
)

// heading is put together at run time, so that this program has none in it.
func heading() []byte { return []byte(strings.Join([]string{headingStart, headingEnd}, "")) }

func tableOf(k *found) string {
	var b strings.Builder
	b.Write(heading())
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
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	var all []Probe
	for {
		_, rest, ok := bytes.Cut(text, heading())
		if !ok {
			break
		}
		table, _, ok := bytes.Cut(rest, []byte(tableEnd))
		if !ok {
			return nil, fmt.Errorf("%s: a table of probes has no end", path)
		}
		text = rest
		for l := range strings.Lines(string(table[bytes.IndexByte(table, '\n')+1:])) {
			name, flags, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			all = append(all, Probe{Name: name, WallOnly: strings.Contains(flags, "w")})
		}
	}
	slices.SortFunc(all, func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all), nil
}
