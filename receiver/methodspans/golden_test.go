package methodspans

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what comes out as what is expected")

// TestGolden sends testdata/golden/*/in.yaml through a real receiver and
// compares the result with out.yaml, and the faults with faults.txt.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/golden/*")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in, err := golden.ReadTraces(filepath.Join(dir, "in.yaml"))
			require.NoError(t, err)
			r := start(t, testConfig(nil), nil)
			got := r.receive(in)
			faults := strings.Join(append(r.faults(), ""), "\n")
			outFile, faultsFile := filepath.Join(dir, "out.yaml"), filepath.Join(dir, "faults.txt")
			if *update {
				require.NoError(t, golden.WriteTracesToFile(outFile, got))
				require.NoError(t, os.WriteFile(faultsFile, []byte(faults), 0o644))
			}
			want, err := golden.ReadTraces(outFile)
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(want, got))
			wantFaults, err := os.ReadFile(faultsFile)
			require.NoError(t, err)
			assert.Equal(t, string(wantFaults), faults)
		})
	}
}
