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
	// journalBytes is how long the journal gets before the state is rewritten.
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
	// Refused are those of them that are refused instead.
	Refused int `json:"refused,omitempty"`
	// Letters are of rows of these items that were refused.
	Letters []json.RawMessage `json:"letters,omitempty"`
}

// outcome closes an intent.
type itemOutcome struct {
	Seq  int64 `json:"seq"`
	Done *bool `json:"done"`
}

// state is what the journal has come to.
type state struct {
	Seq   int64            `json:"seq"` // of the last intent in it
	Parts map[string]part  `json:"unfinished,omitempty"`
	Pages []warehouse.Page `json:"pages,omitempty"`
}

// part is the rows stored of an item that is not complete, those of them that are refused
// instead, and when the last were.
type part struct {
	Rows    int       `json:"rows"`
	Refused int       `json:"refused,omitempty"`
	At      time.Time `json:"at"`
}

// journal keeps on disk which items are stored, and which request is on its way.
type journal struct {
	lines
	dir    string
	seq    int64
	intake *warehouse.Intake
	parts  map[string]part // of items that are not complete
	open   *intent         // whose outcome is not known; only after a start
	owed   *itemOutcome    // it could not be written
}

// openJournal reads what the last run left.
func openJournal(dir string, intake *warehouse.Intake) (*journal, error) {
	j := &journal{dir: dir, intake: intake, parts: map[string]part{}}
	var s state
	err := readState(dir, stateName, &s, &s.Pages, intake)
	if err != nil {
		return nil, err
	}
	j.seq = s.Seq
	maps.Copy(j.parts, s.Parts)
	j.lines, err = openLines(filepath.Join(dir, journalName), j.replay)
	return j, err
}

// readState reads what a journal has come to, if anything, and has the intake remember the
// pages in it.
func readState(dir, name string, state any, pages *[]warehouse.Page, intake *warehouse.Intake) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
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

// replay takes over a line behind the state. One that is damaged was never acted
// upon.
func (j *journal) replay(line []byte) {
	var end itemOutcome
	if err := json.Unmarshal(line, &end); err != nil {
		return
	}
	if end.Seq <= j.seq && (j.open == nil || end.Seq != j.open.Seq) {
		return // in the state already
	}
	if end.Done == nil {
		next := &intent{}
		if err := json.Unmarshal(line, next); err != nil {
			return
		}
		j.seq, j.open = next.Seq, next
		return
	}
	if j.open != nil && *end.Done {
		j.apply(j.open)
	}
	j.open = nil
}

// apply notes that what was intended is stored. Parts of items that never came again
// are forgotten when the id of an item would be.
func (j *journal) apply(in *intent) {
	for _, id := range in.Items {
		delete(j.parts, id)
	}
	if in.Part != "" {
		j.parts[in.Part] = part{in.Stored, in.Refused, in.At}
	}
	j.intake.Remember(in.Items, in.At)
	oldest := in.At.Add(-j.intake.RememberFor())
	maps.DeleteFunc(j.parts, func(_ string, p part) bool { return p.At.Before(oldest) })
}

// begin makes an intent durable, once the outcome of the last one is written. So only
// the last intent is ever open.
func (j *journal) begin(in *intent) error {
	if err := j.payOwed(); err != nil {
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

// end closes it. The outcome need not be durable, because a start asks the service,
// and what is stored stays so: where the disk is full it is written later.
func (j *journal) end(in *intent, done bool) {
	if done {
		j.apply(in)
	}
	j.owed = &itemOutcome{in.Seq, &done}
	_ = j.payOwed() // begin tries again
}

func (j *journal) payOwed() error {
	if j.owed == nil {
		return nil
	}
	if err := j.write(j.owed); err != nil {
		return err
	}
	j.owed = nil
	return nil
}

// compact rewrites the state and empties the journal. A crash in between
// leaves lines that the state has already.
func (j *journal) compact() error {
	data, err := json.Marshal(state{Seq: j.seq, Parts: j.parts, Pages: j.intake.Pages()})
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, stateName)
	if err := replaceDurably(path, data); err != nil {
		return err
	}
	j.owed = nil // the state has it
	return j.empty()
}
