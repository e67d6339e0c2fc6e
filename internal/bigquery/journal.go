package bigquery

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/parquet"
)

const (
	stateName   = "state.json"
	journalName = "journal.jsonl"
	// journalBytes is how long the journal gets before the state is written anew.
	journalBytes = 1 << 20
)

// intent is what is about to be stored: written, and on disk, before the request
// is sent. Where a crash leaves the last one open, the service says how many rows
// the stream holds.
type intent struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"`
	Stream string    `json:"stream"`
	Offset int64     `json:"offset"`
	Rows   int       `json:"rows"`
	Items  []string  `json:"items,omitempty"`
	Part   string    `json:"part,omitempty"`
	Stored int       `json:"stored,omitempty"` // rows of Part that are stored then
}

// outcome closes an intent.
type outcome struct {
	Seq  int64 `json:"seq"`
	Done *bool `json:"done"`
}

// state is what the journal has come to.
type state struct {
	Seq   int64          `json:"seq"` // of the last intent in it
	Parts map[string]int `json:"parts,omitempty"`
	Pages []parquet.Page `json:"pages,omitempty"`
}

// journal keeps on disk which items are stored, and which request is on its way.
type journal struct {
	dir    string
	file   *os.File
	size   int64
	seq    int64
	intake *parquet.Intake
	parts  map[string]int // rows stored of items that are not complete
	open   *intent        // whose outcome is not known; only after a start
}

// openJournal reads what the last run left.
func openJournal(dir string, intake *parquet.Intake) (*journal, error) {
	j := &journal{dir: dir, intake: intake, parts: map[string]int{}}
	data, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		var s state
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", stateName, err)
		}
		j.seq = s.Seq
		for id, n := range s.Parts {
			j.parts[id] = n
		}
		for _, p := range s.Pages {
			if err := intake.AddPage(p); err != nil {
				return nil, fmt.Errorf("%s: %w", stateName, err)
			}
		}
	}
	if err := j.replay(); err != nil {
		return nil, err
	}
	j.file, err = os.OpenFile(filepath.Join(dir, journalName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return j, err
}

// replay reads the lines behind the state. A torn last line was never acted upon.
func (j *journal) replay() error {
	data, err := os.ReadFile(filepath.Join(j.dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var end outcome
		if err := json.Unmarshal(lines.Bytes(), &end); err != nil {
			continue
		}
		if end.Seq <= j.seq && (j.open == nil || end.Seq != j.open.Seq) {
			continue // in the state already
		}
		if end.Done == nil {
			next := &intent{}
			if err := json.Unmarshal(lines.Bytes(), next); err != nil {
				continue
			}
			j.seq, j.open = next.Seq, next
			continue
		}
		if j.open != nil && *end.Done {
			j.apply(j.open)
		}
		j.open = nil
	}
	return lines.Err()
}

// apply notes that what was intended is stored.
func (j *journal) apply(in *intent) {
	for _, id := range in.Items {
		delete(j.parts, id)
	}
	if in.Part != "" {
		j.parts[in.Part] = in.Stored
	}
	j.intake.Remember(in.Items, in.At)
}

// begin makes an intent durable.
func (j *journal) begin(in *intent) error {
	j.seq++
	in.Seq = j.seq
	if err := j.write(in); err != nil {
		return err
	}
	return j.file.Sync()
}

// end closes it. It need not be durable: a start asks the service.
func (j *journal) end(in *intent, done bool) error {
	if done {
		j.apply(in)
	}
	if err := j.write(outcome{in.Seq, &done}); err != nil {
		return err
	}
	if j.size < journalBytes {
		return nil
	}
	return j.compact()
}

func (j *journal) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	n, err := j.file.Write(line)
	j.size += int64(n)
	if err != nil && n > 0 { // a torn line spoils the one behind it
		err = errors.Join(err, j.file.Truncate(j.size-int64(n)))
		j.size -= int64(n)
	}
	return err
}

// compact writes the state anew and empties the journal. A crash in between
// leaves lines that the state has already.
func (j *journal) compact() error {
	data, err := json.Marshal(state{Seq: j.seq, Parts: j.parts, Pages: j.intake.Pages()})
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, stateName)
	if err := writeDurably(path, data); err != nil {
		return err
	}
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	j.size = 0
	return nil
}

// writeDurably replaces a file: readers see the old contents or the new ones.
func writeDurably(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
