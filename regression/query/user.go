package query

import (
	"context"
	"database/sql"
	"errors"
)

// Table is the answer to a statement of the user's own.
type Table struct {
	Columns []string
	Rows    [][]any
	// Cut is set if there were more rows than asked for.
	Cut bool
}

// User runs a statement of the user's own and keeps at most limit rows. Only one
// that reads is accepted.
func (w *Warehouse) User(ctx context.Context, text string, limit int) (*Table, error) {
	t := &Table{}
	err := w.UserRows(ctx, text, func(columns []UserColumn) error {
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

// UserColumn is a column of an answer, its type in the engine's words.
type UserColumn struct{ Name, Type string }

// UserRows is User for answers of any size: begin is told the columns, then each
// gets the rows, which it may keep. A time.Time in them is an instant; dates, times of
// day and intervals are texts.
func (w *Warehouse) UserRows(ctx context.Context, text string, begin func([]UserColumn) error, each func([]any) error) error {
	rows, changes, closeRows, err := w.userRows(ctx, text)
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
		for i, c := range changes {
			row[i] = c.to(row[i])
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// userRows starts the statement. The changes are one for each column, or none at all.
func (w *Warehouse) userRows(ctx context.Context, text string) (*sql.Rows, []change, func(), error) {
	if w.remote != nil {
		rows, err := w.remoteUser(ctx, text)
		if err != nil {
			return nil, nil, nil, err
		}
		return rows, nil, func() { rows.Close() }, nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	var read *reading
	err = conn.Raw(func(c any) (err error) {
		read, err = checkReads(c, text)
		return err
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, conn.Close())
	}
	rows, err := conn.QueryContext(ctx, read.text)
	if err != nil {
		return nil, nil, nil, errors.Join(err, conn.Close())
	}
	return rows, read.changes, func() { rows.Close(); conn.Close() }, nil
}
