package adaptivesampler

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what comes out as what is expected")

// TestGolden sends testdata/golden/*/in.yaml through a real processor that uses the methods.json of the same
// folder, and compares the output with out.yaml.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/golden/*")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in, err := golden.ReadTraces(filepath.Join(dir, "in.yaml"))
			require.NoError(t, err)
			got := start(t, &Config{DefaultRate: 1, MethodsFile: filepath.Join(dir, "methods.json"), Strict: true}, 1).send(in)
			out := filepath.Join(dir, "out.yaml")
			if *update {
				require.NoError(t, golden.WriteTracesToFile(out, got))
			}
			want, err := golden.ReadTraces(out)
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(want, got))
		})
	}
}
