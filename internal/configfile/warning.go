package configfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Warning is a fault in one entry of a file, which is therefore left out.
type Warning struct {
	Where string // the entry: `methods[3]`, `tiers.inner`, `defaults`; empty = the file itself
	Index int    // the entry's place in its list, -1 outside lists
	Field string // the faulty field; empty = the entry as a whole
	Line  int    // 0 = unknown
	Rule  string // the rule that is broken
	Value string // the value found, printable
	Hint  string // how to correct it, if that is not obvious
}

// Error returns the warning in one line.
func (w Warning) Error() string {
	var b strings.Builder
	b.WriteString(w.Where)
	if w.Field != "" {
		if w.Where != "" {
			b.WriteByte('.')
		}
		b.WriteString(w.Field)
	}
	switch {
	case w.Line > 0 && b.Len() > 0:
		fmt.Fprintf(&b, " (line %d)", w.Line)
	case w.Line > 0:
		fmt.Fprintf(&b, "line %d", w.Line)
	}
	b.WriteString(": ")
	b.WriteString(w.Rule)
	if w.Value != "" {
		b.WriteString(", found ")
		b.WriteString(w.Value)
	}
	if w.Hint != "" {
		b.WriteString(": ")
		b.WriteString(w.Hint)
	}
	return b.String()
}

// maxShown bounds how many warnings of one file are printed.
const maxShown = 100

// Shown returns the warnings to print, and the number of the others.
func Shown(warnings []Warning) (shown []Warning, rest int) {
	if len(warnings) <= maxShown {
		return warnings, 0
	}
	return warnings[:maxShown], len(warnings) - maxShown
}

// Log logs each warning.
func Log(log *zap.Logger, path string, warnings []Warning) {
	shown, rest := Shown(warnings)
	for _, w := range shown {
		log.Warn("faulty part left out", zap.String("file", path), zap.String("fault", w.Error()))
	}
	if rest > 0 {
		log.Warn("more faulty parts left out", zap.String("file", path), zap.Int("count", rest))
	}
}

// Announce prints the warnings to w if the logger discards everything. The collector's
// `validate` gives components such a logger, and a warning that appears only at a start comes
// too late. name is the name of the component.
func Announce(w io.Writer, log *zap.Logger, name, path string, warnings []Warning) {
	if log.Core().Enabled(zapcore.FatalLevel) {
		return
	}
	shown, rest := Shown(warnings)
	for _, warning := range shown {
		fmt.Fprintf(w, "warning: %s: %s: %s\n", name, Quote(path), warning)
	}
	if rest > 0 {
		fmt.Fprintf(w, "warning: %s: %s: and %d more faults\n", name, Quote(path), rest)
	}
}

// asErrors returns warnings as one error.
func asErrors(name string, warnings []Warning) error {
	shown, rest := Shown(warnings)
	errs := make([]error, 0, len(shown)+1)
	for _, w := range shown {
		errs = append(errs, fmt.Errorf("%s: %w", name, w))
	}
	if rest > 0 {
		errs = append(errs, fmt.Errorf("%s: and %d more faults", name, rest))
	}
	return errors.Join(errs...)
}

const maxQuoted = 80

// Quote makes a text of unknown origin printable: control characters are escaped and long texts
// are cut.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return fmt.Sprintf("%q", s)
	}
	cut := maxQuoted
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q...", s[:cut])
}
