package instrument

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// originalNames writes what the go command says, with the names of the program's files in the
// place of those that stand for them: these are gone when someone looks.
type originalNames struct {
	to    io.Writer
	names *strings.Replacer
	rest  []byte // of a line
}

// named gives the files of the overlay the names that the go command has for them in a directory.
func (o *overlay) named(to io.Writer, dir string) *originalNames {
	var pairs []string
	for path, file := range o.replace {
		name := path
		if relative, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(relative) {
			if name = relative; !strings.ContainsRune(relative, filepath.Separator) {
				name = "." + string(filepath.Separator) + relative
			}
		}
		pairs = append(pairs, file, name)
	}
	return &originalNames{to: to, names: strings.NewReplacer(pairs...)}
}

// Write writes whole lines.
func (w *originalNames) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	lines := string(w.rest[:end])
	w.rest = slices.Delete(w.rest, 0, end)
	_, err := w.names.WriteString(w.to, lines)
	return len(text), err
}

// Flush writes what has no end of a line.
func (w *originalNames) Flush() error {
	_, err := w.names.WriteString(w.to, string(w.rest))
	w.rest = nil
	return err
}
