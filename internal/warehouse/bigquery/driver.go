package bigquery

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// Connector returns a database/sql connector for the dataset. It supports only queries with named
// arguments.
func (q *Querier) Connector() driver.Connector { return connector{q} }

// ArgumentName is the argument that carries the statement's name for messages.
const ArgumentName = "corehour_statement"

type connector struct{ querier *Querier }

func (c connector) Connect(context.Context) (driver.Conn, error) { return conn(c), nil }
func (c connector) Driver() driver.Driver                        { return noDriver{} }

type noDriver struct{}

var errOnlyQueries = errors.New("only queries are supported on BigQuery")

func (noDriver) Open(string) (driver.Conn, error) { return nil, errOnlyQueries }

type conn struct{ querier *Querier }

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errOnlyQueries }
func (conn) Begin() (driver.Tx, error)           { return nil, errOnlyQueries }
func (conn) Close() error                        { return nil }

// CheckNamedValue accepts every value; namedArguments rejects unsupported types.
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
	ctx    context.Context //nolint:containedctx // database/sql passes no context to Next
}

func (r *rows) Columns() []string {
	names := make([]string, len(r.answer.Fields))
	for i, f := range r.answer.Fields {
		names[i] = f.Name
	}
	return names
}

// ColumnTypeDatabaseTypeName returns the type by its name in GoogleSQL.
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
