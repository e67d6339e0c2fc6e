package warehouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/bigquery"
	"github.com/corehour/corehour/internal/parquet"
)

// BigQueryConfig says which table of BigQuery rows go to, and how.
type BigQueryConfig struct {
	// Project and Dataset name where the table method_calls is, or is made.
	Project string `mapstructure:"project"`
	Dataset string `mapstructure:"dataset"`
	// Directory is where the exporter remembers what it stored, and keeps the rows
	// that BigQuery refused. It is local, and one collector's.
	Directory string `mapstructure:"directory"`
	// PartitionExpiration is how long a table that the exporter makes keeps a date;
	// 0 = for ever.
	PartitionExpiration time.Duration `mapstructure:"partition_expiration"`
	// DeadLetterBytes is how much is kept of the rows that BigQuery refused.
	DeadLetterBytes int64 `mapstructure:"dead_letter_bytes"`
	// Endpoints are other addresses of the services than Google's own.
	Endpoints BigQueryEndpoints `mapstructure:"endpoints"`
}

// BigQueryEndpoints are addresses of the services; http:// sends no credentials
// and is for emulators.
type BigQueryEndpoints struct {
	API   string `mapstructure:"api"`
	Write string `mapstructure:"write"`
}

func defaultBigQuery() BigQueryConfig {
	return BigQueryConfig{
		Directory:       "./corehour-bigquery",
		DeadLetterBytes: bigquery.DefaultDeadLetters,
		Endpoints:       BigQueryEndpoints{API: bigquery.DefaultAPI, Write: bigquery.DefaultWriteAPI},
	}
}

const minPartitionExpiration = 24 * time.Hour

// Validate reports all faults at once.
func (c *BigQueryConfig) Validate() error {
	var errs []error
	if err := c.dataset().Check(); err != nil {
		errs = append(errs, fmt.Errorf("`project` and `dataset`: %w", err))
	}
	if c.Directory == "" {
		errs = append(errs, errors.New("`directory` must name a local directory, found nothing"))
	}
	if c.PartitionExpiration != 0 && c.PartitionExpiration < minPartitionExpiration {
		errs = append(errs, fmt.Errorf("`partition_expiration` must be 0 (for ever) or at least %s, found %s", minPartitionExpiration, c.PartitionExpiration))
	}
	if c.DeadLetterBytes <= 0 {
		errs = append(errs, fmt.Errorf("`dead_letter_bytes` must be positive, found %d", c.DeadLetterBytes))
	}
	return errors.Join(errs...)
}

func (c *BigQueryConfig) dataset() bigquery.Dataset {
	return bigquery.Dataset{Project: c.Project, Name: c.Dataset}
}

// openWithin bounds how long a start looks at the table.
const openWithin = time.Minute

func openBigQuery(cfg *Config) (sink, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	b := cfg.BigQuery.Get()
	return bigquery.NewWriter(ctx, bigquery.Options{
		Dataset:     b.dataset(),
		Endpoints:   bigquery.Endpoints{API: b.Endpoints.API, Write: b.Endpoints.Write},
		Directory:   b.Directory,
		DeadLetters: b.DeadLetterBytes,
		Expiration:  b.PartitionExpiration,
		Intake: parquet.Options{
			Late: cfg.Parquet.Late, Future: cfg.Parquet.Future,
			RememberFor: cfg.Parquet.RememberFor, RememberMax: cfg.Parquet.RememberMax,
		},
	})
}
