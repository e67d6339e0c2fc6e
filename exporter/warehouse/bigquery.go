package warehouse

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// BigQueryConfig configures the BigQuery table that rows are stored in, and the way they get there.
type BigQueryConfig struct {
	// Project and Dataset hold the table method_calls, which is created if missing.
	Project string `mapstructure:"project"`
	Dataset string `mapstructure:"dataset"`
	// Mode is the way rows get into the table: storage_write or load.
	Mode string `mapstructure:"mode"`
	// Load configures load jobs.
	Load configoptional.Optional[BigQueryLoadConfig] `mapstructure:"load"`
	// Directory is a local directory of this collector alone. It holds the ids of stored items, the rows
	// that wait for load jobs and the rows that BigQuery refused.
	Directory string `mapstructure:"directory"`
	// PartitionExpiration is how long a table created by the exporter keeps a date; 0 means without limit.
	PartitionExpiration units.Duration `mapstructure:"partition_expiration"`
	// DeadLetterBytes bounds the kept rows that BigQuery refused.
	DeadLetterBytes units.Bytes `mapstructure:"dead_letter_bytes"`
	// Endpoints replace Google's addresses of the services.
	Endpoints BigQueryEndpoints `mapstructure:"endpoints"`
}

// BigQueryEndpoints are addresses of the services.
type BigQueryEndpoints struct {
	// API, Write and Storage are the addresses of the services; http:// sends no credentials and is for emulators.
	API     string `mapstructure:"api"`
	Write   string `mapstructure:"write"`
	Storage string `mapstructure:"storage"`
}

func defaultBigQuery() BigQueryConfig {
	return BigQueryConfig{
		Mode:            ModeStorageWrite,
		Load:            configoptional.Default(defaultBigQueryLoad()),
		Directory:       "./corehour-bigquery",
		DeadLetterBytes: bigquery.DefaultDeadLetters,
		Endpoints:       BigQueryEndpoints{API: bigquery.DefaultAPI, Write: bigquery.DefaultWriteAPI, Storage: bigquery.DefaultStorageAPI},
	}
}

const minPartitionExpiration = 24 * time.Hour

// Validate reports all faults at once.
func (c *BigQueryConfig) Validate() error {
	var f faults
	err := c.dataset().Check()
	f.require(err == nil, "`project` and `dataset`: %w", err)
	c.validateMode(&f)
	f.require(c.Directory != "", "`directory` must name a local directory, found nothing")
	f.require(c.PartitionExpiration == 0 || time.Duration(c.PartitionExpiration) >= minPartitionExpiration,
		"`partition_expiration` must be 0 (for ever) or at least %s, found %s", minPartitionExpiration, c.PartitionExpiration)
	f.require(c.DeadLetterBytes > 0, "`dead_letter_bytes` must be positive, found %d", c.DeadLetterBytes)
	for _, e := range [...]struct{ key, address, example string }{
		{"api", c.Endpoints.API, bigquery.DefaultAPI}, {"write", c.Endpoints.Write, bigquery.DefaultWriteAPI}, {"storage", c.Endpoints.Storage, bigquery.DefaultStorageAPI},
	} {
		if e.address == "" {
			continue // the default
		}
		err := bigquery.CheckEndpoint(e.address, e.example)
		f.require(err == nil, "`endpoints::%s`: %w", e.key, err)
	}
	return errors.Join(f...)
}

func (c *BigQueryConfig) dataset() bigquery.Dataset {
	return bigquery.Dataset{Project: c.Project, Name: c.Dataset}
}

// openWithin bounds the time that Start takes to check the table.
const openWithin = time.Minute

func openBigQuery(cfg *Config, warn func(string)) (warehouse.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	b := cfg.BigQuery.Get()
	options := bigquery.Options{
		Dataset:     b.dataset(),
		Endpoints:   bigquery.Endpoints{API: b.Endpoints.API, Write: b.Endpoints.Write, Storage: b.Endpoints.Storage},
		Directory:   b.Directory,
		DeadLetters: int64(b.DeadLetterBytes),
		Expiration:  time.Duration(b.PartitionExpiration),
		Warn:        warn,
		Intake: warehouse.IntakeOptions{
			Late: time.Duration(cfg.Parquet.Late), Future: time.Duration(cfg.Parquet.Future),
			RememberFor: time.Duration(cfg.Parquet.RememberFor), RememberMax: cfg.Parquet.RememberMax,
		},
	}
	if b.Mode == ModeLoad {
		load := b.Load.Get().options()
		load.MinFree = int64(cfg.Disk.MinFreeBytes)
		return bigquery.NewLoader(ctx, options, load)
	}
	return bigquery.NewWriter(ctx, options)
}
