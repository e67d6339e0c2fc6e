package fake

import (
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// Fault is an error injected into one request to append rows.
type Fault int

const (
	None         Fault = iota
	AckLost            // the rows are stored, then the call breaks
	Unavailable        // the call breaks before the rows are stored
	Quota              // refused with RESOURCE_EXHAUSTED
	StreamGone         // the service forgets the stream
	StreamEnded        // the stream is finalized
	Internal           // refused with INTERNAL, though the rows are stored
	Stuck              // no answer until the call ends; the rows are stored
	Invalid            // the call ends with a bare INVALID_ARGUMENT; so do all later requests on the stream
	Precondition       // refused with a bare FAILED_PRECONDITION; so are all later requests on the stream
)

// Server is a fake BigQuery project. It has every dataset that is requested.
type Server struct {
	storagepb.UnimplementedBigQueryWriteServer
	Endpoints bigquery.Endpoints

	// OnAppend returns the fault of the n-th append request, counted from 1.
	OnAppend func(n int) Fault
	// OnFinalize can return an error to refuse ending a stream. If it is nil, no request is refused.
	OnFinalize func() error
	// Refuse returns the reason to reject a row, or "" to accept it.
	Refuse func(Row) string
	// OnREST can answer a request in place of the server: it returns the HTTP status, or 0 for a normal answer.
	OnREST func(method, path string) int
	// LoseAnswer reports whether a request is processed but not answered.
	LoseAnswer func(method, path string) bool
	// OnLoad returns the error of the n-th load job, counted from 1, or nil.
	OnLoad func(n int) *bigquery.JobError
	// DefaultExpirationMS is the dataset's default partition expiration, "" for none.
	DefaultExpirationMS string
	// Polls is the number of status requests that find a load job still running.
	Polls int
	// Now returns the time at which a load job ends.
	Now func() time.Time
	// OnQuery returns the reason for which the n-th query fails while it runs, counted from 1, or "".
	OnQuery func(n int) string
	// QueryBytes is the number of bytes that every query reports as read; 0 = DryRunBytes.
	QueryBytes int64
	// Query answers queries.
	Query func(q Query) (*Result, error)

	mu      sync.Mutex
	tables  map[bigquery.TableReference]*table
	streams map[string]*stream
	appends int
	loads   int
	queries int
	made    int // number of streams and etags created so far
	jobs    map[string]*job
	objects map[string][]byte
	parsed  map[string][]Row // by URI

	grpc *grpc.Server
	rest *httptest.Server
}

// Row is a row of the table, by column. nil is NULL.
type Row map[string]any

type table struct {
	bigquery.Table
	rows    []Row
	dropped bool
}

// New starts a server that stops at the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		tables: map[bigquery.TableReference]*table{}, streams: map[string]*stream{},
		jobs: map[string]*job{}, objects: map[string][]byte{}, parsed: map[string][]Row{},
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(4 * maxRequest))
	storagepb.RegisterBigQueryWriteServer(s.grpc, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.grpc.Serve(listener) // returns after Stop
	}()
	s.rest = httptest.NewServer(s.routes())
	s.Endpoints = bigquery.Endpoints{API: s.rest.URL, Storage: s.rest.URL, Write: "http://" + listener.Addr().String()}
	t.Cleanup(func() {
		s.grpc.Stop()
		<-done
		s.rest.Close()
	})
	return s
}

// Rows returns all rows of the table method_calls of a dataset.
func (s *Server) Rows(d bigquery.Dataset) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[bigquery.TableReference{ProjectID: d.Project, DatasetID: d.Name, TableID: bigquery.TableName}]
	if t == nil {
		return nil
	}
	return slices.Clone(t.rows)
}

// Table returns the definition of a table, or nil if there is none.
func (s *Server) Table(d bigquery.Dataset, name string) *bigquery.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[bigquery.TableReference{ProjectID: d.Project, DatasetID: d.Name, TableID: name}]
	if t == nil {
		return nil
	}
	made := t.Table
	return &made
}

// PutTable creates a table or replaces its definition. A replaced table keeps its rows.
func (s *Server) PutTable(made bigquery.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made.ETag = s.newETag()
	clear(s.parsed)
	if t := s.tables[made.Reference]; t != nil {
		t.Table = made
		return
	}
	s.tables[made.Reference] = &table{Table: made}
}

// Drop deletes a table or a view.
func (s *Server) Drop(d bigquery.Dataset, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := bigquery.TableReference{ProjectID: d.Project, DatasetID: d.Name, TableID: name}
	s.tables[ref].dropped = true
	delete(s.tables, ref)
}

// Appends returns the number of append requests received so far.
func (s *Server) Appends() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appends
}
