package bigquery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

const (
	stateName   = "state.json"
	journalName = "journal.jsonl"
	// journalBytes is the journal's size at which the state is rewritten and the journal truncated.
	journalBytes = 1 << 20
)

// intent describes a request. It is on disk before the request is sent. If a crash leaves its
// outcome unknown, the stream's row count shows whether the request is stored.
type intent struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"`
	Stream string    `json:"stream"`
	Offset int64     `json:"offset"`
	Rows   int       `json:"rows"`
	Items  []string  `json:"items,omitempty"`
	Part   string    `json:"part,omitempty"`
	Stored int       `json:"stored,omitempty"` // rows of Part that are stored after this request
	// Refused is how many of the Stored rows the service refused.
	Refused int `json:"refused,omitempty"`
	// Letters are the dead letters of Items and Part.
	Letters []json.RawMessage `json:"letters,omitempty"`
}

// intentOutcome records whether the request of an intent is stored.
type intentOutcome struct {
	Seq  int64 `json:"seq"`
	Done *bool `json:"done"`
}

// journalState is the result of all journal lines up to Seq.
type journalState struct {
	fileHeader
	Seq     int64                  `json:"seq"` // of the last intent included
	Partial map[string]partialItem `json:"unfinished,omitempty"`
	Pages   []warehouse.Page       `json:"pages,omitempty"`
}

// partialItem counts the stored rows of an incomplete item. Refused of them were refused; At is the
// time of the last request.
type partialItem struct {
	Rows    int       `json:"rows"`
	Refused int       `json:"refused,omitempty"`
	At      time.Time `json:"at"`
}

// journal records on disk which items are stored and which request is in flight.
type journal struct {
	lineFile
	dir        string
	seq        int64
	intake     *warehouse.Intake
	partial    map[string]partialItem // by item id
	openIntent *intent                // intent of unknown outcome, found at a start
	unwritten  *intentOutcome         // outcome that could not be written yet
}

// openJournal reads the state and the journal of the last run.
func openJournal(dir string, intake *warehouse.Intake) (*journal, error) {
	j := &journal{dir: dir, intake: intake, partial: map[string]partialItem{}}
	var s journalState
	err := readState(dir, stateName, &s, &s.Pages, intake)
	if err != nil {
		return nil, err
	}
	j.seq = s.Seq
	maps.Copy(j.partial, s.Partial)
	j.lineFile, err = openJournalFile(filepath.Join(dir, journalName), j.replay)
	return j, err
}

// readState reads a state file into state and adds its pages to the intake. A missing file is no
// error.
func readState(dir, name string, state any, pages *[]warehouse.Page, intake *warehouse.Intake) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkVersion(path, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, state); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range *pages {
		if err := intake.AddPage(p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// replay applies one line that was written after the state. It skips a damaged line: no request was
// sent after it.
func (j *journal) replay(line []byte) {
	var end intentOutcome
	if err := json.Unmarshal(line, &end); err != nil {
		return
	}
	if end.Seq <= j.seq && (j.openIntent == nil || end.Seq != j.openIntent.Seq) {
		return // included in the state
	}
	if end.Done == nil {
		next := &intent{}
		if err := json.Unmarshal(line, next); err != nil {
			return
		}
		j.seq, j.openIntent = next.Seq, next
		return
	}
	if j.openIntent != nil && *end.Done {
		j.apply(j.openIntent)
	}
	j.openIntent = nil
}

// apply records that the request of in is stored. It forgets incomplete items that are older than
// the ids that the intake remembers.
func (j *journal) apply(in *intent) {
	for _, id := range in.Items {
		delete(j.partial, id)
	}
	if in.Part != "" {
		j.partial[in.Part] = partialItem{in.Stored, in.Refused, in.At}
	}
	j.intake.Remember(in.Items, in.At)
	oldest := in.At.Add(-j.intake.RememberFor())
	maps.DeleteFunc(j.partial, func(_ string, p partialItem) bool { return p.At.Before(oldest) })
}

// begin writes an intent to disk, after the outcome of the previous one. So at most the last intent
// has an unknown outcome.
func (j *journal) begin(in *intent) error {
	if err := j.writeOutcome(); err != nil {
		return err
	}
	if j.size >= journalBytes {
		if err := j.compact(); err != nil {
			return err
		}
	}
	j.seq++
	in.Seq = j.seq
	return j.writeDurably(in)
}

// end records the outcome of in. The outcome need not reach the disk: a start asks the service
// again, and gets the same answer. If the disk is full the outcome is written later.
func (j *journal) end(in *intent, done bool) {
	if done {
		j.apply(in)
	}
	j.unwritten = &intentOutcome{in.Seq, &done}
	_ = j.writeOutcome() // begin tries again
}

func (j *journal) writeOutcome() error {
	if j.unwritten == nil {
		return nil
	}
	if err := j.write(j.unwritten); err != nil {
		return err
	}
	j.unwritten = nil
	return nil
}

// compact rewrites the state and empties the journal. After a crash in between, the journal has
// lines that the state already includes; replay skips them.
func (j *journal) compact() error {
	data, err := json.Marshal(journalState{fileHeader: fileHeader{fileVersion}, Seq: j.seq, Partial: j.partial, Pages: j.intake.Pages()})
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, stateName)
	if err := replaceDurably(path, data); err != nil {
		return err
	}
	j.unwritten = nil // included in the state
	return j.truncateAll()
}
