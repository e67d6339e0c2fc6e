package query

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/duckdb/duckdb-go/v2"
)

// Table is the result of a statement of the user.
type Table struct {
	Columns []string
	Rows    [][]any
	// Cut is set if there were more rows than the limit.
	Cut bool
}

// User runs a statement of the user and keeps at most limit rows. It accepts only read-only
// statements.
func (w *Warehouse) User(ctx context.Context, text string, limit int) (*Table, error) {
	t := &Table{}
	err := w.userRows(ctx, text, limit, func(columns []UserColumn) error {
		for _, c := range columns {
			t.Columns = append(t.Columns, c.Name)
		}
		return nil
	}, func(row []any) error {
		if len(t.Rows) == limit {
			t.Cut = true
			return errEnough
		}
		t.Rows = append(t.Rows, row)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return t, nil
}

var errEnough = errors.New("enough rows")

// UserColumn is a column of a result; Type is the engine's name of its type.
type UserColumn struct{ Name, Type string }

// UserRows is like User for all rows: it calls begin with the columns, then each with every row. The callee can
// keep the row. A time.Time in it is an instant; dates, times of day and intervals are strings; decimals of
// BigQuery are json.Number. BigQuery returns rows by pages, but the driver of files keeps the whole result
// in memory, so use Export for a large one.
func (w *Warehouse) UserRows(ctx context.Context, text string, begin func([]UserColumn) error, each func([]any) error) error {
	return w.userRows(ctx, text, math.MaxInt, begin, each)
}

// userRows calls each for more than limit rows if there are more, so that the caller sees the cut.
func (w *Warehouse) userRows(ctx context.Context, text string, limit int, begin func([]UserColumn) error, each func([]any) error) error {
	rows, read, closeRows, err := w.startUser(ctx, text, limit)
	if err != nil {
		return err
	}
	defer closeRows()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]UserColumn, len(types))
	for i, t := range types {
		columns[i] = UserColumn{t.Name(), t.DatabaseTypeName()}
		if w.remote != nil {
			read.changes = append(read.changes, changeOfRemote(columns[i].Type))
			continue
		}
		columns[i].Name = read.names[i]
	}
	if err := begin(columns); err != nil {
		return err
	}
	for rows.Next() {
		row, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, c := range read.changes {
			row[i] = c.to(row[i])
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return w.explainDamage(ctx, rows.Err())
}

// Export writes all rows of a SELECT of the user to the file given to Into, as Parquet with the types of the
// engine, and returns their number. The engine keeps a few row groups in memory. Export works for warehouses in
// files only.
func (w *Warehouse) Export(ctx context.Context, text string) (rows int64, err error) {
	user, err := w.forUser(ctx, text)
	if err != nil {
		return 0, err
	}
	conn, err := user.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var read *tableReading
	err = conn.Raw(func(c any) (err error) {
		read, err = checkReads(c, text)
		return err
	})
	if err != nil {
		return 0, err
	}
	if read.kind != duckdb.STATEMENT_TYPE_SELECT {
		return 0, errors.New("only the rows of a SELECT are written to a file")
	}
	err = conn.QueryRowContext(ctx, "COPY (SELECT * FROM ("+read.text+"\n)) TO "+quoteText(w.exportPath)+" (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)").Scan(&rows)
	return rows, w.explainDamage(ctx, err)
}

// startUser starts the statement. The returned tableReading is empty for BigQuery.
func (w *Warehouse) startUser(ctx context.Context, text string, limit int) (*sql.Rows, *tableReading, func(), error) {
	if w.remote != nil {
		rows, err := w.remoteUser(ctx, text)
		if err != nil {
			return nil, nil, nil, err
		}
		return rows, &tableReading{}, func() { rows.Close() }, nil
	}
	user, err := w.forUser(ctx, text)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := user.db.Conn(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	var read *tableReading
	err = conn.Raw(func(c any) (err error) {
		if read, err = checkReads(c, text); err == nil && limit < math.MaxInt {
			read = read.first(c, limit+1)
		}
		return err
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, conn.Close())
	}
	rows, err := conn.QueryContext(ctx, read.text)
	if err != nil {
		return nil, nil, nil, errors.Join(w.explainDamage(ctx, err), conn.Close())
	}
	return rows, read, func() { rows.Close(); conn.Close() }, nil
}
