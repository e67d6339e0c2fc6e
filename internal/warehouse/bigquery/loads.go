package bigquery

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LoadRun is a load job of a collector that has ended.
type LoadRun struct {
	Ended  time.Time
	Failed bool // it has stored nothing
	Rows   int64
	// RowsFrom is a time that all of its rows but one in 200 ended after.
	RowsFrom time.Time
}

// jobPages bounds how many pages of jobs are looked at, of a thousand each: a
// project's jobs can't be asked for by label.
const jobPages = 20

// Loads lists the load jobs into the dataset that were created in a time, the newest
// first. whole is false if the project has more jobs than are looked at.
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
		if err := q.rest.do(ctx, call{method: http.MethodGet, url: q.rest.of(project, "jobs") + "?" + ask.Encode()}, &page); err != nil {
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

// loadRun is false if a job is none of a collector for this table.
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
