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

const (
	// labelJob marks our jobs with the value labelIsLoad. labelEnd is a time in ms since 1970 after
	// which all but one in 200 of the job's rows ended.
	labelJob    = "corehour"
	labelIsLoad = "load"
	labelEnd    = "corehour_ended_ms"
)

// startJob sends a job to the service. A job that the service already has is not started twice.
func (l *Loader) startJob(ctx context.Context, p *loadPlan) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.answerWithin)
	defer cancel()
	l.mu.Lock()
	end := jobEndNS(l.journal.filesNamed(p.Files))
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
	err := l.rest.do(ctx, call{method: http.MethodPost, url: l.rest.projectURL(l.opts.Dataset.Project, "jobs"), body: job}, nil)
	if err == nil || HasStatus(err, http.StatusConflict) {
		return nil
	}
	e := l.fail("start a load job", nil, err)
	if HasStatus(err, http.StatusNotFound) {
		return multierr.Append(e, l.opts.recreateTable(ctx, l.rest))
	}
	if HasStatus(err, http.StatusForbidden) {
		e.Hint = "the account needs roles/bigquery.jobUser on the project and roles/bigquery.dataEditor on the dataset"
	}
	return e
}

// jobEndNS returns a time in ns since 1970 after which all but one in 200 of the rows ended. It
// skips the oldest files while they hold at most one in 400 of the rows; each remaining file skips
// one in 400 of its own.
func jobEndNS(files []*spooledFile) int64 {
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

// getJob returns a job.
func (r *REST) getJob(ctx context.Context, d Dataset, id, location string) (*Job, error) {
	address := r.projectURL(d.Project, "jobs", id)
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

// checkLoadable checks that the table accepts our files, and returns its location. A load job
// refuses a column that is required in the file and nullable in the table, or the reverse.
func (r *REST) checkLoadable(ctx context.Context, d Dataset) (location string, err error) {
	table, err := r.Table(ctx, d, TableName)
	if err != nil {
		return "", err
	}
	if err := checkModes(table.Schema.Fields, newTable(d, 0).Schema.Fields, ""); err != nil {
		return "", &warehouse.Error{Op: "compare the table with the files to load", Path: d.table(), Err: err,
			Hint: "let the exporter create a new table, in this or another dataset, or use `mode: storage_write`"}
	}
	return table.Location, nil
}

// checkModes compares the modes of the columns and of their fields. path is put in front of column
// names in errors.
func checkModes(have, want []Field, path string) error {
	var errs []error
	for _, w := range want {
		h, found := findField(have, w.Name)
		switch mode, wantMode := cmp.Or(h.Mode, "NULLABLE"), cmp.Or(w.Mode, "NULLABLE"); {
		case !found:
			errs = append(errs, fmt.Errorf("the column %s%s is missing", path, w.Name))
		case mode != wantMode:
			errs = append(errs, fmt.Errorf("the column %s%s must be %s, found %s", path, w.Name, wantMode, mode))
		default:
			errs = append(errs, checkModes(h.Fields, w.Fields, path+w.Name+"."))
		}
	}
	return errors.Join(errs...)
}
