package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/corehour/corehour/internal/durable"
)

const (
	fileName = "state.json"
	lockName = "LOCK"
	// maxFile is the maximum size of the file, in bytes; a full state is far smaller.
	maxFile = 256 << 20
)

const noChecksum = "crc32c:00000000"

func checksum(data []byte) string {
	return fmt.Sprintf("crc32c:%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// Store is a directory with a state file.
type Store struct{ dir string }

// At returns the store of a directory, which need not exist yet.
func At(dir string) *Store { return &Store{dir} }

// DirectoryOf returns the default directory of the state of a warehouse: next to a local warehouse, or for a remote
// one in the working directory under a name derived from its location.
func DirectoryOf(warehouse string) string {
	if scheme, place, ok := strings.Cut(warehouse, "://"); ok {
		place, _, _ = strings.Cut(place, "?")
		return "corehour-" + scheme + "-" + strings.ReplaceAll(place, "/", "-") + ".state"
	}
	return filepath.Clean(warehouse) + ".state"
}

// Read returns the current state, empty without a file.
func (s *Store) Read() (*State, error) {
	path := filepath.Join(s.dir, fileName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &State{Version: Version}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("state: read %s: %w", path, err)
	}
	broken := func(what string) error {
		return fmt.Errorf("state: %s is damaged: %s. Put a copy of it back, or move it away: then accepted slowdowns raise alerts again, and open alerts are sent again", path, what)
	}
	if len(data) > maxFile {
		return nil, broken("it is larger than any state")
	}
	var version struct{ Version int }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, broken(err.Error())
	}
	if version.Version != Version {
		return nil, fmt.Errorf("state: %s has version %d, this program reads version %d: use the program that wrote it, or another --state", path, version.Version, Version)
	}
	var state State
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&state); err != nil {
		return nil, broken(err.Error())
	}
	if sum := checksum(bytes.Replace(data, []byte(state.Checksum), []byte(noChecksum), 1)); sum != state.Checksum {
		return nil, broken(fmt.Sprintf("its checksum is %s, and it was written with %.40q", sum, state.Checksum))
	}
	state.Checksum = ""
	return &state, nil
}

// Update changes the state under an exclusive lock. If change returns an error, nothing changes.
func (s *Store) Update(change func(*State) error) (err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	defer lock.Close() // also releases the lock
	if err := flock(lock); err != nil {
		return fmt.Errorf("state: lock %s: %w", lock.Name(), err)
	}
	state, err := s.Read()
	if err != nil {
		return err
	}
	if err := change(state); err != nil {
		return err
	}
	return s.write(state)
}

// write replaces the file atomically: a reader, also after a crash, finds the old or the new file.
func (s *Store) write(state *State) error {
	sealed := *state
	sealed.Checksum = noChecksum // the field precedes all text that can contain the same characters
	data, err := json.MarshalIndent(&sealed, "", " ")
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	data = append(data, '\n')
	data = bytes.Replace(data, []byte(noChecksum), []byte(checksum(data)), 1)
	path := filepath.Join(s.dir, fileName)
	if err := durable.ReplaceShared(path, data, 0o600); err != nil {
		return fmt.Errorf("state: write %s: %w", path, err)
	}
	return nil
}
