package query

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// ErrNoData means that the warehouse contains no row on the requested dates.
var ErrNoData = errors.New("no rows in this time")

// Window is a period of time that selects rows by their start; To is exclusive.
type Window struct{ From, To time.Time }

// Filter selects rows; an empty field matches all.
type Filter struct {
	Namespace   string
	Service     string
	Environment string
}

// Metric is the measured quantity.
type Metric string

const (
	CPU  Metric = "cpu"
	Wall Metric = "wall"
)

// Warehouse is one commit of a warehouse, open for queries, one at a time. It remains unchanged while the
// collector continues to write.
type Warehouse struct {
	Snapshot *table.Snapshot
	Window   Window
	Files    []parquet.File // that can contain rows on the dates of the window
	Roots    []Root         // directories and buckets of the files; none in BigQuery

	reopen     func(context.Context, Window) (*Warehouse, error)
	sums       []table.Sums   // rollups of Files, see hourly
	hours      []parquet.File // files in the views that hourly defined last
	db         *sql.DB
	dialect    dialect
	bounds     bounds
	spill      string
	exportPath string           // path that Export writes to, or ""
	remote     *remote          // nil for files
	bucket     *bucket.Bucket   // nil unless the files are in a bucket
	others     []*bucket.Bucket // the buckets of several roots
	cache      *bucket.Cache    // local files of the buckets
	notices    io.Writer        // destination of messages about downloads
	verified   *parquet.VerifiedFiles
	given      map[string]smallTable
	user       *Warehouse // the same rows for statements of the user, opened on first use
	weighed    bool       // the weights of all rows are stored

	noFrameworks bool // rows of frameworks are left out
}

// Open resolves the newest commit of the warehouse at root and defines the views over it. Weights are computed from
// whole UTC dates, so Open selects the files of all dates that the window touches, and the window is cut
// afterwards. A zero time leaves that side of the window open. Open fails with ErrNoData if there is no such
// file.
//
// root can also be bigquery://project/dataset, see openBigQuery, or the address of a bucket, see openBucket.
func Open(ctx context.Context, root string, window Window, options ...Option) (*Warehouse, error) {
	w, err := open(ctx, root, window, options)
	if err != nil {
		return nil, err
	}
	w.noFrameworks = settingsOf(options).noFrameworks
	w.reopen = func(ctx context.Context, window Window) (*Warehouse, error) {
		if w.remote == nil {
			return Open(ctx, root, window, options...)
		}
		return Open(ctx, root, window, append(slices.Clone(options), w.remote.atMostTwice())...)
	}
	return w, nil
}

// Reopen opens the newest commit of the same warehouse with another window. BigQuery bills the bytes read, so
// all reopened warehouses together read no more than the first one read before.
func (w *Warehouse) Reopen(ctx context.Context, window Window) (*Warehouse, error) {
	return w.reopen(ctx, window)
}

func open(ctx context.Context, root string, window Window, options []Option) (*Warehouse, error) {
	if strings.HasPrefix(root, bigqueryScheme) {
		return openBigQuery(ctx, root, window, options)
	}
	if IsBucket(root) {
		return openBucket(ctx, root, window, options)
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	snapshot, err := table.OpenReadable(root)
	if errors.Is(err, warehouse.ErrEmpty) {
		return nil, fmt.Errorf("%w: %w", ErrNoData, err)
	}
	if err != nil {
		return nil, err
	}
	set := settingsOf(options)
	w := &Warehouse{Snapshot: snapshot, Window: window, dialect: duckdbDialect, exportPath: set.exportPath, notices: set.notices, verified: set.verified}
	var damage error
	w.Files, damage = filesOf(snapshot, window)
	w.sums = sumsOf(snapshot, window)
	w.Roots = []Root{rootOf(root, snapshot, w.Files, false)}
	if damage == nil && len(w.Files) == 0 {
		return nil, &NoRows{fmt.Errorf("%w: %s holds rows from %s to %s (UTC dates)", ErrNoData, root,
			snapshot.Files[0].Date, snapshot.Files[len(snapshot.Files)-1].Date), newest(snapshot)}
	}
	if err := errors.Join(damage, w.verify(ctx, set.sums)); err != nil {
		return nil, err
	}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open warehouse %s: %w", root, w.explainDamage(ctx, err)), w.Close())
	}
	return w, nil
}

