package methodfile

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
)

var update = flag.Bool("update", false, "write the results of the cases")

// The cases in testdata/cases hold for the parser of the SDK too, whose test of this name reads
// them: a method file means the same to both. Each case consists of the methods to look up as
// class|method|signature, the result, and the file.
func TestParse_Cases(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			head, file, _ := bytes.Cut(data, []byte("-- file --\n"))
			lookups, want, _ := strings.Cut(strings.TrimPrefix(string(head), "-- lookup --\n"), "-- want --\n")
			got := result(file, strings.Split(strings.TrimSuffix(lookups, "\n"), "\n"))
			if *update {
				require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "-- lookup --\n%s-- want --\n%s-- file --\n%s", lookups, got, file), 0o644))
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

// result describes a parsed file: an error, or its faults and the settings of some methods.
func result(data []byte, lookups []string) string {
	f, warnings, err := Parse(data)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&b, "fault: %s\n", w.Error())
	}
	for _, lookup := range lookups {
		if lookup == "" {
			continue
		}
		name := strings.Split(lookup, "|")
		r, ok := f.Lookup(methodspan.Function{Class: name[0], Method: name[1], Signature: name[2]})
		if !ok {
			r = &f.Default
		}
		cpuRate := r.CPURate
		if math.IsNaN(cpuRate) {
			cpuRate = -1
		}
		lazy := 0
		if r.Scope == ScopeLazy {
			lazy = r.Index + 1
		}
		fmt.Fprintf(&b, "%s: entry %v rate %v cpu_rate %v min %v max %v mode %s tail %v stack %v blocking %v tier %q lazy %d\n",
			lookup, ok, r.Rate, cpuRate, r.Min, r.Max, r.Mode, r.Tail, r.Stack, r.Blocking, r.Tier, lazy)
	}
	return b.String()
}
