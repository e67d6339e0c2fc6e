package bigquery

// Job is a job of the REST API, with the fields used here.
type Job struct {
	Reference     JobReference     `json:"jobReference"`
	Configuration JobConfiguration `json:"configuration"`
	Status        JobStatus        `json:"status"`
	Statistics    JobStatistics    `json:"statistics"`
}

// JobList is one page of a project's jobs.
type JobList struct {
	Jobs          []Job  `json:"jobs,omitempty"`
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// JobReference identifies a job.
type JobReference struct {
	ProjectID string `json:"projectId"`
	JobID     string `json:"jobId,omitempty"`
	Location  string `json:"location,omitempty"`
}

// JobConfiguration is the task of a job.
type JobConfiguration struct {
	DryRun bool              `json:"dryRun,omitempty"`
	Query  *QueryConfig      `json:"query,omitempty"`
	Load   *LoadConfig       `json:"load,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// QueryConfig is a query to run.
type QueryConfig struct {
	Query              string          `json:"query"`
	UseLegacySQL       bool            `json:"useLegacySql"`
	DefaultDataset     *DatasetRef     `json:"defaultDataset,omitempty"`
	MaximumBytesBilled string          `json:"maximumBytesBilled,omitempty"`
	ParameterMode      string          `json:"parameterMode,omitempty"`
	Parameters         []NamedArgument `json:"queryParameters,omitempty"`
}

// LoadConfig lists files to load into a table.
type LoadConfig struct {
	SourceURIs        []string        `json:"sourceUris"`
	SourceFormat      string          `json:"sourceFormat"`
	Destination       TableReference  `json:"destinationTable"`
	WriteDisposition  string          `json:"writeDisposition"`
	CreateDisposition string          `json:"createDisposition"`
	ParquetOptions    *ParquetOptions `json:"parquetOptions,omitempty"`
}

// ParquetOptions configures how Parquet files are read.
type ParquetOptions struct {
	EnableListInference bool `json:"enableListInference"`
}

// DatasetRef identifies a dataset.
type DatasetRef struct {
	ProjectID string `json:"projectId"`
	DatasetID string `json:"datasetId"`
}

// JobStatus is the progress of a job.
type JobStatus struct {
	State       string    `json:"state"` // PENDING, RUNNING, DONE
	ErrorResult *JobError `json:"errorResult,omitempty"`
}

// JobError is the reason why a job failed.
type JobError struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// JobStatistics are the figures of a job. Times are in milliseconds since 1970.
type JobStatistics struct {
	CreationTime        string           `json:"creationTime,omitempty"`
	EndTime             string           `json:"endTime,omitempty"`
	TotalBytesProcessed string           `json:"totalBytesProcessed,omitempty"`
	Query               *QueryStatistics `json:"query,omitempty"`
	Load                *LoadStatistics  `json:"load,omitempty"`
}

// LoadStatistics are the figures of a load job.
type LoadStatistics struct {
	OutputRows string `json:"outputRows,omitempty"`
}

// QueryStatistics are the figures of a query job.
type QueryStatistics struct {
	StatementType string `json:"statementType"`
}

// Results is one page of a query's results.
type Results struct {
	JobComplete bool         `json:"jobComplete"`
	Schema      *Schema      `json:"schema,omitempty"`
	Rows        []ResultRow  `json:"rows,omitempty"`
	PageToken   string       `json:"pageToken,omitempty"`
	Reference   JobReference `json:"jobReference"`
}

// ResultRow is one row. Its values are strings, lists of values, or rows.
type ResultRow struct {
	F []ResultValue `json:"f"`
}

// ResultValue is one value.
type ResultValue struct {
	V any `json:"v"`
}

// NamedArgument is a query parameter with its name.
type NamedArgument struct {
	Name  string   `json:"name"`
	Type  ArgType  `json:"parameterType"`
	Value ArgValue `json:"parameterValue"`
}

// ArgType is the type of a query parameter.
type ArgType struct {
	Type        string     `json:"type"`
	ArrayType   *ArgType   `json:"arrayType,omitempty"`
	StructTypes []ArgField `json:"structTypes,omitempty"`
}

// ArgField is a field of a struct.
type ArgField struct {
	Name string  `json:"name"`
	Type ArgType `json:"type"`
}

// ArgValue is the value of a query parameter. With no field set it is NULL.
type ArgValue struct {
	Value        *string             `json:"value,omitempty"`
	ArrayValues  []ArgValue          `json:"arrayValues,omitempty"`
	StructValues map[string]ArgValue `json:"structValues,omitempty"`
}
