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

// TableName is the name of the table of rows, ViewName that of the view with their weights.
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

// Dataset identifies a dataset.
type Dataset struct{ Project, Name string }

func (d Dataset) String() string { return d.Project + "." + d.Name }

// table returns the full name of the table of rows.
func (d Dataset) table() string { return d.String() + "." + TableName }

// Qualify replaces PROJECT.DATASET in a statement by the name of the dataset.
func (d Dataset) Qualify(statement string) string {
	return strings.ReplaceAll(statement, "PROJECT.DATASET", d.String())
}

var (
	projectPattern = regexp.MustCompile(`^([a-z][a-z0-9.-]{0,61}[a-z0-9]:)?[a-z][a-z0-9-]{2,61}[a-z0-9]$`)
	datasetPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,1000}$`)
)

// Check returns an error if a name is invalid. Names are inserted into paths and statements, so no
// other characters are allowed.
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

// Endpoints are the addresses of the services. http:// is for tests and emulators: it uses no
// encryption and sends no credentials.
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

// Options configures a Writer or a Loader. Zero values stand for the defaults.
type Options struct {
	Dataset   Dataset
	Endpoints Endpoints
	// Credentials are the credentials to use; nil means the application default credentials.
	Credentials oauth2.TokenSource
	// Directory is the local directory of the journal and of refused rows. It has one writer.
	Directory string
	// DeadLetters bounds the size of the refused rows that are kept, in bytes.
	DeadLetters int64
	// Intake bounds the age of rows and the number of remembered items.
	Intake warehouse.IntakeOptions
	// Expiration is how long a table created by the writer keeps its partitions; 0 means for ever.
	Expiration time.Duration
	// Warn is called with warnings.
	Warn func(string)

	// Tests lower requestBytes and answerWithin.
	requestBytes int
	answerWithin time.Duration
	// firstPause is the pause before the first reconnect.
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
