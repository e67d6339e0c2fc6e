package bigquery

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LoadRun is a finished load job of a collector.
type LoadRun struct {
	Ended  time.Time
	Failed bool // the job has stored nothing
	Rows   int64
	// RowsFrom is a time after which all but one in 200 of the rows ended.
	RowsFrom time.Time
}

// jobPages bounds how many pages of 1,000 jobs are read: the API can't filter a project's jobs by
// label.
const jobPages = 20

// Loads returns the load jobs into the dataset that were created between from and to, newest first.
// A zero to means now. whole is false if the project has more jobs than are read.
func (q *Querier) Loads(ctx context.Context, from, to time.Time) (runs []LoadRun, whole bool, err error) {
	ask := url.Values{
		"allUsers": {"true"}, "projection": {"full"}, "stateFilter": {"done"}, "maxResults": {"1000"},
		"minCreationTime": {strconv.FormatInt(from.UnixMilli(), 10)},
	}
	if !to.IsZero() {
		ask.Set("maxCreationTime", strconv.FormatInt(to.UnixMilli(), 10))
	}
	project := q.opts.Dataset.Project
	for range jobPages {
		var page JobList
		if err := q.rest.do(ctx, call{method: http.MethodGet, url: q.rest.projectURL(project, "jobs") + "?" + ask.Encode()}, &page); err != nil {
			return nil, false, err
		}
		for i := range page.Jobs {
			if run, ok := q.loadRun(&page.Jobs[i]); ok {
				runs = append(runs, run)
			}
		}
		if page.NextPageToken == "" {
			return runs, true, nil
		}
		ask.Set("pageToken", page.NextPageToken)
	}
	return runs, false, nil
}

// loadRun returns false if the job is not a collector's load job into this table.
func (q *Querier) loadRun(j *Job) (LoadRun, bool) {
	load, d := j.Configuration.Load, q.opts.Dataset
	if j.Configuration.Labels[labelJob] != labelIsLoad || load == nil || load.Destination != (TableReference{d.Project, d.Name, TableName}) {
		return LoadRun{}, false
	}
	ended, err := strconv.ParseInt(j.Statistics.EndTime, 10, 64)
	if err != nil {
		return LoadRun{}, false
	}
	run := LoadRun{Ended: time.UnixMilli(ended).UTC(), Failed: j.Status.ErrorResult != nil}
	if run.Failed {
		return run, true
	}
	from, err := strconv.ParseInt(j.Configuration.Labels[labelEnd], 10, 64)
	if err != nil {
		return LoadRun{}, false
	}
	run.RowsFrom = time.UnixMilli(from).UTC()
	run.Rows, _ = j.outputRows()
	return run, true
}
