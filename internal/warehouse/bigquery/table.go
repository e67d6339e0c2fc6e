package bigquery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// Field is a column of the REST API.
type Field struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Mode        string  `json:"mode,omitempty"`
	Description string  `json:"description,omitempty"`
	Fields      []Field `json:"fields,omitempty"`
}

// Schema is a list of columns.
type Schema struct {
	Fields []Field `json:"fields"`
}

// TableReference identifies a table.
type TableReference struct {
	ProjectID string `json:"projectId"`
	DatasetID string `json:"datasetId"`
	TableID   string `json:"tableId"`
}

// Table is a table or a view of the REST API, with the fields used here.
type Table struct {
	Reference              TableReference    `json:"tableReference"`
	ETag                   string            `json:"etag,omitempty"`
	Location               string            `json:"location,omitempty"` // of the dataset
	ExpirationTime         string            `json:"expirationTime,omitempty"`
	Type                   string            `json:"type,omitempty"`
	Description            string            `json:"description,omitempty"`
	Schema                 *Schema           `json:"schema,omitempty"`
	TimePartitioning       *TimePartitioning `json:"timePartitioning,omitempty"`
	RequirePartitionFilter bool              `json:"requirePartitionFilter,omitempty"`
	Clustering             *Clustering       `json:"clustering,omitempty"`
	Labels                 map[string]string `json:"labels,omitempty"`
	View                   *View             `json:"view,omitempty"`
}

// TimePartitioning is the partitioning of a table.
type TimePartitioning struct {
	Type         string `json:"type"`
	Field        string `json:"field,omitempty"`
	ExpirationMS string `json:"expirationMs,omitempty"`
}

// Clustering lists the columns by which a partition is sorted.
type Clustering struct {
	Fields []string `json:"fields"`
}

// View is the statement of a view.
type View struct {
	Query        string `json:"query"`
	UseLegacySQL bool   `json:"useLegacySql"`
}

// LabelSchema is the label with the schema version of the table.
const LabelSchema = "corehour_schema_version"

// clusterBy are the columns by which rows are sorted; BigQuery allows four.
var clusterBy = []string{"service", "class", "method", "version"}

// restFields converts columns to fields.
func restFields(list []columns.Column) []Field {
	var out []Field
	for _, c := range list {
		f := Field{Name: c.Name, Type: restType(c.Type.BigQuery), Mode: "NULLABLE", Description: strings.ReplaceAll(c.Unit, "`", "")}
		switch {
		case c.Type == columns.List:
			f.Mode, f.Fields = "REPEATED", restFields(c.Fields)
		case c.Required:
			f.Mode = "REQUIRED"
		}
		out = append(out, f)
	}
	return out
}

