package bigquery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// ErrTooDear means that a query would read more than it may.
var ErrTooDear = errors.New("the query would read more than allowed")

// QueryOptions say who asks what, and how much it may cost.
type QueryOptions struct {
	Dataset     Dataset
	Billing     string // the project that pays; empty = the dataset's
	Endpoints   Endpoints
	Credentials oauth2.TokenSource // nil = those of the environment
	// MaxBytesBilled bounds what all queries together may read. 0 = unbounded. The service gets
	// it as the bound of each, of which it bills 10 MB at least.
	MaxBytesBilled int64
	// MaxBytesRead bounds it by the dry runs alone. 0 = unbounded.
	MaxBytesRead int64
	// Spent counts what they read, with other queriers' where they have the same; nil =
	// this querier's alone.
	Spent *Spent
	// Estimated is called before a query starts, with how much it reads at most.
	Estimated func(name string, bytes int64)
	// Waiting is called from time to time while a query runs.
	Waiting func(name string, since time.Duration)
}

// Querier runs queries on a dataset, each after a dry run that says what it reads.
type Querier struct {
	opts QueryOptions
	rest *REST
}

// NewQuerier prepares it; it does not connect.
func NewQuerier(opts QueryOptions) (*Querier, error) {
	if err := opts.Dataset.Check(); err != nil {
		return nil, err
	}
	if opts.Billing == "" {
		opts.Billing = opts.Dataset.Project
	}
	if err := (Dataset{opts.Billing, opts.Dataset.Name}).Check(); err != nil {
		return nil, fmt.Errorf("billing: %w", err)
	}
	if opts.Spent == nil {
		opts.Spent = new(Spent)
	}
	rest, err := NewREST(opts.Endpoints, sourceOf(opts.Credentials))
	if err != nil {
		return nil, err
	}
	return &Querier{opts: opts, rest: rest}, nil
}

// pollFor is how long the service keeps a question for results open.
const pollFor = 10 * time.Second

// Run runs one statement that reads; name is what it is called in messages.
func (q *Querier) Run(ctx context.Context, name, text string, args map[string]any) (*Answer, error) {
	params, err := arguments(args)
	if err != nil {
		return nil, err
	}
	job := &Job{Reference: JobReference{ProjectID: q.opts.Billing}}
	job.Configuration.Labels = map[string]string{"corehour": label(name)}
	job.Configuration.Query = &QueryConfig{
		Query:          text,
		DefaultDataset: &DatasetRef{q.opts.Dataset.Project, q.opts.Dataset.Name},
		ParameterMode:  "NAMED", Parameters: params,
	}
	// All requests about a job outside the US and the EU must name its location, also
	// where the answer that does is lost.
	if job.Reference.Location, err = q.estimate(ctx, name, *job); err != nil {
		return nil, err
	}
	if q.opts.MaxBytesBilled > 0 {
		job.Configuration.Query.MaximumBytesBilled = strconv.FormatInt(q.opts.MaxBytesBilled, 10)
	}
	var a *Answer
	err = q.rest.retry(ctx, func() (err error) {
		a, err = q.start(ctx, name, *job)
		return err
	}, jobPasses)
	return a, err
}

// start starts a job of its own and waits for its end.
func (q *Querier) start(ctx context.Context, name string, job Job) (*Answer, error) {
	job.Reference.JobID = "corehour_" + rand.Text() // so that a repeated request starts no second job
	started := job
	err := q.rest.do(ctx, call{method: http.MethodPost, url: q.rest.of(q.opts.Billing, "jobs"), body: &job}, &started)
	if err != nil && !HasStatus(err, http.StatusConflict) {
		return nil, err
	}
	a := &Answer{querier: q, job: job.Reference}
	if started.Reference.Location != "" {
		a.job.Location = started.Reference.Location
	}
	return a, a.begin(ctx, name)
}

