package bigquery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
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

// deadLetters is a file that takes rows until it is full. Nothing is ever taken
// out: whoever has read it moves it away.
type deadLetters struct {
	path string
	max  int64
}

func newDeadLetters(dir string, most int64) *deadLetters {
	return &deadLetters{path: filepath.Join(dir, deadLetterName), max: most}
}

// put appends letters and tells how many found no room.
func (d *deadLetters) put(letters []DeadLetter) (dropped int, err error) {
	if len(letters) == 0 {
		return 0, nil
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return len(letters), err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return len(letters), err
	}
	room := d.max - info.Size()
	var out []byte
	for i := range letters {
		letters[i].Detail = cutText(letters[i].Detail, maxDetail)
		line, err := json.Marshal(&letters[i])
		if err != nil || int64(len(out)+len(line)+1) > room {
			dropped++
			continue
		}
		out = append(append(out, line...), '\n')
	}
	if _, err := f.Write(out); err != nil {
		return len(letters), err
	}
	return dropped, nil
}

func cutText(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