// findField returns the field with this name. It ignores case.
func findField(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// restType converts a type of GoogleSQL to its older name in the REST API.
func restType(t string) string {
	switch t {
	case "INT64":
		return "INTEGER"
	case "FLOAT64":
		return "FLOAT"
	case "BOOL":
		return "BOOLEAN"
	}
	return t
}

// newTable returns the definition of the table.
func newTable(d Dataset, expiration time.Duration) *Table {
	t := &Table{
		Reference:              TableReference{d.Project, d.Name, TableName},
		Description:            "Rows of corehour: measured calls, counts, sums and process states. Histogram bins grow by " + strconv.FormatFloat(methodspan.Gamma, 'g', -1, 64) + ".",
		Schema:                 &Schema{restFields(columns.All)},
		TimePartitioning:       &TimePartitioning{Type: "DAY", Field: "event_date"},
		RequirePartitionFilter: true,
		Clustering:             &Clustering{clusterBy},
		Labels:                 map[string]string{LabelSchema: strconv.Itoa(columns.Version)},
	}
	if expiration > 0 {
		t.TimePartitioning.ExpirationMS = strconv.FormatInt(expiration.Milliseconds(), 10)
	}
	return t
}

// EnsureTable creates the table if it is missing, adds missing columns, and fails if rows can't be
// written to it. It keeps expiration and other labels, which can be changed by hand. made reports
// that the table was missing.
func (r *REST) EnsureTable(ctx context.Context, d Dataset, expiration time.Duration) (have *Table, made bool, err error) {
	want := newTable(d, expiration)
	for range growAttempts {
		if have, made, err = r.ensureTableOnce(ctx, d, want); !HasStatus(err, http.StatusPreconditionFailed) {
			break
		}
	}
	if err == nil {
		return have, made, nil
	}
	e := &warehouse.Error{Op: "prepare the table", Path: d.table(), Err: err}
	switch {
	case HasStatus(err, http.StatusNotFound):
		e.Hint = "the dataset must exist: `bq mk --dataset " + d.Project + ":" + d.Name + "`"
	case HasStatus(err, http.StatusForbidden):
		e.Hint = "the account needs roles/bigquery.dataEditor on the dataset"
	}
	return nil, false, e
}

// growAttempts is how often the table is changed while something else changes it too.
const growAttempts = 4

func (r *REST) ensureTableOnce(ctx context.Context, d Dataset, want *Table) (have *Table, made bool, err error) {
	have, err = r.Table(ctx, d, TableName)
	if HasStatus(err, http.StatusNotFound) {
		have = &Table{}
		err = r.do(ctx, call{method: http.MethodPost, url: r.projectURL(d.Project, "datasets", d.Name, "tables"), body: want}, have)
		if err == nil {
			return r.clearDefaultExpiration(ctx, have, want), true, nil
		}
		if !HasStatus(err, http.StatusConflict) {
			return nil, false, err
		}
		have, err = r.Table(ctx, d, TableName) // another collector was quicker
	}
	if err != nil {
		return nil, false, err
	}
	if err := checkCompatible(have, want); err != nil {
		return nil, false, err
	}
	grown, changed := withMissingColumns(have, want)
	if !changed {
		return have, false, nil
	}
	// The ETag makes the request fail if the table has changed: by another collector, or by an
	// attempt of ours whose answer was lost.
	return have, false, r.do(ctx, call{method: http.MethodPatch, url: r.projectURL(d.Project, "datasets", d.Name, "tables", TableName),
		body: grown, header: map[string]string{"If-Match": have.ETag}}, nil)
}

// clearDefaultExpiration removes the expiration that a new table has inherited from its dataset, if
// its days are to be kept for ever. A create request can't express that. On failure the table keeps
// the expiration.
func (r *REST) clearDefaultExpiration(ctx context.Context, made, want *Table) *Table {
	if made.TimePartitioning == nil {
		return want // the answer of an emulator
	}
	if want.TimePartitioning.ExpirationMS != "" || made.TimePartitioning.ExpirationMS == "" && made.ExpirationTime == "" {
		return made
	}
	forever := map[string]any{
		"timePartitioning": map[string]any{"type": want.TimePartitioning.Type, "field": want.TimePartitioning.Field, "expirationMs": nil},
		"expirationTime":   nil,
	}
	ref := want.Reference
	err := r.do(ctx, call{method: http.MethodPatch, url: r.projectURL(ref.ProjectID, "datasets", ref.DatasetID, "tables", ref.TableID),
		body: forever, header: map[string]string{"If-Match": made.ETag}}, nil)
	if err != nil {
		return made
	}
	return want
}

// Table returns a table or view.
func (r *REST) Table(ctx context.Context, d Dataset, name string) (*Table, error) {
	t := &Table{}
	return t, r.do(ctx, call{method: http.MethodGet, url: r.projectURL(d.Project, "datasets", d.Name, "tables", name)}, t)
}

// checkCompatible returns an error for everything that prevents storing rows or makes queries
// expensive.
func checkCompatible(have, want *Table) error {
	var errs []error
	if have.Schema == nil {
		have.Schema = &Schema{}
	}
	if have.TimePartitioning == nil || have.TimePartitioning.Field != want.TimePartitioning.Field || have.TimePartitioning.Type != want.TimePartitioning.Type {
		errs = append(errs, errors.New("it must be partitioned by day of event_date: create a new table or use another dataset"))
	}
	for _, f := range want.Schema.Fields {
		if h, found := findField(have.Schema.Fields, f.Name); found && (restType(h.Type) != f.Type || (h.Mode == "REPEATED") != (f.Mode == "REPEATED")) {
			errs = append(errs, fmt.Errorf("the column %s must be %s %s, found %s %s", f.Name, f.Mode, f.Type, h.Mode, h.Type))
		}
	}
	for _, h := range have.Schema.Fields {
		if _, known := findField(want.Schema.Fields, h.Name); !known && h.Mode == "REQUIRED" {
			errs = append(errs, fmt.Errorf("the column %s is required but rows do not have it: make it nullable", h.Name))
		}
	}
	return errors.Join(errs...)
}

// withMissingColumns returns the change that adds the missing columns, and sets the label of the
// schema version if it is missing or lower. changed is false if there is nothing to do.
func withMissingColumns(have, want *Table) (grown *Table, changed bool) {
	grown = &Table{Reference: want.Reference, Schema: &Schema{slices.Clone(have.Schema.Fields)}}
	for _, f := range want.Schema.Fields {
		if _, found := findField(have.Schema.Fields, f.Name); found {
			continue
		}
		if f.Mode == "REQUIRED" {
			f.Mode = "NULLABLE"
		}
		grown.Schema.Fields = append(grown.Schema.Fields, f)
	}
	changed = len(grown.Schema.Fields) > len(have.Schema.Fields)
	if v, err := strconv.Atoi(have.Labels[LabelSchema]); err != nil || v < columns.Version {
		grown.Labels = map[string]string{LabelSchema: want.Labels[LabelSchema]}
		changed = true
	}
	return grown, changed
}
