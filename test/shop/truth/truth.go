// Package truth counts calls with plain counters, independent of corehour, so that corehour's reports can be
// checked against them.
//
// It counts calls and nothing else.
package truth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

var (
	mu       sync.Mutex
	counters = map[string]*atomic.Int64{}
)

// Counter returns the counter of a method.
func Counter(method string) *atomic.Int64 {
	mu.Lock()
	defer mu.Unlock()
	c, ok := counters[method]
	if !ok {
		c = new(atomic.Int64)
		counters[method] = c
	}
	return c
}

// ProcessRecord is the report that a process writes when it ends.
type ProcessRecord struct {
	Version  string           `json:"version"`
	Calls    map[string]int64 `json:"calls"`
	Requests int64            `json:"requests"`
}

// Write writes the report atomically: a reader finds the whole file or none.
func Write(path string, r ProcessRecord) error {
	mu.Lock()
	r.Calls = make(map[string]int64, len(counters))
	for method, c := range counters {
		r.Calls[method] = c.Load()
	}
	mu.Unlock()
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
