package bigquery

import (
	"context"
	_ "embed"
	"net/http"
	"strconv"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/warehouse"
)

// viewSQL is generated from the statements of regression/query by a test there.
//
//go:embed method_cost.sql
var viewSQL string

// EnsureView creates the view with the rows' weights, and replaces it if its query differs. It
// keeps a view without our label and a view of a newer version.
func (r *REST) EnsureView(ctx context.Context, d Dataset) error {
	version := strconv.Itoa(columns.Version)
	want := &Table{
		Reference:   TableReference{d.Project, d.Name, ViewName},
		Description: "method_calls of the last 31 days with their weights, created by corehour.",
		View:        &View{Query: d.Qualify(viewSQL)},
		Labels:      map[string]string{LabelSchema: version},
	}
	have, err := r.Table(ctx, d, ViewName)
	switch {
	case HasStatus(err, http.StatusNotFound):
		err = r.do(ctx, call{method: http.MethodPost, url: r.projectURL(d.Project, "datasets", d.Name, "tables"), body: want}, nil)
		if HasStatus(err, http.StatusConflict) {
			err = nil // another collector was quicker
		}
	case err != nil || have.View == nil || !replaceableView(have.Labels[LabelSchema]) || have.View.Query == want.View.Query:
	default:
		err = r.do(ctx, call{method: http.MethodPatch, url: r.projectURL(d.Project, "datasets", d.Name, "tables", ViewName),
			body: want, header: map[string]string{"If-Match": have.ETag}}, nil)
		if HasStatus(err, http.StatusPreconditionFailed) {
			err = nil // another collector was quicker
		}
	}
	if err != nil {
		return &warehouse.Error{Op: "prepare the view", Path: d.String() + "." + ViewName, Err: err, Hint: "the account needs the permission bigquery.tables.getData on the table too, as in roles/bigquery.dataEditor"}
	}
	return nil
}

// replaceableView reports whether the label of a view shows that it is ours and not of a newer
// version.
func replaceableView(label string) bool {
	v, err := strconv.Atoi(label)
	return err == nil && v <= columns.Version
}
