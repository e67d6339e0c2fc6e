package fake

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// Query is a query for a test to answer.
type Query struct {
	Text       string
	Parameters []bigquery.NamedArgument
	DryRun     bool
}

// Result is the answer to a query. Its values have the types that package bigquery reads.
type Result struct {
	Fields []bigquery.Field
	Rows   [][]any
}

// DryRunBytes is the default of Server.QueryBytes.
const DryRunBytes = 123_456_789

// leastBilled is the minimum number of bytes billed for a query.
const leastBilled = 10 << 20

// pageRows is the number of rows per page of results.
const pageRows = 3

type job struct {
	bigquery.Job
	result *Result
	asked  int
	fails  string // reason of the failure, "" for none
}

func (s *Server) jobRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /bigquery/v2/projects/{project}/jobs", s.insertJob)
	mux.HandleFunc("GET /bigquery/v2/projects/{project}/queries/{job}", s.results)
	mux.HandleFunc("POST /bigquery/v2/projects/{project}/jobs/{job}/cancel", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{}) })
}

func (s *Server) insertJob(w http.ResponseWriter, r *http.Request) {
	var j job
	if !read(w, r, &j.Job) {
		return
	}
	s.mu.Lock()
	_, exists := s.jobs[j.Reference.JobID]
	s.mu.Unlock()
	if exists && !j.Configuration.DryRun {
		fail(w, http.StatusConflict, "duplicate", "already exists: job %s", j.Reference.JobID)
		return
	}
	if j.Configuration.Load != nil {
		s.insertLoad(w, &j)
		return
	}
	if j.Configuration.Query == nil || s.Query == nil {
		fail(w, http.StatusBadRequest, "invalid", "this server runs no such jobs")
		return
	}
	s.query(w, &j)
}

func (s *Server) query(w http.ResponseWriter, j *job) {
	q := j.Configuration.Query
	if q.UseLegacySQL || q.DefaultDataset == nil {
		fail(w, http.StatusBadRequest, "invalid", "want standard SQL and a default dataset")
		return
	}
	if strings.Contains(q.Query, bigquery.TableName) && !strings.Contains(q.Query, "event_date") {
		fail(w, http.StatusBadRequest, "invalidQuery", "Cannot query over table %q without a filter over column(s) 'event_date'", bigquery.TableName)
		return
	}
	read := cmp.Or(s.QueryBytes, DryRunBytes)
	if limit, err := strconv.ParseInt(q.MaximumBytesBilled, 10, 64); err == nil && limit < max(read, leastBilled) {
		fail(w, http.StatusBadRequest, "bytesBilledLimitExceeded", "Query exceeded limit for bytes billed: %d", limit)
		return
	}
	result, err := s.Query(Query{q.Query, q.Parameters, j.Configuration.DryRun})
	if err != nil {
		fail(w, http.StatusBadRequest, "invalidQuery", "%v", err)
		return
	}
	j.Statistics = bigquery.JobStatistics{TotalBytesProcessed: strconv.FormatInt(read, 10), Query: &bigquery.QueryStatistics{StatementType: "SELECT"}}
	j.Reference.Location = Location
	if j.Configuration.DryRun {
		j.Status.State = "DONE"
		answer(w, j.Job)
		return
	}
	j.result, j.Status.State = result, "RUNNING"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries++
	if s.OnQuery != nil {
		j.fails = s.OnQuery(s.queries)
	}
	s.jobs[j.Reference.JobID] = j
	answer(w, j.Job)
}

// results returns query results in small pages. The first request finds the job still running.
func (s *Server) results(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[r.PathValue("job")]
	if j == nil || r.URL.Query().Get("location") != Location {
		fail(w, http.StatusNotFound, "notFound", "no such job in this location")
		return
	}
	j.asked++
	if j.asked == 1 {
		answer(w, bigquery.Results{Reference: j.Reference})
		return
	}
	if j.fails != "" {
		fail(w, http.StatusBadRequest, j.fails, "the job has failed")
		return
	}
	begin, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
	end := min(begin+pageRows, len(j.result.Rows))
	page := bigquery.Results{JobComplete: true, Reference: j.Reference, Schema: &bigquery.Schema{Fields: j.result.Fields}}
	for _, row := range j.result.Rows[begin:end] {
		page.Rows = append(page.Rows, encodeRow(row, j.result.Fields))
	}
	if end < len(j.result.Rows) {
		page.PageToken = strconv.Itoa(end)
	}
	answer(w, page)
}

func encodeRow(row []any, fields []bigquery.Field) bigquery.ResultRow {
	var out bigquery.ResultRow
	for i, v := range row {
		out.F = append(out.F, bigquery.ResultValue{V: encode(v, fields[i])})
	}
	return out
}

func encode(v any, f bigquery.Field) any {
	switch x := v.(type) {
	case nil:
		if f.Mode == "REPEATED" {
			return []any{}
		}
		return nil
	case []any:
		element := f
		element.Mode = ""
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = bigquery.ResultValue{V: encode(e, element)}
		}
		return list
	case map[string]any:
		values := make([]any, len(f.Fields))
		for i, field := range f.Fields {
			values[i] = x[field.Name]
		}
		return encodeRow(values, f.Fields)
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case time.Time:
		if f.Type == "DATE" {
			return x.Format(time.DateOnly)
		}
		return strconv.FormatInt(x.UnixMicro(), 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case *big.Int:
		return x.String()
	default:
		return fmt.Sprint(x)
	}
}
