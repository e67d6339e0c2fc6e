package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

const bigqueryScheme = "bigquery://"

// remote is the BigQuery counterpart of the files of a warehouse.
type remote struct {
	dataset  bigquery.Dataset
	querier  *bigquery.Querier
	from, to bigquery.Date
	spent    *bigquery.Spent
	twice    int64 // twice the bytes billed before the first Reopen
}

// Dates of an open window: the limits of the type DATE.
const (
	firstDate = bigquery.Date("0001-01-01")
	lastDate  = bigquery.Date("9999-12-31")
)

// ParseBigQuery parses bigquery://project/dataset with the options billing (the project that pays),
// max_bytes_billed, and api (the address of the REST interface, for emulators).
func ParseBigQuery(root string) (bigquery.QueryOptions, error) {
	var o bigquery.QueryOptions
	wrong := func(format string, args ...any) (bigquery.QueryOptions, error) {
		return o, fmt.Errorf("--warehouse: %q: want bigquery://project/dataset: "+format, append([]any{root}, args...)...)
	}
	u, err := url.Parse(root)
	if err != nil {
		return wrong("%w", err)
	}
	o.Dataset = bigquery.Dataset{Project: u.Host, Name: strings.Trim(u.Path, "/")}
	if err := o.Dataset.Check(); err != nil {
		return wrong("%w", err)
	}
	for name, values := range u.Query() {
		switch name {
		case "billing":
			o.Billing = values[0]
		case "api":
			o.Endpoints.API = values[0]
		case "max_bytes_billed":
			if o.MaxBytesBilled, err = strconv.ParseInt(values[0], 10, 64); err != nil || o.MaxBytesBilled < 1 {
				return wrong("max_bytes_billed must be a number of bytes above 0, found %q", values[0])
			}
		default:
			return wrong("unknown option %q: there are api, billing and max_bytes_billed", name)
		}
	}
	return o, nil
}

// openBigQuery prepares queries of a dataset. Each query sees the table in its state at that time. As with
// files, queries read all UTC dates that the window touches, in full.
func openBigQuery(ctx context.Context, root string, window Window, options []Option) (*Warehouse, error) {
	o, err := ParseBigQuery(root)
	if err != nil {
		return nil, err
	}
	set := settingsOf(options)
	o.Estimated = func(name string, n int64) {
		fmt.Fprintf(set.notices, "BigQuery: %s reads up to %s\n", name, bigquery.Bytes(n))
	}
	o.Waiting = func(name string, since time.Duration) {
		if since < time.Second {
			return
		}
		fmt.Fprintf(set.notices, "BigQuery: %s runs for %s\n", name, since.Round(time.Second))
	}
	o.Spent = cmp.Or(set.spent, new(bigquery.Spent))
	o.MaxBytesRead = set.atMost
	querier, err := bigquery.NewQuerier(o)
	if err != nil {
		return nil, fmt.Errorf("--warehouse: %w", err)
	}
	w := &Warehouse{
		Window: window, dialect: bigqueryDialect, db: sql.OpenDB(querier.Connector()), given: map[string]smallTable{},
		remote: &remote{dataset: o.Dataset, querier: querier, from: firstDate, to: lastDate, spent: o.Spent},
	}
	first, last := window.dates()
	w.remote.from = cmp.Or(bigquery.Date(first), w.remote.from)
	w.remote.to = cmp.Or(bigquery.Date(last), w.remote.to)
	var oldest string
	var rows int64
	err = w.queryRows(ctx, "extent", scope{}, nil, func(r *sql.Rows) error { return r.Scan(nullable(&oldest), &rows) })
	if err == nil && rows == 0 {
		err = fmt.Errorf("%w: %s has none from %s to %s (UTC dates)", ErrNoData, o.Dataset, w.remote.from, w.remote.to)
	}
	if err != nil {
		return nil, fmt.Errorf("open warehouse %s: %w", root, errors.Join(err, w.Close()))
	}
	// One entry stands for all rows; BigQuery contains raw rows only.
	w.Files = []parquet.File{{Date: oldest, Rows: rows, Level: methodspan.LevelRaw}}
	w.Snapshot = &table.Snapshot{Files: w.Files}
	return w, nil
}

// atMostTwice returns the option that bounds the bytes billed for this window and all reopened ones together
// to twice the bytes billed before the first Reopen.
func (r *remote) atMostTwice() Option {
	if r.twice == 0 {
		r.twice = max(1, 2*r.spent.Bytes())
	}
	return func(s *settings) { s.spent, s.atMost = r.spent, r.twice }
}

var parameter = regexp.MustCompile(`@([a-z_]+)`)

// arguments returns the arguments for the parameters that occur in the text of a statement.
func (r *remote) arguments(name, text string, args map[string]any, tables map[string]smallTable) map[string]any {
	out := map[string]any{bigquery.ArgumentName: name}
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		p := m[1]
		switch g, isTable := tables[p]; {
		case p == "from_date":
			out[p] = r.from
		case p == "to_date":
			out[p] = r.to
		case isTable:
			out[p] = g.records()
		default:
			if v, ok := args[p]; ok {
				out[p] = v
			}
		}
	}
	return out
}

// records returns the table as a query parameter.
func (g smallTable) records() bigquery.Records {
	r := bigquery.Records{Rows: g.rows}
	for _, c := range g.columns {
		kind := "STRING"
		if c.long {
			kind = "INT64"
		}
		r.Fields = append(r.Fields, bigquery.ArgField{Name: c.name, Type: bigquery.ArgType{Type: kind}})
	}
	return r
}

// remoteUser runs a statement of the user. It can read the rows of the window and nothing else. The dry run of
// the service reports the kind of the statement. The statement is put in parentheses, where only a query is
// valid.
func (w *Warehouse) remoteUser(ctx context.Context, text string) (*sql.Rows, error) {
	frame, err := render("user", scope{dialect: w.dialect, Within: startsWithin(w.dialect.Param+"from_ns", w.dialect.Param+"to_ns")})
	if err != nil {
		return nil, err
	}
	frame = w.remote.dataset.Qualify(frame)
	before, after, _ := strings.Cut(frame, "STATEMENT")
	args := w.remote.arguments("your query", before, filterArgs(w.Window, Filter{}), nil)
	named := make([]any, 0, len(args))
	for k, v := range args {
		named = append(named, sql.Named(k, v))
	}
	return w.db.QueryContext(ctx, before+w.dialect.body(text)+after, named...)
}
