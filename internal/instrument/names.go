package instrument

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// originalNames forwards the output of the go command, and replaces the names of overlay files by the
// names of the program's files, because the former can be gone later.
type originalNames struct {
	to    io.Writer
	names *strings.Replacer
	rest  []byte // an incomplete line
}

// named maps the overlay's files to the names that the go command prints for them in a directory.
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

// Write forwards complete lines.
func (w *originalNames) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	lines := string(w.rest[:end])
	w.rest = slices.Delete(w.rest, 0, end)
	_, err := w.names.WriteString(w.to, lines)
	return len(text), err
}

// Flush forwards an incomplete last line.
func (w *originalNames) Flush() error {
	_, err := w.names.WriteString(w.to, string(w.rest))
	w.rest = nil
	return err
}
