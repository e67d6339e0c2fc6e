package query

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture"
)

// The engine can hit damage that happened after the file was verified. The error names the file.
func TestUserStatement_ErrorNamesDamagedFile(t *testing.T) {
	root := fixture.TwoReleases(t, 1)
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	path := w.Files[0].Path
	w.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(data []byte){
		"magic number":     func(data []byte) { data[len(data)-1] ^= 1 },
		"length of footer": func(data []byte) { data[len(data)-6] ^= 0x40 },
		"data pages":       func(data []byte) { clear(data[4 : len(data)/2]) },
	} {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Clone(whole)
		spoil(data)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if table, err := w.User(t.Context(), "SELECT BIT_XOR(hash(m)) FROM method_calls AS m", 10); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, table, err)
		}
		w.Close()
	}
}
