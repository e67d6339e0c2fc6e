package delivery

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
)

// maxAlertLine is the maximum length of a line that is read; lines written here are far shorter.
const maxAlertLine = 1 << 20

// AppendFile appends alerts to a file of JSON lines and returns those that the file did not contain yet. It keeps
// lines that are not alerts, such as a line cut off by a crash.
func AppendFile(path string, alerts []alert.Alert) (fresh []alert.Alert, err error) {
	if len(alerts) == 0 {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	held, whole, err := heldAlerts(f, alerts)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var lines []byte
	if !whole {
		lines = append(lines, '\n') // end a line that a crash cut off
	}
	for _, a := range alerts {
		if held[a.ID] {
			continue
		}
		line, err := output.Line(a)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line...)
		fresh = append(fresh, a)
		held[a.ID] = true
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	if _, err := f.Write(lines); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return fresh, nil
}

// heldAlerts returns the ids of the alerts that the file contains, and whether it ends with a complete line.
func heldAlerts(f io.Reader, alerts []alert.Alert) (held map[string]bool, whole bool, err error) {
	wanted := map[string]bool{}
	for _, a := range alerts {
		wanted[a.ID] = true
	}
	held = map[string]bool{}
	r := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < maxAlertLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, err
		}
		var a struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(line, &a) == nil && wanted[a.ID] {
			held[a.ID] = true
		}
		if err != nil {
			return held, len(line) == 0, nil
		}
		line = line[:0]
	}
}

// maxRemembered is the maximum number of alert ids that a process remembers. The oldest are evicted and count as
// fresh again.
const maxRemembered = 100_000

// Remembered holds the ids of the alerts that a process has raised.
type Remembered struct {
	File string // of JSON lines; empty = none

	ids   map[string]bool
	order []string
}

// Fresh returns the alerts that were not raised before, and remembers them. Alerts in the file count as raised, so a
// restart does not repeat them.
func (r *Remembered) Fresh(raised []alert.Alert) (fresh []alert.Alert, err error) {
	for _, a := range raised {
		if !r.ids[a.ID] {
			fresh = append(fresh, a)
		}
	}
	if r.File != "" {
		if fresh, err = AppendFile(r.File, fresh); err != nil {
			return nil, err
		}
	}
	if r.ids == nil {
		r.ids = map[string]bool{}
	}
	for _, a := range fresh {
		r.ids[a.ID] = true
		r.order = append(r.order, a.ID)
	}
	for len(r.order) > maxRemembered {
		delete(r.ids, r.order[0])
		r.order = r.order[1:]
	}
	return fresh, nil
}
