package warehouse

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Values of on_full.
const (
	// Drop accepts a request that the queue refuses and aggregates it in the overflow table.
	Drop = "drop"
	// Reject returns the refusal to the client, who may retry.
	Reject = "reject"
)

// Config is the configuration of the exporter.
type Config struct {
	// Path is the directory of the warehouse. It is created if it is missing.
	Path string `mapstructure:"path"`
	// BigQuery is, if set, the destination of rows instead of Path.
	BigQuery configoptional.Optional[BigQueryConfig] `mapstructure:"bigquery"`
	// Bucket is, if set, the object store that the directory is uploaded to.
	Bucket configoptional.Optional[BucketConfig] `mapstructure:"bucket"`
	// OnFull selects the handling of a request when the queue is full: drop aggregates it, reject returns it to the
	// client.
	OnFull string `mapstructure:"on_full"`
	// Queue is the bounded queue in front of the writer. Its unit is rows.
	Queue exporterhelper.QueueBatchConfig `mapstructure:"sending_queue"`
	// Retry configures the retries of a failed write.
	Retry configretry.BackOffConfig `mapstructure:"retry"`
	// ShutdownTimeout bounds the time that a shutdown takes to write queued rows. The remaining rows are
	// aggregated and written last.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout"`
	// Fold bounds the overflow table, which aggregates rows that could not be stored one by one.
	Fold FoldConfig `mapstructure:"fold"`
	// Parquet are the options of the directory's writer.
	Parquet ParquetConfig `mapstructure:"parquet"`
	// IDs selects the rows that keep the ids of their trace and request: all, exemplar (errors, the tail and 2% of
	// traces) or none.
	IDs string `mapstructure:"ids"`
	// Disk are the limits of the directory.
	Disk DiskConfig `mapstructure:"disk"`
	// Maintenance configures how files are merged, rolled up and expired.
	Maintenance MaintenanceConfig `mapstructure:"maintenance"`
}

// FoldConfig bounds the overflow table.
type FoldConfig struct {
	// MaxCells is the maximum number of cells in the table, coarse cells not counted.
	MaxCells int `mapstructure:"max_cells"`
}

// ParquetConfig are the options of the embedded store.
type ParquetConfig struct {
	// Late is the maximum age of a row when it is written.
	Late units.Duration `mapstructure:"late"`
	// Future is how far ahead of the collector's clock a row may start.
	Future units.Duration `mapstructure:"future"`
	// Grace is how long files stay on disk for readers after they were replaced.
	Grace units.Duration `mapstructure:"grace"`
	// RememberFor is how long the ids of stored items are kept, to recognize repeated items.
	RememberFor units.Duration `mapstructure:"remember_for"`
	// RememberMax is the maximum number of runs of ids that are kept.
	RememberMax int `mapstructure:"remember_max"`
}

const (
	defaultPath    = "./corehour-warehouse"
	minRememberMax = 1000
)

func createDefaultConfig() component.Config {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeItems
	queue.QueueSize = 150_000
	queue.NumConsumers = 1
	queue.BlockOnOverflow = false
	queue.Batch = configoptional.Some(exporterhelper.BatchConfig{
		Sizer: exporterhelper.RequestSizerTypeItems,
		// A batch is a file: large ones compress better, and a query opens fewer.
		MinSize:      32_768,
		FlushTimeout: 15 * time.Second,
	})
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = time.Second
	return &Config{
		Path:            defaultPath,
		BigQuery:        configoptional.Default(defaultBigQuery()),
		Bucket:          configoptional.Default(defaultBucket()),
		OnFull:          Drop,
		Queue:           queue,
		Retry:           retry,
		ShutdownTimeout: 10 * time.Second,
		Fold:            FoldConfig{MaxCells: 10_000},
		Parquet: ParquetConfig{
			Late:        units.Duration(warehouse.DefaultLate),
			Future:      units.Duration(warehouse.DefaultFuture),
			Grace:       units.Duration(table.DefaultGrace),
			RememberFor: units.Duration(warehouse.DefaultRememberFor),
			RememberMax: warehouse.DefaultRememberMax,
		},
		IDs:         IDsAll,
		Disk:        DiskConfig{MinFreeBytes: 256 << 20},
		Maintenance: defaultMaintenance(),
	}
}

