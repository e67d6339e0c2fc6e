package bigquery

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

const (
	loadStateName   = "load-state.json"
	loadJournalName = "load-journal.jsonl"
)

// spooledFile is a file that waits for its load job.
type spooledFile struct {
	Name  string    `json:"name"`
	Rows  int       `json:"rows"`
	Bytes int64     `json:"bytes"`
	At    time.Time `json:"at"`
	// EndNS is a time after which all but one in 400 of the rows ended.
	EndNS int64 `json:"end_ns"`

	job      string // id of its job; "" while it waits
	uploaded bool   // to the bucket
	// firstRefused is the number of jobs that had succeeded when a job with this file was first
	// refused; -1 if none was.
	firstRefused int64
}

// loadPlan is a load job and its files.
type loadPlan struct {
	ID    string    `json:"job"`
	Files []string  `json:"files"`
	At    time.Time `json:"at"`

	started bool // the service has accepted the job
}

// loadLine is one line of the journal. It records a write, a job before it starts, the end of a
// job, or a file that was given up.
type loadLine struct {
	Seq    int64         `json:"seq"`
	At     time.Time     `json:"at"`
	Files  []spooledFile `json:"files,omitempty"`
	Items  []string      `json:"items,omitempty"`
	Plan   *loadPlan     `json:"plan,omitempty"`
	Loaded string        `json:"loaded,omitempty"`
	Failed string        `json:"failed,omitempty"`
	Buried string        `json:"buried,omitempty"`
}

// loadState is the result of all journal lines up to Seq.
type loadState struct {
	fileHeader
	Seq   int64            `json:"seq"` // of the last line included
	Table string           `json:"table,omitempty"`
	Files []spooledFile    `json:"files,omitempty"`
	Plans []loadPlan       `json:"plans,omitempty"`
	Pages []warehouse.Page `json:"pages,omitempty"`
}

// loadJournal records on disk which files are spooled, which items they settle, and which job loads
// which files.
type loadJournal struct {
	lineFile
	dir    string
	seq    int64
	table  string // destination of the files; "" until a compaction has recorded it
	intake *warehouse.Intake
	files  []*spooledFile // oldest first
	plans  []*loadPlan
	bytes  int64
	rows   int64
}

func openLoadJournal(dir string, intake *warehouse.Intake) (*loadJournal, error) {
	b := &loadJournal{dir: dir, intake: intake}
	var s loadState
	if err := readState(dir, loadStateName, &s, &s.Pages, intake); err != nil {
		return nil, err
	}
	b.seq, b.table = s.Seq, s.Table
	b.addFiles(s.Files)
	for i := range s.Plans {
		b.addPlan(&s.Plans[i])
	}
	var err error
	b.lineFile, err = openJournalFile(filepath.Join(dir, loadJournalName), func(data []byte) {
		var line loadLine
		// A damaged line is skipped: nothing was done after it.
		if json.Unmarshal(data, &line) == nil && line.Seq > b.seq {
			b.seq = line.Seq
			b.apply(&line)
		}
	})
	return b, err
}

// setTable records the destination of the files. It fails if files for another table wait.
func (b *loadJournal) setTable(table string) error {
	if b.table == table {
		return nil
	}
	if b.table != "" && len(b.files) > 0 {
		return &warehouse.Error{Op: "open", Path: b.dir, Err: fmt.Errorf("%d rows wait there for load jobs into %s, not into %s", b.rows, b.table, table),
			Hint: "set `project` and `dataset` back until they are loaded, or give this table a directory of its own"}
	}
	b.table = table
	_ = b.compact() // if the disk is full, a later compaction records it
	return nil
}

func (b *loadJournal) apply(line *loadLine) {
	b.addFiles(line.Files)
	if len(line.Items) > 0 {
		b.intake.Remember(line.Items, line.At)
	}
	if line.Plan != nil {
		b.addPlan(line.Plan)
	}
	if line.Loaded != "" {
		b.endPlan(line.Loaded, true)
	}
	if line.Failed != "" {
		b.endPlan(line.Failed, false)
	}
	if line.Buried != "" {
		b.removeFiles(func(f *spooledFile) bool { return f.Name == line.Buried })
	}
}

func (b *loadJournal) addFiles(list []spooledFile) {
	for i := range list {
		f := list[i]
		f.firstRefused = -1
		b.files = append(b.files, &f)
		b.bytes += f.Bytes
		b.rows += int64(f.Rows)
	}
}

func (b *loadJournal) addPlan(p *loadPlan) {
	b.plans = append(b.plans, p)
	for _, f := range b.filesNamed(p.Files) {
		f.job, f.uploaded = p.ID, true
	}
}

// endPlan ends a job. Its files are removed if they are loaded, else they wait again.
func (b *loadJournal) endPlan(id string, loaded bool) {
	b.plans = slices.DeleteFunc(b.plans, func(p *loadPlan) bool { return p.ID == id })
	if loaded {
		b.removeFiles(func(f *spooledFile) bool { return f.job == id })
		return
	}
	for _, f := range b.files {
		if f.job == id {
			f.job = ""
		}
	}
}

func (b *loadJournal) removeFiles(which func(*spooledFile) bool) {
	b.files = slices.DeleteFunc(b.files, func(f *spooledFile) bool {
		gone := which(f)
		if gone {
			b.bytes -= f.Bytes
			b.rows -= int64(f.Rows)
		}
		return gone
	})
}

// filesNamed returns the files with these names, in the order of the journal.
func (b *loadJournal) filesNamed(names []string) []*spooledFile {
	want := make(map[string]bool, len(names))
	for _, n := range names {
		want[n] = true
	}
	var out []*spooledFile
	for _, f := range b.files {
		if want[f.Name] {
			out = append(out, f)
		}
	}
	return out
}

// record writes a line and applies it. If durable is set, the line is on disk before it is applied.
func (b *loadJournal) record(line *loadLine, durable bool) error {
	line.Seq = b.seq + 1
	write := b.write
	if durable {
		write = b.writeDurably
	}
	if err := write(line); err != nil {
		return err
	}
	b.seq++
	b.apply(line)
	if b.size >= journalBytes {
		_ = b.compact() // the line is written; the next one retries the compaction
	}
	return nil
}

// compact rewrites the state and empties the journal. After a crash in between, the journal has
// lines that the state already includes; openLoadJournal skips them.
func (b *loadJournal) compact() error {
	s := loadState{fileHeader: fileHeader{fileVersion}, Seq: b.seq, Table: b.table, Pages: b.intake.Pages()}
	for _, f := range b.files {
		s.Files = append(s.Files, *f)
	}
	for _, p := range b.plans {
		s.Plans = append(s.Plans, *p)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := replaceDurably(filepath.Join(b.dir, loadStateName), data); err != nil {
		return err
	}
	return b.truncateAll()
}
