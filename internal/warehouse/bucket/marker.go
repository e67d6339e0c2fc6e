package bucket

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/durable"
	"github.com/corehour/corehour/internal/regular"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// marker is a file in the directory. It names the prefix that the directory belongs to and the state of the
// prefix at the last synchronization.
type marker struct {
	Version int    `json:"version"`
	Address string `json:"address"`
	Owner   string `json:"owner"`
	Session string `json:"session"`
	// Imported: what was not uploaded is in a prefix of its own.
	Imported   bool  `json:"imported,omitempty"`
	Number     int64 `json:"number"`
	Generation int64 `json:"generation"`
	// Sequence and Committed belong to the generation. They identify newer rows while the store
	// does not answer.
	Sequence  int64     `json:"sequence,omitempty"`
	Committed time.Time `json:"committed,omitzero"`
}

const (
	markerVersion = 1
	maxMarker     = 1 << 20 // bytes
)

func readMarker(dir string) (*marker, error) {
	path := filepath.Join(dir, table.SpoolName)
	data, err := regular.ReadFile(path, maxMarker)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &warehouse.Error{Op: "read", Path: path, Err: err}
	}
	m := &marker{}
	err = json.Unmarshal(data, m)
	if err == nil && m.Version != markerVersion {
		return nil, &warehouse.Error{Op: "read", Path: path, Err: fmt.Errorf("must have version %d, found %d", markerVersion, m.Version), Hint: "use the release that wrote it"}
	}
	if err != nil || m.Address == "" || m.Owner == "" {
		return nil, warehouse.Damaged("read", path, fmt.Errorf("it does not say to which prefix the directory belongs"))
	}
	return m, nil
}

func (m marker) write(dir string) error {
	path := filepath.Join(dir, table.SpoolName)
	m.Version = markerVersion
	data, err := json.Marshal(m)
	if err == nil {
		err = durable.Replace(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return &warehouse.Error{Op: "write", Path: path, Err: err, Hint: "the directory must be writable for the collector's user"}
	}
	return nil
}
