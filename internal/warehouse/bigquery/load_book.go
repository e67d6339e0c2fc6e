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
	bookStateName = "load-state.json"
	bookName      = "load-journal.jsonl"
)

// spooledFile is a file that waits for its job.
type spooledFile struct {
	Name  string    `json:"name"`
	Rows  int       `json:"rows"`
	Bytes int64     `json:"bytes"`
	At    time.Time `json:"at"`
	// EndNS: all rows but one in 400 ended later.
	EndNS int64 `json:"end_ns"`

	job    string // that it is in, "" = it waits
	stored bool   // it is in the bucket
	// refused is how many jobs had succeeded when one with this file was first
	// refused, -1 if none was.
	refused int64
}

// loadPlan is a job and what it loads.
type loadPlan struct {
	ID    string    `json:"job"`
	Files []string  `json:"files"`
	At    time.Time `json:"at"`

	started bool // the service has it
}

// bookLine is one line of the journal: a write, a job before it starts, its end,
// or the burial of a file.
type bookLine struct {
	Seq    int64         `json:"seq"`
	At     time.Time     `json:"at"`
	Files  []spooledFile `json:"files,omitempty"`
	Items  []string      `json:"items,omitempty"`
	Plan   *loadPlan     `json:"plan,omitempty"`
	Loaded string        `json:"loaded,omitempty"`
	Failed string        `json:"failed,omitempty"`
	Buried string        `json:"buried,omitempty"`
}

type bookState struct {
	Seq   int64            `json:"seq"` // of the last line in it
	Table string           `json:"table,omitempty"`
	Files []spooledFile    `json:"files,omitempty"`
	Plans []loadPlan       `json:"plans,omitempty"`
	Pages []warehouse.Page `json:"pages,omitempty"`
}

// book keeps on disk what is spooled, which items that settles, and which job has
// which files.
type book struct {
	lines
	dir    string
	seq    int64
	table  string // destination of the files; "" until a compaction has recorded it
	intake *warehouse.Intake
	files  []*spooledFile // the oldest first
	plans  []*loadPlan
	bytes  int64
	rows   int64
}

func openBook(dir string, intake *warehouse.Intake) (*book, error) {
	b := &book{dir: dir, intake: intake}
	var s bookState
	if err := readState(dir, bookStateName, &s, &s.Pages, intake); err != nil {
		return nil, err
	}
	b.seq, b.table = s.Seq, s.Table
	b.addFiles(s.Files)
	for i := range s.Plans {
		b.addPlan(&s.Plans[i])
	}
	var err error
	b.lines, err = openLines(filepath.Join(dir, bookName), func(data []byte) {
		var line bookLine
		// A damaged line was never acted upon.
		if json.Unmarshal(data, &line) == nil && line.Seq > b.seq {
			b.seq = line.Seq
			b.apply(&line)
		}
	})
	return b, err
}

// fill makes sure that rows go to the table that they were taken for.
func (b *book) fill(table string) error {
	if b.table == table {
		return nil
	}
	if b.table != "" && len(b.files) > 0 {
		return &warehouse.Error{Op: "open", Path: b.dir, Err: fmt.Errorf("%d rows wait there for load jobs into %s, not into %s", b.rows, b.table, table),
			Hint: "set `project` and `dataset` back until they are loaded, or give this table a directory of its own"}
	}
	b.table = table
	_ = b.compact() // on a full disk a later one notes it
	return nil
}

func (b *book) apply(line *bookLine) {
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
		b.forget(func(f *spooledFile) bool { return f.Name == line.Buried })
	}
}

func (b *book) addFiles(list []spooledFile) {
	for i := range list {
		f := list[i]
		f.refused = -1
		b.files = append(b.files, &f)
		b.bytes += f.Bytes
		b.rows += int64(f.Rows)
	}
}

func (b *book) addPlan(p *loadPlan) {
	b.plans = append(b.plans, p)
	for _, f := range b.named(p.Files) {
		f.job, f.stored = p.ID, true
	}
}

// endPlan ends a job: its files are loaded, or wait again.
func (b *book) endPlan(id string, loaded bool) {
	b.plans = slices.DeleteFunc(b.plans, func(p *loadPlan) bool { return p.ID == id })
	if loaded {
		b.forget(func(f *spooledFile) bool { return f.job == id })
		return
	}
	for _, f := range b.files {
		if f.job == id {
			f.job = ""
		}
	}
}

func (b *book) forget(which func(*spooledFile) bool) {
	b.files = slices.DeleteFunc(b.files, func(f *spooledFile) bool {
		gone := which(f)
		if gone {
			b.bytes -= f.Bytes
			b.rows -= int64(f.Rows)
		}
		return gone
	})
}

// named are the files of these names, in the order of the book.
func (b *book) named(names []string) []*spooledFile {
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

// note writes a line and does what it says. Durable lines are on disk before
// anything else happens.
func (b *book) note(line *bookLine, durable bool) error {
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
		_ = b.compact() // what was noted is; the next line tries again
	}
	return nil
}

// compact rewrites the state and empties the journal. A crash in between leaves
// lines that the state has already.
func (b *book) compact() error {
	s := bookState{Seq: b.seq, Table: b.table, Pages: b.intake.Pages()}
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
	if err := replaceDurably(filepath.Join(b.dir, bookStateName), data); err != nil {
		return err
	}
	return b.empty()
}
