package bigquery_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

// A statement is run only if the dry run classifies it as SELECT.
func TestQuerier_RefusesNonSelect(t *testing.T) {
	for statistics, want := range map[string]string{
		`{"totalBytesProcessed":"1","query":{"statementType":"DELETE"}}`: "want one SELECT, found DELETE",
		`{"totalBytesProcessed":"1","query":{"statementType":"SCRIPT"}}`: "want one SELECT, found SCRIPT",
		`{"totalBytesProcessed":"1"}`:                                    "want one SELECT, found a statement of unknown kind",
	} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.Contains(t, string(body), `"dryRun":true`)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jobReference":{"projectId":"project-1","jobId":"a"},"status":{"state":"DONE"},"statistics":`+statistics+`}`)
		}))
		q, err := bigquery.NewQuerier(bigquery.QueryOptions{
			Dataset: bigquery.Dataset{Project: "project-1", Name: "d"}, Endpoints: bigquery.Endpoints{API: s.URL},
		})
		require.NoError(t, err)
		_, err = q.Run(t.Context(), "user", "DELETE FROM method_calls WHERE true", nil)
		require.ErrorContains(t, err, want)
		assert.Equal(t, 1, asked)
		s.Close()
	}
}

// asker returns a querier of a fake service that answers every query with one row.
func asker(t *testing.T, s *fake.Server) *bigquery.Querier {
	t.Helper()
	s.Query = func(fake.Query) (*fake.Result, error) {
		return &fake.Result{Fields: []bigquery.Field{{Name: "n", Type: "INTEGER"}}, Rows: [][]any{{int64(7)}}}, nil
	}
	q, err := bigquery.NewQuerier(bigquery.QueryOptions{Dataset: dataset, Endpoints: s.Endpoints})
	require.NoError(t, err)
	return q
}

func isSeven(t *testing.T, q *bigquery.Querier) {
	t.Helper()
	a, err := q.Run(t.Context(), "seven", "SELECT 7 AS n", nil)
	require.NoError(t, err)
	values := make([]any, 1)
	ok, err := a.Next(t.Context(), values)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []any{int64(7)}, values)
}

// Results are requested with the location of the job, which is not the US, even if the answer that
// started the job is lost.
func TestQuerier_LostAnswerKeepsLocation(t *testing.T) {
	s := fake.New(t)
	jobs := 0
	s.LoseAnswer = func(method, _ string) bool {
		if method == http.MethodPost {
			jobs++
		}
		return method == http.MethodPost && jobs == 2 // the first is the dry run
	}
	isSeven(t, asker(t, s))
	assert.Equal(t, 3, jobs)
}

// Errors that are temporary by the service's table of errors are retried, up to a limit.
func TestQuerier_RetriesTemporaryErrors(t *testing.T) {
	for _, reason := range []string{"jobBackendError", "jobInternalError", "jobRateLimitExceeded"} {
		s := fake.New(t)
		jobs, failures := 0, 3
		s.OnQuery = func(n int) string {
			if jobs = n; n <= failures {
				return reason
			}
			return ""
		}
		q := asker(t, s)
		isSeven(t, q)
		assert.Equal(t, 4, jobs)
		failures = 100
		_, err := q.Run(t.Context(), "seven", "SELECT 7 AS n", nil)
		require.ErrorContains(t, err, reason)
		assert.Equal(t, 8, jobs)
	}
	for reason, status := range map[string]int{"backendError": 400, "internalError": 400, "rateLimitExceeded": 403} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"later","errors":[{"reason":"`+reason+`"}]}}`)
		}))
		q, err := bigquery.NewQuerier(bigquery.QueryOptions{Dataset: dataset, Endpoints: bigquery.Endpoints{API: s.URL}})
		require.NoError(t, err)
		_, err = q.Run(t.Context(), "seven", "SELECT 7 AS n", nil)
		require.ErrorContains(t, err, reason)
		assert.Equal(t, 4, asked, reason)
		s.Close()
	}
}

// A request without an answer times out and is sent again.
func TestQuerier_RequestTimeout(t *testing.T) {
	s := fake.New(t)
	var asked atomic.Int64
	s.OnREST = func(string, string) int {
		if asked.Add(1) == 2 {
			<-t.Context().Done()
		}
		return 0
	}
	q := asker(t, s)
	before := q.Within(50 * time.Millisecond)
	assert.True(t, before > 0 && before <= time.Minute, before)
	isSeven(t, q)
}