func checkRoot(root string) error {
	if scheme := schemeOf(root); scheme != "" {
		return fmt.Errorf("--warehouse: %q: there is no reader for %s://; want the directory that the warehouse exporter writes to, gs://bucket, s3://bucket, file:///directory or bigquery://project/dataset", root, scheme)
	}
	return nil
}

// InFiles reports whether the rows are in files, as opposed to BigQuery.
func (w *Warehouse) InFiles() bool { return w.remote == nil }

// filesOf selects files by whole UTC dates. It fails if the files of one of these dates are unknown.
func filesOf(s *table.Snapshot, window Window) ([]parquet.File, error) {
	var files []parquet.File
	for _, f := range s.Files {
		if window.touches(f.Date) {
			files = append(files, f)
		}
	}
	return files, s.Damage(window.touches)
}

// start creates the engine and the views. The statements in more run before access to other files and settings
// is disabled.
func (w *Warehouse) start(ctx context.Context, more ...string) error {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return err
	}
	w.db = sql.OpenDB(connector)
	// The engine creates the directory on first use, and few queries need it. The name is random, so that nobody
	// can guess it and create something in its place.
	w.spill = filepath.Join(os.TempDir(), "corehour-spill-"+rand.Text())
	if w.bounds, err = boundsOf(ctx, w.db, w.Files, time.Now()); err != nil {
		return err
	}
	views, err := viewsOf("method", w.Files, w.bounds)
	if err != nil {
		return err
	}
	readable := slices.Clone(w.Files)
	for _, s := range w.sums {
		readable = append(readable, s.File)
	}
	allowed, err := quotedPaths(readable)
	if err != nil {
		return err
	}
	paths, err := patternsOf(readable)
	if err != nil {
		return err
	}
	allowed = append(allowed, paths...)
	paths = paths[:len(w.Files)]
	if w.exportPath != "" {
		if w.exportPath, err = filepath.Abs(w.exportPath); err != nil {
			return err
		}
		allowed = append(allowed, quoteText(w.exportPath))
	}
	w.dialect = duckdbDialect
	w.dialect.Parted = slices.ContainsFunc(w.Files, func(f parquet.File) bool { return f.Prefix != w.Files[0].Prefix })
	w.dialect.Finer = hasFiner(w.Files)
	w.dialect.lateNS = lateFrom(w.Files, w.bounds.now)
	for _, statement := range slices.Concat([]string{
		"SET temp_directory = " + quoteText(w.spill),
		"SET TimeZone = 'UTC'",
		"SET parquet_metadata_cache = true", // a statement reads the same files several times
		// The system caches the contents of files; a second copy took up to the engine's memory limit.
		"SET enable_external_file_cache = false",
		asWritten,
	}, views, []string{
		"CREATE VIEW method_stored AS SELECT " + columns.Full + " FROM " + readFiles(w.Files, paths),
		"CREATE VIEW method_files AS " + w.bounds.within("SELECT "+columns.Full+" FROM "+readFiles(w.Files, paths, "filename = 'parquet_file'")),
	}, more, []string{
		// From here on no statement, ours or the user's, can open another file.
		"SET allowed_paths = " + listOf(allowed),
		"SET allowed_directories = [" + quoteText(w.spill) + "]",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	}) {
		if _, err := w.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// lateFrom returns the time pendingFor before the newest row in files, or before now, in case a clock is
// ahead. It is at least the end of the last rolled-up date: no counts of that date are outstanding, and a
// rollup does not name the processes of its counts.
func lateFrom(files []parquet.File, now time.Time) int64 {
	const date = int64(24 * time.Hour)
	newest, rolledUp := int64(0), int64(0)
	for _, f := range files {
		newest = max(newest, f.MaxStartNS)
		if f.Level != methodspan.LevelRaw {
			rolledUp = max(rolledUp, f.MaxStartNS-f.MaxStartNS%date+date)
		}
	}
	return max(min(newest, nanos(now))-int64(pendingFor), rolledUp)
}

// Our own statements join a large relation with a small one, in this order. The engine's estimates of
// intermediate row counts are so rough that it reverses the order, which doubles the time. Statements of users
// keep the order that the engine chooses.
const (
	asWritten = "SET disabled_optimizers = 'join_order,build_side_probe_side'"
	asLikely  = "SET disabled_optimizers = ''"
)

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Close stops the engine and removes its temporary files.
func (w *Warehouse) Close() error {
	var err error
	if w.user != nil {
		err = w.user.Close()
	}
	if w.db != nil {
		err = errors.Join(err, w.db.Close())
	}
	if w.spill != "" {
		err = errors.Join(err, os.RemoveAll(w.spill))
	}
	if w.cache != nil {
		err = errors.Join(err, w.cache.Close())
	}
	if w.bucket != nil {
		err = errors.Join(err, w.bucket.Close())
	}
	for _, b := range w.others {
		err = errors.Join(err, b.Close())
	}
	return err
}

// queryRows runs one of the statements of sql/ and calls read for every row.
func (w *Warehouse) queryRows(ctx context.Context, name string, s scope, args map[string]any, read func(*sql.Rows) error) error {
	if s.dialect == (dialect{}) {
		s.dialect = w.dialect
	}
	s.NoFrameworks = w.noFrameworks
	text, err := render(name, s)
	if err != nil {
		return err
	}
	if w.remote != nil {
		args = w.remote.arguments(name, text, args, w.given)
	}
	named := make([]any, 0, len(args))
	for k, v := range args {
		named = append(named, sql.Named(k, v))
	}
	rows, err := w.db.QueryContext(ctx, text, named...)
	if err != nil {
		return w.explainDamage(ctx, fmt.Errorf("query %s: %w", name, err))
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return fmt.Errorf("query %s: %w", name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return w.explainDamage(ctx, fmt.Errorf("query %s: %w", name, err))
	}
	return nil
}

// smallTable is a small table supplied by the program, for statements to join with.
type smallTable struct {
	columns []givenColumn
	rows    [][]any
}

type givenColumn struct {
	name string
	long bool // INT64, otherwise text
}

// fillTable replaces the contents of a small table.
func (w *Warehouse) fillTable(ctx context.Context, name string, g smallTable) error {
	if w.remote != nil {
		w.given[name] = g
		return nil
	}
	columns, marks := make([]string, len(g.columns)), make([]string, len(g.columns))
	for i, c := range g.columns {
		columns[i], marks[i] = c.name+" VARCHAR", "?"
		if c.long {
			columns[i] = c.name + " BIGINT"
		}
	}
	if _, err := w.db.ExecContext(ctx, "CREATE OR REPLACE TABLE "+name+" ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	prepared, err := w.db.PrepareContext(ctx, "INSERT INTO "+name+" VALUES ("+strings.Join(marks, ", ")+")")
	if err != nil {
		return err
	}
	defer prepared.Close()
	for _, row := range g.rows {
		if _, err := prepared.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return nil
}

func textColumns(names ...string) []givenColumn {
	out := make([]givenColumn, len(names))
	for i, n := range names {
		out[i].name = n
	}
	return out
}

func longColumns(names ...string) []givenColumn {
	out := textColumns(names...)
	for i := range out {
		out[i].long = true
	}
	return out
}

// orNull returns NULL for an empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
