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

// Fault is what goes wrong with one request to append rows.
type Fault int

const (
	None         Fault = iota
	AckLost            // the rows are stored, then the call breaks
	Unavailable        // the call breaks before
	Quota              // refused with RESOURCE_EXHAUSTED
	StreamGone         // the service forgets the stream
	StreamEnded        // the stream is finalized
	Internal           // refused with INTERNAL, though the rows are stored
	Stuck              // no answer until the call ends; the rows are stored
	Invalid            // the call ends with a bare INVALID_ARGUMENT, as all others to the stream
	Precondition       // refused with a bare FAILED_PRECONDITION, as all that follow on the stream
)

// Server is a project with whatever datasets are asked for.
type Server struct {
	storagepb.UnimplementedBigQueryWriteServer
	Endpoints bigquery.Endpoints

	// OnAppend chooses what goes wrong with the n-th request, from 1.
	OnAppend func(n int) Fault
	// OnFinalize may refuse to end a stream; nil lets it pass.
	OnFinalize func() error
	// Refuse says why a row is not taken, "" if it is.
	Refuse func(Row) string
	// OnREST may answer a request in the place of the server, by its HTTP status; 0
	// lets it pass.
	OnREST func(method, path string) int
	// LoseAnswer says which requests are done and then not answered.
	LoseAnswer func(method, path string) bool
	// OnLoad chooses what goes wrong with the n-th load job, from 1; nil is nothing.
	OnLoad func(n int) *bigquery.JobError
	// DefaultExpirationMS is the dataset's default of the expiration of partitions; "" is none.
	DefaultExpirationMS string
	// Polls is how often a load job is still running when it is asked for.
	Polls int
	// Now is when load jobs end.
	Now func() time.Time
	// OnQuery chooses the reason for which the n-th query fails once it runs, from 1; "" is none.
	OnQuery func(n int) string
	// QueryBytes is what every query is said to read; 0 = DryRunBytes.
	QueryBytes int64
	// Query answers queries.
	Query func(q Query) (*Result, error)

	mu      sync.Mutex
	tables  map[bigquery.TableReference]*table
	streams map[string]*stream
	appends int
	loads   int
	queries int
	made    int // streams and etags
	jobs    map[string]*job
	objects map[string][]byte
	parsed  map[string][]Row // by URI

	grpc *grpc.Server
	rest *httptest.Server
}

// Row is a row by column, as the table holds it: nil is NULL.
type Row map[string]any

type table struct {
	bigquery.Table
	rows    []Row
	dropped bool
}

// New starts a server that ends with the test.
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
		_ = s.grpc.Serve(listener) // it ends with Stop
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

// Rows are all rows of the table method_calls of a dataset.
func (s *Server) Rows(d bigquery.Dataset) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[bigquery.TableReference{ProjectID: d.Project, DatasetID: d.Name, TableID: bigquery.TableName}]
	if t == nil {
		return nil
	}
	return slices.Clone(t.rows)
}

// Table is what was made of a table; nil if there is none.
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

// PutTable makes a table, or replaces it, with the rows it has.
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

// Drop deletes a table, or a view.
func (s *Server) Drop(d bigquery.Dataset, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := bigquery.TableReference{ProjectID: d.Project, DatasetID: d.Name, TableID: name}
	s.tables[ref].dropped = true
	delete(s.tables, ref)
}

// Appends is how many requests to append came in.
func (s *Server) Appends() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appends
}
