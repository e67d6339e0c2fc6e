package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	const dataset = "/bigquery/v2/projects/{project}/datasets/{dataset}"
	mux.HandleFunc("GET "+dataset+"/tables/{table}", s.getTable)
	mux.HandleFunc("POST "+dataset+"/tables", s.insertTable)
	mux.HandleFunc("PATCH "+dataset+"/tables/{table}", s.patchTable)
	s.jobRoutes(mux)
	s.loadRoutes(mux)
	s.storageRoutes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.OnREST != nil {
			if code := s.OnREST(r.Method, r.URL.Path); code != 0 {
				reason := "backendError"
				if code == http.StatusForbidden {
					reason = "accessDenied"
				}
				fail(w, code, reason, "injected")
				return
			}
		}
		if s.LoseAnswer != nil && s.LoseAnswer(r.Method, r.URL.Path) {
			mux.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) newETag() string {
	s.made++
	return "etag-" + strconv.Itoa(s.made)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

func fail(w http.ResponseWriter, code int, reason, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	message := fmt.Sprintf(format, args...)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": code, "message": message, "errors": []any{map[string]any{"reason": reason, "message": message}},
	}})
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		fail(w, http.StatusBadRequest, "parseError", "%v", err)
		return false
	}
	return true
}

func reference(r *http.Request) bigquery.TableReference {
	return bigquery.TableReference{ProjectID: r.PathValue("project"), DatasetID: r.PathValue("dataset"), TableID: r.PathValue("table")}
}

func (s *Server) getTable(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[reference(r)]
	if t == nil {
		fail(w, http.StatusNotFound, "notFound", "not found: table %s", r.PathValue("table"))
		return
	}
	answer(w, t.Table)
}

func (s *Server) insertTable(w http.ResponseWriter, r *http.Request) {
	var made bigquery.Table
	if !read(w, r, &made) {
		return
	}
	if fault := checkTable(&made); fault != "" {
		fail(w, http.StatusBadRequest, "invalid", "%s", fault)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[made.Reference] != nil {
		fail(w, http.StatusConflict, "duplicate", "already exists")
		return
	}
	if p := made.TimePartitioning; p != nil && p.ExpirationMS == "" {
		p.ExpirationMS = s.DefaultExpirationMS
	}
	made.ETag, made.Type, made.Location = s.newETag(), "TABLE", Location
	s.tables[made.Reference] = &table{Table: made}
	answer(w, made)
}

func (s *Server) patchTable(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	var change bigquery.Table
	var given struct {
		TimePartitioning struct{ ExpirationMS json.RawMessage }
	}
	if !read(w, r, &body) || json.Unmarshal(body, &change) != nil || json.Unmarshal(body, &given) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[reference(r)]
	switch {
	case t == nil:
		fail(w, http.StatusNotFound, "notFound", "not found")
		return
	case r.Header.Get("If-Match") != t.ETag:
		fail(w, http.StatusPreconditionFailed, "conditionNotMet", "the table was changed")
		return
	}
	if change.Schema != nil {
		for i, f := range change.Schema.Fields {
			if i < len(t.Schema.Fields) && t.Schema.Fields[i].Name != f.Name {
				fail(w, http.StatusBadRequest, "invalid", "columns can't be taken out")
				return
			}
			if i >= len(t.Schema.Fields) && f.Mode == "REQUIRED" {
				fail(w, http.StatusBadRequest, "invalid", "the new column %s can't be required", f.Name)
				return
			}
		}
		t.Schema = change.Schema
	}
	if string(given.TimePartitioning.ExpirationMS) == "null" {
		t.TimePartitioning.ExpirationMS = ""
	}
	if change.View != nil {
		t.View = change.View
	}
	for k, v := range change.Labels {
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[k] = v
	}
	t.ETag = s.newETag()
	answer(w, t.Table)
}

// maxClustering is the maximum number of clustering columns of a table.
const maxClustering = 4

func checkTable(t *bigquery.Table) string {
	if t.Clustering != nil && len(t.Clustering.Fields) > maxClustering {
		return "a table can be clustered by at most 4 columns"
	}
	if p := t.TimePartitioning; p != nil {
		if c := columnOf(t.Schema.Fields, p.Field); c == nil || c.Type != "DATE" && c.Type != "TIMESTAMP" {
			return "the partition column must be a DATE or TIMESTAMP of the table"
		}
	}
	if t.Clustering != nil {
		for _, name := range t.Clustering.Fields {
			if c := columnOf(t.Schema.Fields, name); c == nil || c.Mode == "REPEATED" {
				return "there is no column " + name + " to cluster by"
			}
		}
	}
	return ""
}
