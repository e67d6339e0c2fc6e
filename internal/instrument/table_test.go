package instrument

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTables reads tables that no build wrote.
func FuzzTables(f *testing.F) {
	f.Add("example.com/p\n.F 1\n.G 0 1\n")
	f.Add("\n.F\n . 1 -1 zz 99999999999\n")
	path := filepath.Join(f.TempDir(), "binary")
	f.Fuzz(func(t *testing.T, table string) {
		for _, kind := range []string{probesTable, callsTable} {
			text := string(heading(kind)) + table + tableEnd
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := Probes(path)
			assert.NoError(t, err)
			_, err = Graph(path)
			assert.NoError(t, err)
		}
	})
}
