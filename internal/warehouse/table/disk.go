package table

import (
	"os"
	"strings"

	"github.com/corehour/corehour/internal/durable"
)

// disk is the set of file system operations of a commit. Each method is a step that can fail or be the
// last one before a crash. Tests replace it to inject faults.
type disk interface {
	mkdir(path string) error
	// create truncates an existing file, except one of rows, which another writer must be writing.
	create(path string) (diskFile, error)
	rename(from, to string) error
	syncDir(path string) error
	remove(path string) error
}

type diskFile = durable.File

type osDisk struct{}

func (osDisk) mkdir(path string) error { return os.MkdirAll(path, 0o755) }

func (osDisk) create(path string) (diskFile, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if strings.HasSuffix(path, ".parquet"+tmpSuffix) {
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	return os.OpenFile(path, flags, 0o644)
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(path string) error { return durable.SyncDir(path) }

// writeFile creates a file and syncs its contents. The caller must sync the directory.
func writeFile(d disk, path string, data []byte) error {
	f, err := d.create(path)
	if err != nil {
		return err
	}
	return durable.Write(f, data)
}
