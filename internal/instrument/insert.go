package instrument

import (
	"bytes"
	"fmt"
)

// atEnd is the first statement of function main. It notices the end of main, also by a panic.
const atEnd = " defer _corehourAtEnd();"

// statement is the first statement of a function with a probe. A probe that is off costs a load and a
// branch.
func statement(index int) string {
	return fmt.Sprintf(" if _corehourM[%d].On() { defer _corehourM[%[1]d].Begin().End() };", index)
}

// insert returns the text with statements inserted after the opening braces of functions. No line moves.
func (s *source) insert() []byte {
	var out bytes.Buffer
	out.Grow(len(s.text) + 100*len(s.functions))
	from := 0
	for _, f := range s.functions {
		if !f.changed() {
			continue
		}
		out.Write(s.text[from:f.brace])
		if f.isMain {
			out.WriteString(atEnd)
		}
		if f.index >= 0 {
			out.WriteString(statement(f.index))
		}
		from = f.brace
	}
	out.Write(s.text[from:])
	return out.Bytes()
}

// diff returns the changed lines as a unified diff without context.
func (s *source) diff(name string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	before, after := bytes.Split(s.text, []byte("\n")), bytes.Split(s.insert(), []byte("\n"))
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			fmt.Fprintf(&out, "@@ -%d +%d @@\n-%s\n+%s\n", i+1, i+1, before[i], after[i])
		}
	}
	return out.Bytes()
}
