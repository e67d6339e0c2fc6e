package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/benchtable"
)

// maxPeerRows is how many rows the peers are given: text takes its time and space.
const maxPeerRows = 10_000_000

// questions are asked of every store in the same words: what a call of each method
// costs, by version, of all rows and of one service on one day.
var questions = []struct{ name, where string }{
	{"version over version, all rows", ""},
	{"version over version, one service and day", fmt.Sprintf(" AND service = 'service-3' AND start_ns >= %d AND start_ns < %d", midnight.UnixNano(), midnight.Add(24*time.Hour).UnixNano())},
}

func question(from, where string) string {
	return "SELECT class, method, version, SUM(cpu_ns / (p * cpu_p)) / SUM(cpu_measured / (p * cpu_p)) AS ns FROM " + from + " WHERE cpu_measured > 0" + where + " GROUP BY class, method, version"
}

// peerColumns are what the peers hold: what the questions ask and what identifies a
// row, without lists.
const peerColumns = "kind, level, start_ns, end_ns, service_namespace, service, version, revision, environment, instance, host, host_type, cloud_provider, region, capacity_type, " +
	"class, method, signature, caller, calls, measured, cpu_measured, errors, wall_ns, cpu_ns, wall_max_ns, cpu_max_ns, p, cpu_p, configured_rate, effective_rate, tier, reason, " +
	"weight_basis, cpu_state, usd_per_core_hour, price_source, process_start_ns, batch_id, row_seq, " +
	"hex(trace_id) AS trace_id, hex(span_id) AS span_id, hex(parent_span_id) AS parent_span_id"

// peers puts the same rows into DuckDB's own file, into SQLite and into lines of
// JSON with zstd, and compares their sizes and answers with ours.
func (b *bench) peers(ctx context.Context) error {
	if b.rows > maxPeerRows {
		fmt.Fprintf(os.Stderr, "with %d rows no peers are measured: give at most %d\n", b.rows, maxPeerRows)
		return nil
	}
	dir := b.root + "-peers"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1)
	s, err := table.Open(b.root)
	if err != nil {
		return err
	}
	var all, day []string
	var bytes int64
	for _, f := range s.Files {
		path := "'" + strings.ReplaceAll(f.Path, "'", "''") + "'"
		all = append(all, path)
		bytes += f.Bytes
		if f.Date == midnight.Format(time.DateOnly) {
			day = append(day, path)
		}
	}
	ours := &store{name: "ours", bytes: bytes}
	// As the command does: only files of the dates that are asked for are opened.
	for _, files := range [][]string{all, day} {
		if err := run1(ctx, db, "CREATE OR REPLACE VIEW calls AS SELECT * FROM read_parquet(["+strings.Join(files, ", ")+"])"); err != nil {
			return err
		}
		if err := ours.ask(ctx, db, len(ours.seconds)); err != nil {
			return err
		}
	}
	if err := run1(ctx, db, "CREATE VIEW rows AS SELECT "+peerColumns+" FROM (SELECT "+columns.Full+" FROM read_parquet(["+strings.Join(all, ", ")+"]))"); err != nil {
		return err
	}
	for _, put := range []func(context.Context, *sql.DB, string) (*store, error){inDuckDB, inJSON, inSQLite} {
		peer, err := put(ctx, db, dir)
		if errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintln(os.Stderr, "SQLite is not measured:", err)
			continue
		}
		if err != nil {
			return err
		}
		b.compare("bytes per row", "B", peer.name, float64(ours.bytes)/float64(b.rows), float64(peer.bytes)/float64(b.rows))
		for i, q := range questions {
			b.compare(q.name, "CPU-s", peer.name, ours.seconds[i], peer.seconds[i])
		}
	}
	return nil
}

func (t *figures) compare(name, unit, peer string, ours, theirs float64) {
	t.Results = append(t.Results, benchtable.Figure{Name: name, Value: ours, Unit: unit, Better: "lower", Peer: peer, PeerValue: &theirs})
	fmt.Fprintf(os.Stderr, "%s: %.4g %s, %s %.4g\n", name, ours, unit, peer, theirs)
}

func run1(ctx context.Context, db *sql.DB, statement string) error {
	_, err := db.ExecContext(ctx, statement)
	return err
}

// store is one way to keep the rows and what it took.
type store struct {
	name    string
	bytes   int64
	seconds []float64 // of CPU, by question
}

const asks = 3 // of which the cheapest counts

// ask asks one of the questions.
func (s *store) ask(ctx context.Context, db *sql.DB, which int) error {
	best := cost{}
	for n := range asks {
		c, err := measure(func() error {
			rows, err := db.QueryContext(ctx, question("calls", questions[which].where))
			if err != nil {
				return err
			}
			defer rows.Close()
			found := 0
			for rows.Next() {
				found++
			}
			if found == 0 {
				return errors.Join(rows.Err(), errors.New("no answer"))
			}
			return rows.Err()
		})
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, questions[which].name, err)
		}
		if n == 0 || c.cpu < best.cpu {
			best.cpu = c.cpu
		}
	}
	s.seconds = append(s.seconds, best.cpu)
	return nil
}

func (s *store) askAll(ctx context.Context, db *sql.DB) error {
	for i := range questions {
		if err := s.ask(ctx, db, i); err != nil {
			return err
		}
	}
	return nil
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// inDuckDB sorts as we do, by which its file can skip as much.
func inDuckDB(ctx context.Context, db *sql.DB, dir string) (*store, error) {
	s := &store{name: "DuckDB's own file"}
	path := filepath.Join(dir, "rows.duckdb")
	for _, statement := range []string{
		"ATTACH '" + path + "' AS native",
		"CREATE TABLE native.rows AS SELECT * FROM rows ORDER BY CAST(make_timestamp_ns(start_ns) AS DATE), service, class, method, version, start_ns",
		"CHECKPOINT native",
		"CREATE OR REPLACE VIEW calls AS SELECT * FROM native.rows",
	} {
		if err := run1(ctx, db, statement); err != nil {
			return nil, err
		}
	}
	var err error
	if s.bytes, err = size(path); err != nil {
		return nil, err
	}
	return s, s.askAll(ctx, db)
}

func inJSON(ctx context.Context, db *sql.DB, dir string) (*store, error) {
	s := &store{name: "JSON lines, zstd"}
	path := filepath.Join(dir, "rows.json.zst")
	for _, statement := range []string{
		"COPY (SELECT * FROM rows) TO '" + path + "' (FORMAT json, COMPRESSION zstd)",
		"CREATE OR REPLACE VIEW calls AS SELECT * FROM read_json('" + path + "', format = 'newline_delimited', compression = 'zstd', " +
			"columns = {service: 'VARCHAR', class: 'VARCHAR', method: 'VARCHAR', version: 'VARCHAR', start_ns: 'BIGINT', cpu_ns: 'BIGINT', cpu_measured: 'BIGINT', p: 'DOUBLE', cpu_p: 'DOUBLE'})",
	} {
		if err := run1(ctx, db, statement); err != nil {
			return nil, err
		}
	}
	var err error
	if s.bytes, err = size(path); err != nil {
		return nil, err
	}
	return s, s.askAll(ctx, db)
}
