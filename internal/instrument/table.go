package instrument

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/regular"
)

// Probe is a line of the table of a built binary.
type Probe struct {
	Name      string
	Signature string // "" if too long
	WallOnly  bool   // its CPU is never timed
}

// A table is a constant of the binary: a heading, the package, a line for each probe with its name, flags
// and signature, and an end mark.
const (
	probesTable  = "probes"
	tableEnd     = "\x00"
	wallOnlyFlag = "w"
)

// heading is concatenated at run time, so that this program's binary does not contain it.
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
			flags := ""
			if len(k.unlocks) > 0 {
				flags = wallOnlyFlag
			}
			fmt.Fprintf(&b, "%s\t%s\t%s\n", f.name, flags, f.normal.Signature)
		}
	}
	return b.String()
}

// Probes returns the probes in the tables of a binary, ordered by name.
func Probes(path string) ([]Probe, error) {
	var all []Probe
	err := readTables(path, probesTable, func(table string) {
		_, lines, _ := strings.Cut(table, "\n")
		for l := range strings.Lines(lines) {
			name, rest, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			flags, signature, _ := strings.Cut(rest, "\t")
			all = append(all, Probe{Name: name, Signature: signature, WallOnly: flags == wallOnlyFlag})
		}
	})
	slices.SortFunc(all, func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all), err
}

// maxBinary bounds the size of a program, in bytes.
const maxBinary = 2 << 30

// readTables reads the text after the heading of each table in a binary.
func readTables(path, kind string, read func(table string)) error {
	text, err := regular.ReadFile(path, maxBinary)
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
