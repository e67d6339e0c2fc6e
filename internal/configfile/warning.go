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

// Warning is a fault in one entry of a file, which costs that entry.
type Warning struct {
	Where string // the entry: `methods[3]`, `tiers.inner`, `defaults`; empty = the file itself
	Index int    // the entry's place in its list, -1 outside lists
	Field string // the faulty field; empty = the entry as a whole
	Line  int    // 0 = unknown
	Rule  string // what must hold
	Value string // what was found, fit to be printed
	Hint  string // how to put it right, if that is not obvious
}

// Error says it all in one line, so that a Warning can be an error as it is.
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

// maxShown bounds what one file can print: after that many the reader has the
// idea.
const maxShown = 100

// Shown are the warnings that are printed; rest is how many more there are.
func Shown(warnings []Warning) (shown []Warning, rest int) {
	if len(warnings) <= maxShown {
		return warnings, 0
	}
	return warnings[:maxShown], len(warnings) - maxShown
}

// Log writes one line for each warning.
func Log(log *zap.Logger, path string, warnings []Warning) {
	shown, rest := Shown(warnings)
	for _, w := range shown {
		log.Warn("faulty part left out", zap.String("file", path), zap.String("fault", w.Error()))
	}
	if rest > 0 {
		log.Warn("more faulty parts left out", zap.String("file", path), zap.Int("count", rest))
	}
}

// Announce prints the warnings to w if the logger writes nothing at all. So are
// loggers that the collector's `validate` makes components with, and a warning
// that only a start shows comes too late. name is that of the component.
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

// asErrors is what strictness makes of warnings.
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

// Quote makes a text of unknown origin fit to be printed: control characters
// are escaped and what is long is cut.
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
