package bigquery_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/bigquery"
)

// Only what the dry run calls a SELECT is run, whatever else a service answers.
func TestOnlySelectsAreRun(t *testing.T) {
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
