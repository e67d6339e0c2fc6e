package bigquery

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/corehour/corehour/internal/warehouse"
)

// TableName is the name of the table of rows in its dataset, ViewName that of
// the view with their weights.
const (
	TableName = "method_calls"
	ViewName  = "method_cost"
)

// Defaults of Options.
const (
	DefaultAPI         = "https://bigquery.googleapis.com"
	DefaultWriteAPI    = "https://bigquerystorage.googleapis.com"
	DefaultStorageAPI  = "https://storage.googleapis.com"
	DefaultDeadLetters = 16 << 20
)

// Dataset names where the table is.
type Dataset struct{ Project, Name string }

func (d Dataset) String() string { return d.Project + "." + d.Name }

// table is the full name of the table of rows.
func (d Dataset) table() string { return d.String() + "." + TableName }

// Qualify puts the names into a statement that says PROJECT.DATASET.
func (d Dataset) Qualify(statement string) string {
	return strings.ReplaceAll(statement, "PROJECT.DATASET", d.String())
}

var (
	projectPattern = regexp.MustCompile(`^([a-z][a-z0-9.-]{0,61}[a-z0-9]:)?[a-z][a-z0-9-]{2,61}[a-z0-9]$`)
	datasetPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,1000}$`)
)

// Check says what is wrong with the names. They stand in paths and statements,
// so nothing else may.
func (d Dataset) Check() error {
	var errs []error
	if !projectPattern.MatchString(d.Project) {
		errs = append(errs, fmt.Errorf("the project must be the id of a Google Cloud project, as my-project-1; found %q", d.Project))
	}
	if !datasetPattern.MatchString(d.Name) {
		errs = append(errs, fmt.Errorf("the dataset must be letters, digits and underscores; found %q", d.Name))
	}
	return errors.Join(errs...)
}

// Endpoints are where the services are. http:// is for tests and emulators:
// without encryption and without credentials.
type Endpoints struct {
	API     string // BigQuery's REST API
	Write   string // the Storage Write API
	Storage string // Cloud Storage's JSON API
}

func (e Endpoints) withDefaults() Endpoints {
	e.API = cmp.Or(e.API, DefaultAPI)
	e.Write = cmp.Or(e.Write, DefaultWriteAPI)
	e.Storage = cmp.Or(e.Storage, DefaultStorageAPI)
	return e
}

// Options of a Writer. Zero values stand for the defaults.
type Options struct {
	Dataset   Dataset
	Endpoints Endpoints
	// Credentials are those of the environment if nil.
	Credentials oauth2.TokenSource
	// Directory is where the writer remembers what it stored, and keeps the rows
	// that were refused. One writer per directory.
	Directory string
	// DeadLetters is how many bytes of refused rows are kept.
	DeadLetters int64
	// Intake bounds the age of rows and the memory of items.
	Intake warehouse.IntakeOptions
	// Expiration is how long partitions are kept in a table that the writer
	// creates; 0 = for ever.
	Expiration time.Duration
	// Warn is given what somebody should know though nothing fails.
	Warn func(string)

	// requestBytes and answerWithin are smaller in tests.
	requestBytes int
	answerWithin time.Duration
	// firstPause is that before the first of the attempts to reconnect.
	firstPause time.Duration
}

func (o Options) withDefaults() Options {
	o.Endpoints = o.Endpoints.withDefaults()
	o.DeadLetters = cmp.Or(o.DeadLetters, DefaultDeadLetters)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Intake.Now == nil {
		o.Intake.Now = time.Now
	}
	o.requestBytes = cmp.Or(o.requestBytes, maxRequestBytes-requestHeaderAtMost-len(writerSchema()))
	o.answerWithin = cmp.Or(o.answerWithin, time.Minute)
	o.firstPause = cmp.Or(o.firstPause, 100*time.Millisecond)
	return o
}
