package query

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// tableReading is a statement that was verified to be read-only.
type tableReading struct {
	text    string
	kind    duckdb.StmtType
	names   []string // of the columns
	changes []change // one for each column
}

var errOnlyReads = errors.New("only statements that read are run: want SELECT, or EXPLAIN of one")

// checkReads asks the engine for the kind of a statement and its columns.
// No setting of the engine prevents writes to the files that a statement can read, so the statement
// must be a SELECT. EXPLAIN is rebuilt in front of a verified SELECT, because EXPLAIN ANALYZE runs
// the statement.
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

// first limits the statement to a number of rows. The engine keeps the order of rows, but renames
// duplicate columns; the original names are in names.
func (r *tableReading) first(c any, rows int) *tableReading {
	text := fmt.Sprintf("SELECT * FROM (%s\n) LIMIT %d", r.text, rows)
	if r.kind != duckdb.STATEMENT_TYPE_SELECT || !isSelect(c, text) { // for example some PRAGMA
		return r
	}
	limited := *r
	limited.text = text
	return &limited
}

// prepare does not run anything: Prepare rejects a list of statements, while PrepareContext runs all but
// the last one.
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

// explainOptions matches options that cannot hide a statement, such as (ANALYZE, FORMAT json).
var explainOptions = regexp.MustCompile(`^\([A-Za-z_,\s]*\)`)

// explainsReading returns an EXPLAIN rebuilt in front of a SELECT, or "" if the text explains any other
// statement.
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
