package table

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// A start that finds files of a newer program returns ErrNewer and does not touch them.
func TestRecovery_KeepsNewerFiles(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("a-1", noon, 3))
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := s.Files[0].Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	version := fmt.Sprintf("%s\x18\x01%d", "corehour.schema_version", parquet.SchemaVersion)
	if bytes.Count(data, []byte(version)) != 1 {
		t.Fatalf("the footer has no %q", version)
	}
	newer := reseal(t, bytes.Replace(data, []byte(version), []byte(version[:len(version)-1]+"9"), 1))
	for _, name := range []string{currentName, manifestDir} { // as if nothing had ever been committed
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = NewWriter(root, Options{})
	var typed *warehouse.Error
	if !errors.As(err, &typed) || !errors.Is(err, warehouse.ErrNewer) || typed.Path != path || !strings.Contains(err.Error(), "version 9 is newer") || typed.Hint != "use a newer corehour" {
		t.Errorf("%v", err)
	}
	if _, err := parquet.ReadRows(path); !errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrCorrupt) {
		t.Errorf("read: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the file was touched: %v", err)
	}
}

// reseal updates the checksum in the footer of a modified file.
func reseal(t *testing.T, file []byte) []byte {
	t.Helper()
	at := bytes.LastIndex(file, []byte(sealKey))
	if at < 0 {
		t.Fatal("the footer has no checksum")
	}
	at += len(sealKey) + 2 // the type of the value and its length
	copy(file[at:], "crc32c:00000000")
	copy(file[at:], parquet.Checksum(file))
	return file
}
