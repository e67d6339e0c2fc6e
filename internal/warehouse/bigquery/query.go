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

// ErrQueryTooLarge means that a query would read more bytes than allowed.
var ErrQueryTooLarge = errors.New("the query would read more than allowed")

// QueryOptions configures a Querier.
type QueryOptions struct {
	Dataset     Dataset
	Billing     string // the project that pays; empty means the dataset's project
	Endpoints   Endpoints
	Credentials oauth2.TokenSource // nil means the application default credentials
	// MaxBytesBilled bounds the bytes of all queries together; 0 means no limit. The service also
	// gets it as the limit of each query, of which it bills at least 10 MB.
	MaxBytesBilled int64
	// MaxBytesRead bounds the bytes of all queries together, by their dry runs alone; 0 means no
	// limit.
	MaxBytesRead int64
	// Spent counts the bytes of queries. Queriers that share it share the limits. nil means a
	// counter of its own.
	Spent *Spent
	// Estimated is called before a query starts, with an upper bound of the bytes that it reads.
	Estimated func(name string, bytes int64)
	// Waiting is called from time to time while a query runs.
	Waiting func(name string, since time.Duration)
}

// Querier runs queries on a dataset, each after a dry run that estimates the bytes it reads.
type Querier struct {
	opts QueryOptions
	rest *REST
}

// NewQuerier creates a Querier. It does not connect.
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
	rest, err := NewREST(opts.Endpoints, credentialSource(opts.Credentials))
	if err != nil {
		return nil, err
	}
	return &Querier{opts: opts, rest: rest}, nil
}

// pollFor is how long the service holds a request for results open.
const pollFor = 10 * time.Second

// Run runs one SELECT statement. name identifies it in messages.
func (q *Querier) Run(ctx context.Context, name, text string, args map[string]any) (*Answer, error) {
	params, err := namedArguments(args)
	if err != nil {
		return nil, err
	}
	job := &Job{Reference: JobReference{ProjectID: q.opts.Billing}}
	job.Configuration.Labels = map[string]string{"corehour": jobLabel(name)}
	job.Configuration.Query = &QueryConfig{
		Query:          text,
		DefaultDataset: &DatasetRef{q.opts.Dataset.Project, q.opts.Dataset.Name},
		ParameterMode:  "NAMED", Parameters: params,
	}
	// Requests about a job outside the US and the EU must name its location. The dry run returns
	// it, so it is known even if the answer to the start is lost.
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
	}, jobIsTemporary)
	return a, err
}

// start starts a job with an id of its own and waits for its end.
func (q *Querier) start(ctx context.Context, name string, job Job) (*Answer, error) {
	job.Reference.JobID = "corehour_" + rand.Text() // a repeated request starts no second job
	started := job
	err := q.rest.do(ctx, call{method: http.MethodPost, url: q.rest.projectURL(q.opts.Billing, "jobs"), body: &job}, &started)
	if err != nil && !HasStatus(err, http.StatusConflict) {
		return nil, err
	}
	a := &Answer{querier: q, job: job.Reference}
	if started.Reference.Location != "" {
		a.job.Location = started.Reference.Location
	}
	return a, a.awaitEnd(ctx, name)
}

// estimate makes a dry run: it checks that the statement only reads, counts the bytes against the
// limits, and returns the location of the job.
func (q *Querier) estimate(ctx context.Context, name string, job Job) (location string, err error) {
	job.Configuration.DryRun = true
	var dry Job
	if err := q.rest.do(ctx, call{method: http.MethodPost, url: q.rest.projectURL(q.opts.Billing, "jobs"), body: job}, &dry); err != nil {
		return "", err
	}
	if s := dry.Statistics.Query; s == nil || s.StatementType != "SELECT" {
		kind := "a statement of unknown kind"
		if s != nil {
			kind = s.StatementType
		}
		return "", fmt.Errorf("only statements that read are allowed: want one SELECT, found %s", kind)
	}
	n, err := strconv.ParseInt(dry.Statistics.TotalBytesProcessed, 10, 64)
	if err != nil {
		return "", fmt.Errorf("the dry run returned no number of bytes: %w", err)
	}
	if q.opts.Estimated != nil {
		q.opts.Estimated(name, n)
	}
	return dry.Reference.Location, q.opts.Spent.countQuery(name, n, q.opts.MaxBytesBilled, q.opts.MaxBytesRead)
}

// jobLabel converts a name to the characters that a label can have: lower case letters, digits,
// dashes and underscores.
func jobLabel(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(cutText(name, 60)))
}

// Bytes formats a number of bytes, such as "1.5 GB".
func Bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, i := float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + units[i]
}

// Answer holds the rows of a query, which are read page by page.
type Answer struct {
	Fields []Field

	querier *Querier
	job     JobReference
	page    Results
	next    int
}

// awaitEnd waits for the end of the query and fetches the first page.
func (a *Answer) awaitEnd(ctx context.Context, name string) error {
	started := time.Now()
	for !a.page.JobComplete {
		if err := a.fetchPage(ctx); err != nil {
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

func (a *Answer) fetchPage(ctx context.Context) error {
	ask := url.Values{"timeoutMs": {strconv.FormatInt(pollFor.Milliseconds(), 10)}, "formatOptions.useInt64Timestamp": {"true"}}
	if a.page.PageToken != "" {
		ask.Set("pageToken", a.page.PageToken)
	}
	if a.job.Location != "" {
		ask.Set("location", a.job.Location)
	}
	a.page, a.next = Results{}, 0
	return a.querier.rest.do(ctx, call{method: http.MethodGet,
		url: a.querier.rest.projectURL(a.job.ProjectID, "queries", a.job.JobID) + "?" + ask.Encode()}, &a.page)
}

// cancelWithin bounds the request that cancels a query.
const cancelWithin = 3 * time.Second

func (a *Answer) cancel() {
	ctx, stop := context.WithTimeout(context.Background(), cancelWithin)
	defer stop()
	address := a.querier.rest.projectURL(a.job.ProjectID, "jobs", a.job.JobID, "cancel")
	if a.job.Location != "" {
		address += "?location=" + url.QueryEscape(a.job.Location)
	}
	_ = a.querier.rest.sendOnce(ctx, call{method: http.MethodPost, url: address}, nil) // if this fails, the query ends by itself
}

// Next reads the next row into values. It returns false after the last row.
func (a *Answer) Next(ctx context.Context, values []any) (bool, error) {
	for a.next == len(a.page.Rows) {
		if a.page.PageToken == "" {
			return false, nil
		}
		if err := a.fetchPage(ctx); err != nil {
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