// estimate asks what a query reads and whether it is one that only reads. The answer
// says where it runs.
func (q *Querier) estimate(ctx context.Context, name string, job Job) (location string, err error) {
	job.Configuration.DryRun = true
	var dry Job
	if err := q.rest.do(ctx, call{method: http.MethodPost, url: q.rest.of(q.opts.Billing, "jobs"), body: job}, &dry); err != nil {
		return "", err
	}
	if s := dry.Statistics.Query; s == nil || s.StatementType != "SELECT" {
		kind := "a statement of unknown kind"
		if s != nil {
			kind = s.StatementType
		}
		return "", fmt.Errorf("only statements that read are run: want one SELECT, found %s", kind)
	}
	n, err := strconv.ParseInt(dry.Statistics.TotalBytesProcessed, 10, 64)
	if err != nil {
		return "", fmt.Errorf("the dry run said nothing of bytes: %w", err)
	}
	if q.opts.Estimated != nil {
		q.opts.Estimated(name, n)
	}
	return dry.Reference.Location, q.opts.Spent.countQuery(name, n, q.opts.MaxBytesBilled, q.opts.MaxBytesRead)
}

// label is a name as labels may be: lower case, digits, dashes and underscores.
func label(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(cutText(name, 60)))
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, i := float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + units[i]
}

// Answer is the rows of a query, read page by page.
type Answer struct {
	Fields []Field

	querier *Querier
	job     JobReference
	page    Results
	next    int
}

// begin waits for the end of the query.
func (a *Answer) begin(ctx context.Context, name string) error {
	started := time.Now()
	for !a.page.JobComplete {
		if err := a.fetch(ctx); err != nil {
			if ctx.Err() != nil {
				a.cancel()
			}
			return err
		}
		if !a.page.JobComplete && a.querier.opts.Waiting != nil {
			a.querier.opts.Waiting(name, time.Since(started))
		}
	}
	if a.page.Schema == nil {
		return errors.New("the answer has no schema")
	}
	a.Fields = a.page.Schema.Fields
	return nil
}

func (a *Answer) fetch(ctx context.Context) error {
	ask := url.Values{"timeoutMs": {strconv.FormatInt(pollFor.Milliseconds(), 10)}, "formatOptions.useInt64Timestamp": {"true"}}
	if a.page.PageToken != "" {
		ask.Set("pageToken", a.page.PageToken)
	}
	if a.job.Location != "" {
		ask.Set("location", a.job.Location)
	}
	a.page, a.next = Results{}, 0
	return a.querier.rest.do(ctx, call{method: http.MethodGet,
		url: a.querier.rest.of(a.job.ProjectID, "queries", a.job.JobID) + "?" + ask.Encode()}, &a.page)
}

// cancelWithin bounds the attempt to stop a query that nobody waits for.
const cancelWithin = 3 * time.Second

func (a *Answer) cancel() {
	ctx, stop := context.WithTimeout(context.Background(), cancelWithin)
	defer stop()
	address := a.querier.rest.of(a.job.ProjectID, "jobs", a.job.JobID, "cancel")
	if a.job.Location != "" {
		address += "?location=" + url.QueryEscape(a.job.Location)
	}
	_ = a.querier.rest.once(ctx, call{method: http.MethodPost, url: address}, nil) // it ends by itself, too
}

// Next reads a row into values; false after the last.
func (a *Answer) Next(ctx context.Context, values []any) (bool, error) {
	for a.next == len(a.page.Rows) {
		if a.page.PageToken == "" {
			return false, nil
		}
		if err := a.fetch(ctx); err != nil {
			return false, err
		}
	}
	row := a.page.Rows[a.next]
	a.next++
	if len(row.F) != len(a.Fields) || len(values) != len(a.Fields) {
		return false, fmt.Errorf("a row has %d values, want %d", len(row.F), len(a.Fields))
	}
	for i, f := range a.Fields {
		v, err := valueOf(row.F[i].V, f)
		if err != nil {
			return false, fmt.Errorf("column %s: %w", f.Name, err)
		}
		values[i] = v
	}
	return true, nil
}
