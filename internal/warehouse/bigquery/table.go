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

// Field is a column as the REST interface has it.
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

// TableReference names a table.
type TableReference struct {
	ProjectID string `json:"projectId"`
	DatasetID string `json:"datasetId"`
	TableID   string `json:"tableId"`
}

// Table is a table or a view as the REST interface has it, as far as it matters.
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

// TimePartitioning says how a table is parted.
type TimePartitioning struct {
	Type         string `json:"type"`
	Field        string `json:"field,omitempty"`
	ExpirationMS string `json:"expirationMs,omitempty"`
}

// Clustering says by what a partition is sorted.
type Clustering struct {
	Fields []string `json:"fields"`
}

// View is a view's statement.
type View struct {
	Query        string `json:"query"`
	UseLegacySQL bool   `json:"useLegacySql"`
}

// LabelSchema is the label of the table that holds the version of its schema.
const LabelSchema = "corehour_schema_version"

// clusterBy are the columns that rows are sorted by; there may be four.
var clusterBy = []string{"service", "class", "method", "version"}

// fieldsOf turns columns into fields.
func fieldsOf(list []columns.Column) []Field {
	var out []Field
	for _, c := range list {
		f := Field{Name: c.Name, Type: restType(c.Type.BigQuery), Mode: "NULLABLE", Description: strings.ReplaceAll(c.Unit, "`", "")}
		switch {
		case c.Type == columns.List:
			f.Mode, f.Fields = "REPEATED", fieldsOf(c.Fields)
		case c.Required && c.Since <= 1: // what is added later is never required
			f.Mode = "REQUIRED"
		}
		out = append(out, f)
	}
	return out
}

// columnOf finds a column by its name, in upper or lower case.
func columnOf(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// restType is a type in the older words of the REST interface.
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

// tableOf is the table as it is made.
func tableOf(d Dataset, expiration time.Duration) *Table {
	t := &Table{
		Reference:              TableReference{d.Project, d.Name, TableName},
		Description:            "Rows of corehour: measured calls, counts, sums and process states. Histogram bins grow by " + strconv.FormatFloat(methodspan.Gamma, 'g', -1, 64) + ".",
		Schema:                 &Schema{fieldsOf(columns.All)},
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

// EnsureTable makes the table if it is missing, adds columns that it lacks, and
// refuses one that rows can't be written to. What it does not write about it
// leaves as it is: expiration and labels may be changed by hand. made: it was missing.
func (r *REST) EnsureTable(ctx context.Context, d Dataset, expiration time.Duration) (have *Table, made bool, err error) {
	want := tableOf(d, expiration)
	for range growAttempts {
		if have, made, err = r.tryTable(ctx, d, want); !HasStatus(err, http.StatusPreconditionFailed) {
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

// growAttempts is how often a table is changed that something else changes too.
const growAttempts = 4

func (r *REST) tryTable(ctx context.Context, d Dataset, want *Table) (have *Table, made bool, err error) {
	have, err = r.Table(ctx, d, TableName)
	if HasStatus(err, http.StatusNotFound) {
		have = &Table{}
		err = r.do(ctx, call{method: http.MethodPost, url: r.of(d.Project, "datasets", d.Name, "tables"), body: want}, have)
		if err == nil {
			return r.withoutDefaults(ctx, have, want), true, nil
		}
		if !HasStatus(err, http.StatusConflict) {
			return nil, false, err
		}
		have, err = r.Table(ctx, d, TableName) // another collector was quicker
	}
	if err != nil {
		return nil, false, err
	}
	if err := compatible(have, want); err != nil {
		return nil, false, err
	}
	grown, changed := grow(have, want)
	if !changed {
		return have, false, nil
	}
	// The tag makes it fail if another collector has changed the table, or this one, in
	// an attempt whose answer was lost.
	return have, false, r.do(ctx, call{method: http.MethodPatch, url: r.of(d.Project, "datasets", d.Name, "tables", TableName),
		body: grown, header: map[string]string{"If-Match": have.ETag}}, nil)
}

// withoutDefaults takes away what a new table has of its dataset's default expirations if
// its days are to stay for ever, which no value says when it is made. If that fails the
// table is as it is.
func (r *REST) withoutDefaults(ctx context.Context, made, want *Table) *Table {
	if made.TimePartitioning == nil {
		return want // an emulator's answer
	}
	if want.TimePartitioning.ExpirationMS != "" || made.TimePartitioning.ExpirationMS == "" && made.ExpirationTime == "" {
		return made
	}
	forever := map[string]any{
		"timePartitioning": map[string]any{"type": want.TimePartitioning.Type, "field": want.TimePartitioning.Field, "expirationMs": nil},
		"expirationTime":   nil,
	}
	ref := want.Reference
	err := r.do(ctx, call{method: http.MethodPatch, url: r.of(ref.ProjectID, "datasets", ref.DatasetID, "tables", ref.TableID),
		body: forever, header: map[string]string{"If-Match": made.ETag}}, nil)
	if err != nil {
		return made
	}
	return want
}

// Table reads what a table is.
func (r *REST) Table(ctx context.Context, d Dataset, name string) (*Table, error) {
	t := &Table{}
	return t, r.do(ctx, call{method: http.MethodGet, url: r.of(d.Project, "datasets", d.Name, "tables", name)}, t)
}

// compatible names what keeps rows from being stored, or queries from being cheap.
func compatible(have, want *Table) error {
	var errs []error
	if have.Schema == nil {
		have.Schema = &Schema{}
	}
	if have.TimePartitioning == nil || have.TimePartitioning.Field != want.TimePartitioning.Field || have.TimePartitioning.Type != want.TimePartitioning.Type {
		errs = append(errs, errors.New("it must be partitioned by day of event_date, and is not: make a new one, or use another dataset"))
	}
	for _, f := range want.Schema.Fields {
		if h, found := columnOf(have.Schema.Fields, f.Name); found && (restType(h.Type) != f.Type || (h.Mode == "REPEATED") != (f.Mode == "REPEATED")) {
			errs = append(errs, fmt.Errorf("the column %s must be %s %s, and is %s %s", f.Name, f.Mode, f.Type, h.Mode, h.Type))
		}
	}
	for _, h := range have.Schema.Fields {
		if _, known := columnOf(want.Schema.Fields, h.Name); !known && h.Mode == "REQUIRED" {
			errs = append(errs, fmt.Errorf("the column %s is required and rows have no such column: make it nullable", h.Name))
		}
	}
	return errors.Join(errs...)
}

// grow is the change that adds the columns that are missing, and the label of the
// schema if it is older.
func grow(have, want *Table) (*Table, bool) {
	grown := &Table{Reference: want.Reference, Schema: &Schema{slices.Clone(have.Schema.Fields)}}
	for _, f := range want.Schema.Fields {
		if _, found := columnOf(have.Schema.Fields, f.Name); found {
			continue
		}
		if f.Mode == "REQUIRED" {
			f.Mode = "NULLABLE"
		}
		grown.Schema.Fields = append(grown.Schema.Fields, f)
	}
	changed := len(grown.Schema.Fields) > len(have.Schema.Fields)
	if v, err := strconv.Atoi(have.Labels[LabelSchema]); err != nil || v < columns.Version {
		grown.Labels = map[string]string{LabelSchema: want.Labels[LabelSchema]}
		changed = true
	}
	return grown, changed
}