// Validate reports all faults at once.
func (c *Config) Validate() error {
	var f faults
	f.require(c.Path != "", "`path` must name the directory of the warehouse, found nothing")
	f.require(c.OnFull == Drop || c.OnFull == Reject, "`on_full` must be %q or %q, found %q", Drop, Reject, c.OnFull)
	f.require(c.ShutdownTimeout > 0, "`shutdown_timeout` must be positive, found %s", c.ShutdownTimeout)
	f.require(c.Fold.MaxCells > 0, "`fold::max_cells` must be positive, found %d", c.Fold.MaxCells)
	f.require(c.Parquet.Late > 0, "`parquet::late` must be positive, found %s", c.Parquet.Late)
	f.require(c.Parquet.Future > 0, "`parquet::future` must be positive, found %s", c.Parquet.Future)
	f.require(c.Parquet.Grace > 0, "`parquet::grace` must be positive, found %s", c.Parquet.Grace)
	f.require(c.Parquet.RememberFor > 0, "`parquet::remember_for` must be positive, found %s", c.Parquet.RememberFor)
	f.require(c.Parquet.RememberMax >= minRememberMax, "`parquet::remember_max` must be at least %d, found %d", minRememberMax, c.Parquet.RememberMax)
	if c.BigQuery.HasValue() {
		f.require(!c.Bucket.HasValue(), "`bucket` and `bigquery` are two places for rows: set one of them, found both")
		b := c.BigQuery.Get()
		f.require(b.PartitionExpiration == 0 || b.PartitionExpiration >= c.Parquet.Late,
			"`bigquery::partition_expiration` must be 0 (for ever) or at least `parquet::late`, or BigQuery drops rows that are accepted; found %s, less than %s", b.PartitionExpiration, c.Parquet.Late)
	}
	f.require(c.IDs == IDsAll || c.IDs == IDsExemplar || c.IDs == IDsNone, "`ids` must be %q, %q or %q, found %q", IDsAll, IDsExemplar, IDsNone, c.IDs)
	c.validateMaintenance(&f)
	c.validateQueue(&f)
	if c.Retry.Enabled {
		f.require(c.Retry.InitialInterval > 0, "`retry::initial_interval` must be positive, found %s", c.Retry.InitialInterval)
		f.require(c.Retry.Multiplier >= 1, "`retry::multiplier` must be at least 1, found %v", c.Retry.Multiplier)
	}
	return errors.Join(f...)
}

// faults are the errors of a config.
type faults []error

// require adds a fault unless ok is true.
func (f *faults) require(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// validateQueue rejects queue options that the helper allows but that have no effect in this exporter.
func (c *Config) validateQueue(f *faults) {
	q := &c.Queue
	f.require(q.Sizer == exporterhelper.RequestSizerTypeItems, "`sending_queue::sizer` must be `items`, the queue holds rows; found `%s`", q.Sizer.String())
	f.require(q.NumConsumers == 1, "`sending_queue::num_consumers` must be 1, since one write is in flight at a time; found %d", q.NumConsumers)
	f.require(!q.BlockOnOverflow, "`sending_queue::block_on_overflow` must be false, the pipeline never waits for the warehouse; set `on_full: reject` to make clients try again; found true")
	f.require(!q.WaitForResult, "`sending_queue::wait_for_result` must be false, the pipeline never waits for the warehouse; found true")
	if !q.Batch.HasValue() {
		f.require(false, "`sending_queue::batch` must be set, since every batch is a file; found nothing")
		return
	}
	b := q.Batch.Get()
	f.require(b.Sizer == exporterhelper.RequestSizerTypeItems, "`sending_queue::batch::sizer` must be `items`; found `%s`", b.Sizer.String())
	f.require(b.MinSize > 0, "`sending_queue::batch::min_size` must be positive, found %d", b.MinSize)
	f.require(b.MaxSize == 0, "`sending_queue::batch::max_size` has no effect and must be left out, since items are never split once they are queued; found %d", b.MaxSize)
	f.require(len(b.Partition.MetadataKeys) == 0, "`sending_queue::batch::partition::metadata_keys` has no effect and must be left out, the store sorts by service; found %q", b.Partition.MetadataKeys)
}
