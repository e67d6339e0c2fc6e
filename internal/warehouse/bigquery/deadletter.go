package bigquery

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

const deadLetterName = "dead-letters.jsonl"

// DeadLetter is one line of the file of rows that BigQuery never takes.
type DeadLetter struct {
	Time   time.Time       `json:"time"`
	Reason string          `json:"reason"`
	Detail string          `json:"detail"` // in the words of the service, cut
	Row    *methodspan.Row `json:"row"`
}

// maxDetail bounds what is kept of a message of the service.
const maxDetail = 300

// putLetters appends to a file that takes rows until it is full. Nothing is ever taken out:
// who has read it moves it away. It returns how many are not in the file: those that found
// no room, and those that could not be written, with an error.
func (w *Writer) putLetters(letters []json.RawMessage) (dropped int, err error) {
	if len(letters) == 0 {
		return 0, nil
	}
	file, err := appendLines(filepath.Join(w.opts.Directory, deadLetterName))
	if err != nil {
		return len(letters), err
	}
	for i, line := range letters {
		if file.size+int64(len(line))+1 > w.opts.DeadLetters {
			dropped++
			continue
		}
		if err := file.write(line); err != nil {
			return dropped + len(letters) - i, errors.Join(err, file.file.Close())
		}
	}
	return dropped, file.file.Close()
}

// letter is a dead letter that waits until its item is settled.
type letter struct {
	item   string
	reason warehouse.Reason
	detail string
	line   json.RawMessage // nil if the row can't be written
}

func (w *Writer) letterOf(row *methodspan.Row, reason warehouse.Reason, detail string) letter {
	l := letter{item: row.BatchID, reason: reason, detail: detail}
	l.line, _ = json.Marshal(&DeadLetter{Time: w.now().UTC(), Reason: string(reason), Detail: cutText(detail, maxDetail), Row: row})
	return l
}

// linesOf are the letters that can be written.
func linesOf(letters []letter) (lines []json.RawMessage) {
	for _, l := range letters {
		if l.line != nil {
			lines = append(lines, l.line)
		}
	}
	return lines
}

// bury keeps rows that are never stored, once nothing sends their items again.
func (w *Writer) bury(lines []json.RawMessage) {
	dropped, _ := w.putLetters(lines) // counted either way
	w.dropped.Add(int64(dropped))
	w.kept.Add(int64(len(lines) - dropped))
}

func cutText(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
