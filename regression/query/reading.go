package query

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// tableReading is a statement that was found to read and do nothing else.
type tableReading struct {
	text    string
	kind    duckdb.StmtType
	names   []string // of the columns
	changes []change // one for each column
}

var errOnlyReads = errors.New("only statements that read are run: want SELECT, or EXPLAIN of one")

// checkReads lets the engine itself say what a statement is, and what its columns are.
// No setting of the engine keeps a statement from writing to the files that it may read,
// so what is run must be a SELECT. EXPLAIN, which runs what it explains if it is asked
// to, is put together again before one.
func checkReads(c any, text string) (*tableReading, error) {
	text = duckdbDialect.body(text)
	statement, kind, err := prepare(c, text)
	if err == nil && kind == duckdb.STATEMENT_TYPE_EXPLAIN {
		statement.Close()
		if text = explainsReading(c, text); text == "" {
			return nil, errOnlyReads
		}
		statement, kind, err = prepare(c, text)
	}
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
		return nil, errOnlyReads
	}
	if n := statement.NumInput(); n > 0 {
		return nil, fmt.Errorf("the statement has %d parameters and there are no values for them", n)
	}
	r := &tableReading{text: text, kind: kind}
	if r.changes, err = changesOf(statement); err != nil {
		return nil, err
	}
	for i := range r.changes {
		name, err := statement.ColumnName(i)
		if err != nil {
			return nil, err
		}
		r.names = append(r.names, name)
	}
	return r, nil
}

// first is the same reading, of so many rows. The engine keeps the order of rows, and
// makes names of columns differ: those of the statement itself are in names.
func (r *tableReading) first(c any, rows int) *tableReading {
	text := fmt.Sprintf("SELECT * FROM (%s\n) LIMIT %d", r.text, rows)
	if r.kind != duckdb.STATEMENT_TYPE_SELECT || !isSelect(c, text) { // as some PRAGMA
		return r
	}
	limited := *r
	limited.text = text
	return &limited
}

// prepare does not run anything: Prepare, unlike PrepareContext, refuses a list of
// statements; the other runs all but the last.
func prepare(c any, text string) (*duckdb.Stmt, duckdb.StmtType, error) {
	prepared, err := c.(driver.Conn).Prepare(text)
	switch {
	case err != nil && strings.Contains(err.Error(), "multi-statement"):
		return nil, 0, errors.New("want one statement, found several; PIVOT is one if it lists its values: PIVOT ... ON column IN (...)")
	case err != nil:
		return nil, 0, err
	}
	statement := prepared.(*duckdb.Stmt)
	kind, err := statement.StatementType()
	if err != nil {
		return nil, 0, errors.Join(err, statement.Close())
	}
	return statement, kind, nil
}

// Options in which nothing can be hidden, as in (ANALYZE, FORMAT json).
var explainOptions = regexp.MustCompile(`^\([A-Za-z_,\s]*\)`)

// explainsReading is an EXPLAIN made of what the engine takes for a SELECT, empty
// if the text explains anything else.
func explainsReading(c any, text string) string {
	rest, _ := duckdbDialect.afterWord(text, "EXPLAIN")
	head := "EXPLAIN "
	if explained, ok := duckdbDialect.afterWord(rest, "ANALYZE"); ok {
		head, rest = head+"ANALYZE ", explained
	}
	rest = rest[duckdbDialect.blank(rest):]
	if isSelect(c, rest) {
		return head + rest
	}
	if options := explainOptions.FindString(rest); options != "" && isSelect(c, rest[len(options):]) {
		return head + options + " " + rest[len(options):]
	}
	return ""
}

func isSelect(c any, text string) bool {
	statement, kind, err := prepare(c, text)
	if err != nil {
		return false
	}
	statement.Close()
	return kind == duckdb.STATEMENT_TYPE_SELECT
}
