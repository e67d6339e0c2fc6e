package bucket

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/table"
)

// The next start removes temporary files of a killed download. No statistics count them, and the directory could
// exceed its bound.
func TestNewMirror_RemovesUnfinishedDownloads(t *testing.T) {
	directory := t.TempDir()
	o := Options{Address: "file://" + t.TempDir(), Prefix: "host-1", Directory: directory, Interval: time.Hour}
	w, err := NewWriter(t.Context(), o, table.Options{})
	require.NoError(t, err)
	write(t, w, "a")
	require.NoError(t, w.Close())
	files, err := filepath.Glob(filepath.Join(directory, "*", "*.*"))
	require.NoError(t, err)
	require.Len(t, files, 3, "data, the manifest of its date, the generation")
	var left []string
	for _, f := range files {
		// The name pattern of download.
		tmp, err := os.CreateTemp(filepath.Dir(f), "."+filepath.Base(f)+"-*.tmp")
		require.NoError(t, err)
		require.NoError(t, tmp.Close())
		left = append(left, tmp.Name())
	}
	w, err = NewWriter(t.Context(), o, table.Options{})
	require.NoError(t, err)
	for _, f := range left {
		assert.NoFileExists(t, f)
	}
	for _, f := range files {
		assert.FileExists(t, f)
	}
	require.NoError(t, w.Close())
}
