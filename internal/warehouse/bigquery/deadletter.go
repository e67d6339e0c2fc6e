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

// DeadLetter is one line of the file of rows that BigQuery refused for good.
type DeadLetter struct {
	Time   time.Time       `json:"time"`
	Reason string          `json:"reason"`
	Detail string          `json:"detail"` // message of the service, shortened to maxDetail bytes
	Row    *methodspan.Row `json:"row"`
}

// maxDetail bounds the stored part of a message of the service, in bytes.
const maxDetail = 300

// appendLetters appends lines to the file of dead letters until it is full. The file never shrinks:
// whoever has read it moves it away. It returns the number of letters that are not in the file,
// because it is full or because of the returned error.
func (w *Writer) appendLetters(letters []json.RawMessage) (dropped int, err error) {
	if len(letters) == 0 {
		return 0, nil
	}
	file, err := openForAppend(filepath.Join(w.opts.Directory, deadLetterName))
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

// pendingLetter is a dead letter that is written once its item is settled.
type pendingLetter struct {
	item   string
	reason warehouse.Reason
	detail string
	line   json.RawMessage // nil if the row can't be encoded
}

func (w *Writer) newLetter(row *methodspan.Row, reason warehouse.Reason, detail string) pendingLetter {
	l := pendingLetter{item: row.BatchID, reason: reason, detail: detail}
	l.line, _ = json.Marshal(&DeadLetter{Time: w.now().UTC(), Reason: string(reason), Detail: cutText(detail, maxDetail), Row: row})
	return l
}

// encodedLetters returns the lines of the letters that can be encoded.
func encodedLetters(letters []pendingLetter) (lines []json.RawMessage) {
	for _, l := range letters {
		if l.line != nil {
			lines = append(lines, l.line)
		}
	}
	return lines
}

// keepLetters writes the dead letters of settled items, whose rows are not sent again.
func (w *Writer) keepLetters(lines []json.RawMessage) {
	dropped, _ := w.appendLetters(lines) // an error is included in the count
	w.dropped.Add(int64(dropped))
	w.kept.Add(int64(len(lines) - dropped))
}

func cutText(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
