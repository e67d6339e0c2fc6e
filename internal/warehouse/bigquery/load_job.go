package bigquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/warehouse"
)

// Labels of our load jobs: what they are, and a time that all but one in 200 of
// their rows ended after.
const (
	labelJob    = "corehour"
	labelIsLoad = "load"
	labelEnd    = "corehour_ended_ms"
)

// start hands a job to the service. One that it has already is the same one.
func (l *Loader) start(ctx context.Context, p *loadPlan) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.answerWithin)
	defer cancel()
	l.mu.Lock()
	end := endOfFiles(l.book.named(p.Files))
	l.mu.Unlock()
	job := &Job{Reference: JobReference{ProjectID: l.opts.Dataset.Project, JobID: p.ID, Location: l.location}}
	job.Configuration.Labels = map[string]string{labelJob: labelIsLoad, labelEnd: strconv.FormatInt(end/int64(time.Millisecond), 10)}
	job.Configuration.Load = &LoadConfig{
		SourceFormat: "PARQUET", WriteDisposition: "WRITE_APPEND", CreateDisposition: "CREATE_NEVER",
		Destination:    TableReference{l.opts.Dataset.Project, l.opts.Dataset.Name, TableName},
		ParquetOptions: &ParquetOptions{EnableListInference: true},
	}
	for _, name := range p.Files {
		job.Configuration.Load.SourceURIs = append(job.Configuration.Load.SourceURIs, l.bucket.uri(name))
	}
	err := l.rest.do(ctx, call{method: http.MethodPost, url: l.rest.of(l.opts.Dataset.Project, "jobs"), body: job}, nil)
	if err == nil || HasStatus(err, http.StatusConflict) {
		return nil
	}
	e := l.fail("start a load job", nil, err)
	if HasStatus(err, http.StatusNotFound) {
		return multierr.Append(e, l.opts.remake(ctx, l.rest))
	}
	if HasStatus(err, http.StatusForbidden) {
		e.Hint = "the account needs roles/bigquery.jobUser on the project and roles/bigquery.dataEditor on the dataset"
	}
	return e
}

// endOfFiles leaves out the oldest files as long as they have no more than one in
// 400 of the rows; with what each leaves out itself that is one in 200.
func endOfFiles(files []*spooledFile) int64 {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b *spooledFile) int { return cmp.Compare(a.EndNS, b.EndNS) })
	rows, before := 0, 0
	for _, f := range files {
		rows += f.Rows
	}
	for _, f := range files {
		if before += f.Rows; before > rows/oldestShare {
			return f.EndNS
		}
	}
	return 0
}

// loadJob asks for a job.
func (r *REST) loadJob(ctx context.Context, d Dataset, id, location string) (*Job, error) {
	address := r.of(d.Project, "jobs", id)
	if location != "" {
		address += "?location=" + url.QueryEscape(location)
	}
	job := &Job{}
	return job, r.do(ctx, call{method: http.MethodGet, url: address}, job)
}

func (j *Job) outputRows() (n int64, known bool) {
	if j.Statistics.Load == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(j.Statistics.Load.OutputRows, 10, 64)
	return n, err == nil
}

// loadable makes sure that the table takes our files as they are, and tells where
// it is. The modes of columns are compared exactly: a load job refuses a column
// that is required in one and nullable in the other.
func (r *REST) loadable(ctx context.Context, d Dataset) (location string, err error) {
	table, err := r.Table(ctx, d, TableName)
	if err != nil {
		return "", err
	}
	if err := sameModes(table.Schema.Fields, tableOf(d, 0).Schema.Fields, ""); err != nil {
		return "", &warehouse.Error{Op: "compare the table with the files to load", Path: d.table(), Err: err,
			Hint: "let the exporter make a new table, in this or another dataset, or use `mode: storage_write`"}
	}
	return table.Location, nil
}

// sameModes also compares the fields of columns, in front of whose names path stands.
func sameModes(have, want []Field, path string) error {
	var errs []error
	for _, w := range want {
		h, found := columnOf(have, w.Name)
		switch mode, wantMode := cmp.Or(h.Mode, "NULLABLE"), cmp.Or(w.Mode, "NULLABLE"); {
		case !found:
			errs = append(errs, fmt.Errorf("the column %s%s is missing", path, w.Name))
		case mode != wantMode:
			errs = append(errs, fmt.Errorf("the column %s%s must be %s, and is %s", path, w.Name, wantMode, mode))
		default:
			errs = append(errs, sameModes(h.Fields, w.Fields, path+w.Name+"."))
		}
	}
	return errors.Join(errs...)
}
