package corehour

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// methodWatch follows the method file. Its content is compared, not its time of
// change, which a copy may preserve and a quick second write may not alter. It
// belongs to one goroutine: Start's, then the one that follows.
type methodWatch struct {
	path   string
	strict bool
	judged [sha256.Size]byte // the content parsed last
	seen   [sha256.Size]byte // another content, seen once: perhaps still being written
	fault  string            // why it could not be read or used, logged once
}

// filePause is how often the file is read.
const filePause = 5 * time.Second

// first reads the file for the first time.
func (w *methodWatch) first() (*methodfile.File, error) {
	data, err := w.read()
	if err != nil {
		return nil, err
	}
	return w.parseFile(data, sha256.Sum256(data))
}

// next returns the content of the file once two reads agree that it has changed, else
// nil.
func (w *methodWatch) next() (*methodfile.File, error) {
	data, err := w.read()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if sum == w.judged || sum != w.seen {
		w.seen = sum
		return nil, nil
	}
	return w.parseFile(data, sum)
}

// read reads a regular file: reading anything else may never end.
func (w *methodWatch) read() ([]byte, error) {
	info, err := os.Stat(w.path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("method file %s: must be a regular file, found %s", w.path, info.Mode().Type())
	}
	f, err := os.Open(w.path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, methodfile.MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("method file: %w", err)
	case len(data) > methodfile.MaxSize:
		return nil, fmt.Errorf("method file %s: must be at most %d bytes, found %d", w.path, methodfile.MaxSize, max(info.Size(), int64(len(data))))
	}
	return data, nil
}

func (w *methodWatch) parseFile(data []byte, sum [sha256.Size]byte) (*methodfile.File, error) {
	w.judged, w.seen = sum, sum
	file, err := methodfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("method file %s: %w", w.path, err)
	}
	if w.strict && len(file.Faults) > 0 {
		return nil, fmt.Errorf("method file %s: %s", w.path, strings.Join(file.Faults, "; "))
	}
	for _, fault := range file.Faults {
		messages.Logf("method file %s: %s", w.path, fault)
	}
	return file, nil
}

// followFile passes every new content of the method file to the control loop. Shutdown
// does not wait for it: a file system that hangs must not hang the program.
func (e *engine) followFile() {
	for {
		select {
		case <-time.After(filePause):
		case <-e.polling.Done():
			return
		}
		file, err := e.methodWatch.next()
		if err != nil && err.Error() != e.methodWatch.fault {
			e.methodWatch.fault = err.Error()
			e.counters.fileFaults.Add(1)
			messages.Logf("a change of the method file is not taken: %v", err)
		}
		if file == nil {
			continue
		}
		e.methodWatch.fault = "" // the next one counts, even the same
		select {
		case e.methodFiles <- file:
		case <-e.polling.Done():
		}
	}
}
