package bigquery

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// Connector opens the dataset for database/sql: queries with named arguments, and
// nothing else.
func (q *Querier) Connector() driver.Connector { return connector{q} }

// ArgumentName is the name under which a statement's name travels with its
// arguments.
const ArgumentName = "corehour_statement"

type connector struct{ querier *Querier }

func (c connector) Connect(context.Context) (driver.Conn, error) { return conn(c), nil }
func (c connector) Driver() driver.Driver                        { return noDriver{} }

type noDriver struct{}

var errOnlyQueries = errors.New("BigQuery is only asked, by queries")

func (noDriver) Open(string) (driver.Conn, error) { return nil, errOnlyQueries }

type conn struct{ querier *Querier }

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errOnlyQueries }
func (conn) Begin() (driver.Tx, error)           { return nil, errOnlyQueries }
func (conn) Close() error                        { return nil }

// CheckNamedValue lets all values pass: arguments knows them.
func (conn) CheckNamedValue(*driver.NamedValue) error { return nil }

// QueryContext runs a query.
func (c conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	named := make(map[string]any, len(args))
	name := "a query"
	for _, a := range args {
		if a.Name == ArgumentName {
			name = fmt.Sprint(a.Value)
			continue
		}
		named[a.Name] = a.Value
	}
	answer, err := c.querier.Run(ctx, name, text, named)
	if err != nil {
		return nil, err
	}
	return &rows{answer, ctx}, nil
}

type rows struct {
	answer *Answer
	ctx    context.Context //nolint:containedctx // database/sql gives Next none
}

func (r *rows) Columns() []string {
	names := make([]string, len(r.answer.Fields))
	for i, f := range r.answer.Fields {
		names[i] = f.Name
	}
	return names
}

// ColumnTypeDatabaseTypeName is the type in the words of BigQuery's SQL.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	f := r.answer.Fields[i]
	if f.Mode == "REPEATED" {
		return "ARRAY"
	}
	switch f.Type {
	case "INTEGER":
		return "INT64"
	case "FLOAT":
		return "FLOAT64"
	case "BOOLEAN":
		return "BOOL"
	}
	return f.Type
}

func (r *rows) Close() error { return nil }

func (r *rows) Next(dest []driver.Value) error {
	values := make([]any, len(dest))
	ok, err := r.answer.Next(r.ctx, values)
	if err != nil {
		return err
	}
	if !ok {
		return io.EOF
	}
	for i, v := range values {
		dest[i] = v
	}
	return nil
}
