package methodfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cases belong to the collector's parser, whose test of this name writes the results: a
// method file means the same to both.
func TestParse_Cases(t *testing.T) {
	paths, err := filepath.Glob("../../../internal/methodfile/testdata/cases/*.txt")
	if err != nil || len(paths) == 0 {
		t.Skip("the cases are in the repository only, not in the published module")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, file, _ := bytes.Cut(data, []byte("-- file --\n"))
			lookups, want, _ := strings.Cut(strings.TrimPrefix(string(head), "-- lookup --\n"), "-- want --\n")
			if got := result(file, strings.Split(strings.TrimSuffix(lookups, "\n"), "\n")); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// result describes a parsed file: an error, or its faults and the settings of some methods.
func result(data []byte, lookups []string) string {
	f, err := Parse(data)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, fault := range f.Faults {
		fmt.Fprintf(&b, "fault: %s\n", fault)
	}
	for _, lookup := range lookups {
		if lookup == "" {
			continue
		}
		name := strings.Split(lookup, "|")
		s, entered := f.Lookup(fullName(name[0], name[1]), name[2])
		mode := s.Mode
		if mode == "" {
			mode = ModeSample
		}
		fmt.Fprintf(&b, "%s: entry %v rate %v cpu_rate %v min %v max %v mode %s tail %v stack %v blocking %v tier %q lazy %d\n",
			lookup, entered, valueOr(s.Rate, 0), valueOr(s.CPURate, -1), valueOr(s.Min, 0), valueOr(s.Max, 1), mode,
			valueOr(s.Tail, false), valueOr(s.Stack, false), s.Blocking, s.Tier, s.Lazy)
	}
	return b.String()
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
