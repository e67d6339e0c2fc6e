package query

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// weightsSchema is the schema of the weights stored for statements of the user.
const weightsSchema = "weights"

// forUser returns the same warehouse with an engine for a statement of the user. If the statement can
// read the view method_cost, the weights of all rows are stored first, and the view joins them with the rows.
// A statement whose text does not show that it reads the view gets the view that computes the weights itself:
// the results are the same, but it takes longer.
func (w *Warehouse) forUser(ctx context.Context, text string) (*Warehouse, error) {
	weighed := strings.Contains(strings.ToLower(text), "method_cost")
	if w.user != nil && (w.user.weighed || !weighed) {
		return w.user, nil
	}
	// Weights take time to compute, and the statement can be invalid.
	if err := w.checkUser(ctx, text); err != nil {
		return nil, err
	}
	more, err := w.userViews(weighed)
	if err != nil {
		return nil, err
	}
	user := &Warehouse{Snapshot: w.Snapshot, Window: w.Window, Files: w.Files, exportPath: w.exportPath, weighed: weighed}
	if err := user.start(ctx, append(more, asLikely)...); err != nil {
		return nil, errors.Join(err, user.Close())
	}
	before := w.user
	w.user = user
	if before == nil {
		return user, nil
	}
	return user, before.Close()
}

// checkUser checks a statement against the relations that it can read. Our own statements do not need the view
// method_cost, whose definition takes the engine a third of the time to open a small warehouse.
func (w *Warehouse) checkUser(ctx context.Context, text string) error {
	s := scope{dialect: w.dialect}
	s.Asked = false
	s.Source = s.Rows()
	view, err := render("create_method_cost", s)
	if err != nil {
		return err
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, view); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		_, err := checkReads(c, text)
		return err
	})
}

// userViews returns the statements that define the relations for a statement of the user: rows that
// start within the window, with weights computed from all rows of its dates.
func (w *Warehouse) userViews(weighed bool) (statements []string, err error) {
	s := scope{dialect: w.dialect}
	s.Asked = false // this engine does not have the table
	if w.Window != (Window{}) {
		s.Whole = true
		from, to := w.Window.nanos()
		s.Within = startsWithin(strconv.FormatInt(from, 10), strconv.FormatInt(to, 10))
		if statements, err = viewsOf("whole", w.Files, w.bounds); err != nil {
			return nil, err
		}
		statements = append(statements, "CREATE OR REPLACE VIEW method_calls AS SELECT * FROM whole_calls"+s.Within)
	}
	s.Source = s.Rows()
	if weighed {
		more, err := s.storeWeights()
		return append(statements, more...), err
	}
	view, err := render("create_method_cost", s)
	return append(statements, view), err
}

// startsWithin returns the condition that a row starts in a window.
func startsWithin(from, to string) string {
	return "\nWHERE start_ns >= " + from + " AND start_ns < " + to
}

// storeWeights returns the statements that store the weights.
func (s scope) storeWeights() ([]string, error) {
	formed, err := render("create_weights", s)
	if err != nil {
		return nil, err
	}
	s.Weights = weightsSchema + "."
	statements := []string{"CREATE SCHEMA " + weightsSchema, formed}
	for _, name := range []string{"keys", "factors", "tight", "uncounted"} {
		statements = append(statements, "CREATE VIEW "+s.Weights+name+" AS SELECT * FROM "+s.Weights+"formed WHERE what = '"+name+"'")
	}
	view, err := render("create_method_cost_of_weights", s)
	return append(statements, view), err
}
