package fake

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// Location is the location of all datasets.
const Location = "EU"

// maxLabel is the maximum length of the value of a label.
const maxLabel = 63

func (s *Server) loadRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /bigquery/v2/projects/{project}/jobs/{job}", s.getJob)
	mux.HandleFunc("GET /bigquery/v2/projects/{project}/jobs", s.listJobs)
}

// insertLoad starts a load job. It stores either all rows of all files or none, immediately. The job is reported
// as ended only later.
func (s *Server) insertLoad(w http.ResponseWriter, j *job) {
	load := j.Configuration.Load
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := s.tables[load.Destination]; {
	case j.Reference.JobID == "" || j.Reference.Location != Location:
		fail(w, http.StatusBadRequest, "invalid", "want a job with an id, in %s", Location)
		return
	case load.SourceFormat != "PARQUET" || load.WriteDisposition != "WRITE_APPEND" || load.CreateDisposition != "CREATE_NEVER":
		fail(w, http.StatusBadRequest, "invalid", "want Parquet to be appended to a table that is there")
		return
	case len(load.SourceURIs) == 0 || len(load.SourceURIs) > 10_000:
		fail(w, http.StatusBadRequest, "invalid", "want 1 to 10,000 URIs, found %d", len(load.SourceURIs))
		return
	case slices.ContainsFunc(values(j.Configuration.Labels), badLabel):
		fail(w, http.StatusBadRequest, "invalid", "bad labels %v", j.Configuration.Labels)
		return
	case t == nil:
		fail(w, http.StatusNotFound, "notFound", "not found: table %v", load.Destination)
		return
	default:
		s.loads++
		j.Statistics.CreationTime = strconv.FormatInt(s.now().UnixMilli(), 10)
		rows, fault := s.runLoad(t, load)
		if s.OnLoad != nil && fault == nil {
			fault = s.OnLoad(s.loads)
		}
		if fault == nil {
			t.rows = append(t.rows, rows...)
			j.Statistics.Load = &bigquery.LoadStatistics{OutputRows: strconv.Itoa(len(rows))}
		}
		j.Statistics.EndTime = strconv.FormatInt(s.now().UnixMilli(), 10)
		j.Status.ErrorResult, j.Status.State = fault, "RUNNING"
	}
	s.jobs[j.Reference.JobID] = j
	answer(w, j.Job)
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Server) runLoad(t *table, load *bigquery.LoadConfig) ([]Row, *bigquery.JobError) {
	var all []Row
	for _, uri := range load.SourceURIs {
		data := s.object(uri)
		if data == nil {
			return nil, &bigquery.JobError{Reason: "notFound", Message: "Not found: URI " + uri}
		}
		rows, err := s.parsed[uri], error(nil)
		if rows == nil {
			rows, err = readParquet(data, t.Schema.Fields, load.ParquetOptions != nil && load.ParquetOptions.EnableListInference)
			s.parsed[uri] = rows // a cache for repeated jobs; no object is written twice
		}
		if err != nil {
			return nil, &bigquery.JobError{Reason: "invalid", Message: "Error while reading data, error message: " + err.Error()}
		}
		for _, row := range rows {
			if s.Refuse != nil {
				if why := s.Refuse(row); why != "" {
					return nil, &bigquery.JobError{Reason: "invalid", Message: why}
				}
			}
		}
		all = append(all, rows...)
	}
	return all, nil
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[r.PathValue("job")]
	if j == nil || r.URL.Query().Get("location") != Location {
		fail(w, http.StatusNotFound, "notFound", "no such job in this location")
		return
	}
	if j.asked++; j.asked > s.Polls {
		j.Status.State = "DONE"
	}
	shown := j.Job
	if shown.Status.State != "DONE" {
		shown.Status.ErrorResult, shown.Statistics.Load, shown.Statistics.EndTime = nil, nil, ""
	}
	answer(w, shown)
}

// listJobs lists all jobs, in pages of two.
func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ask := r.URL.Query()
	if ask.Get("projection") != "full" || ask.Get("allUsers") != "true" || ask.Get("stateFilter") != "done" {
		fail(w, http.StatusBadRequest, "invalid", "want all jobs of all users that have ended, in full")
		return
	}
	var names []string
	for name, j := range s.jobs {
		if created := j.Statistics.CreationTime; created == "" || created >= ask.Get("minCreationTime") && // equally long
			(ask.Get("maxCreationTime") == "" || created <= ask.Get("maxCreationTime")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	begin, _ := strconv.Atoi(ask.Get("pageToken"))
	end := min(begin+2, len(names))
	var page bigquery.JobList
	for _, name := range names[min(begin, end):end] {
		j := s.jobs[name].Job
		j.Status.State = "DONE"
		page.Jobs = append(page.Jobs, j)
	}
	if end < len(names) {
		page.NextPageToken = strconv.Itoa(end)
	}
	answer(w, page)
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func badLabel(v string) bool {
	if len(v) > maxLabel {
		return true
	}
	for _, r := range v {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return true
		}
	}
	return false
}

// Loads returns the number of load jobs started so far.
func (s *Server) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}
